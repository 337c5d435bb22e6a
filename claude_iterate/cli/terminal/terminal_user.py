"""The user at the terminal: answers questions, and steers a run by keys or by answers before each iteration."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator

from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.cli.terminal import attended, keys, permission_question
from claude_iterate.engine.plan import Plan
from claude_iterate.operations.permissions import Permissions


class TerminalUser:
    """Implements `operations.user.User`."""

    @property
    def can_answer(self) -> bool:
        """Both the question and the answer need a terminal."""
        return on_terminal()

    def warn(self, text: str) -> None:
        """On standard error, with a sign."""
        output.warn(text)

    def note(self, text: str) -> None:
        """On standard error."""
        output.note(text)

    def choose_permissions(self) -> Permissions:
        """Ask on the terminal."""
        return permission_question.ask()

    @contextlib.contextmanager
    def steers(self, plan: Plan) -> Iterator[Plan]:
        """Only `run` is steered: in attended mode by answers, else by keys while progress is shown."""
        if output.is_terminal(sys.stderr):
            plan = dataclasses.replace(plan, tick=0.25)  # the live line shows seconds
        if plan.purpose != "run" or not on_terminal():
            yield plan
        elif plan.settings.attended:
            question = attended.Question(plan.layout)
            yield dataclasses.replace(plan, ask=question, listen=question.held)
        elif plan.settings.output != "progress":
            yield plan
        else:
            with keys.listening() as listen:
                yield dataclasses.replace(plan, listen=listen)
