"""The user at the terminal: answers questions, and steers a run by keys or by answers before each iteration."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.engine.plan import Plan
from claude_iterate.operations.permissions import Permissions


class TerminalUser:
    """Implements `operations.user.User`."""

    note = staticmethod(output.passing)

    def warn(self, text: str) -> None:
        """Show something that needs attention."""
        output.passing(f"{output.symbol('warning', sys.stderr)} {text}")

    @property
    def can_answer(self) -> bool:
        """Both the question and the answer need a terminal."""
        return on_terminal()

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> Permissions:
        """Ask how much Claude may do."""
        from claude_iterate.cli.terminal import questions

        return questions.choose_permissions(suggested, sandbox)

    def confirms(self, question: str) -> bool:
        """Ask for a yes; Enter is a no."""
        import click

        return click.confirm(question, err=True)

    @contextlib.contextmanager
    def steers(self, plan: Plan) -> Iterator[Plan]:
        """Only `run` is steered: in attended mode by answers, else by keys while progress is shown."""
        if output.is_terminal(sys.stderr):
            plan = plan.changed(tick=0.25)  # the live line shows seconds
        if plan.purpose != "run" or not on_terminal():
            yield plan
        elif plan.settings.attended:
            from claude_iterate.cli.terminal import attended

            question = attended.Question(plan.layout)
            yield plan.changed(ask=question, listen=question.held)
        elif plan.settings.output != "progress":
            yield plan
        else:
            from claude_iterate.cli.terminal import keys

            with keys.listening() as listen:
                yield plan.changed(listen=listen, keys=True)
