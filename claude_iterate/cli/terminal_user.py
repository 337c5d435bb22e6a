"""The user at the terminal: answers questions, and steers a run by keys or by answers before each iteration."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import click
from msgspec.structs import replace

from claude_iterate.cli import output, questions
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.cli.terminal_steering import AtOnce, Question, listen_for_keys
from claude_iterate.core.events import Requested
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import UsageProblem
from claude_iterate.operations.permissions import Permissions
from claude_iterate.system.front_process import Worker


class TerminalUser:
    """Implements `operations.user.User`. `worker`: a front waits for us, so the run can be detached; with `detaches`
    it is, as soon as it has begun."""

    note = staticmethod(output.try_note)

    def __init__(self, worker: Worker | None = None, detaches: bool = False) -> None:
        self._worker = worker
        self._detaches = detaches

    def warn(self, text: str) -> None:
        """Show something that needs attention."""
        output.try_note(f"{output.symbol('warning', sys.stderr)} {text}")

    @property
    def can_answer(self) -> bool:
        """Both the question and the answer need a terminal."""
        return on_terminal()

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> Permissions:
        """Ask how much Claude may do."""
        return questions.choose_permissions(suggested, sandbox)

    def confirm(self, question: str) -> bool:
        """Ask for a yes; Enter is a yes."""
        return click.confirm(question, default=True, err=True)

    def ask_amount(self, question: str) -> float | None:
        """Ask for an amount in US dollars; Enter is none."""
        return questions.ask_amount(question)

    @contextlib.contextmanager
    def steering(self, plan: RunSpec) -> Iterator[RunSpec]:
        """Only `run` is steered: in attended mode by answers, else by keys while progress is shown."""
        with self._add_steering(plan) as steered:
            yield steered if self._worker is None else replace(steered, listen=self._watch_front(steered.listen))

    @contextlib.contextmanager
    def _add_steering(self, plan: RunSpec) -> Iterator[RunSpec]:
        if output.is_terminal(sys.stderr):
            plan = replace(plan, tick=0.25)  # the live line shows seconds
        leave = self._worker.leave if self._worker is not None else None
        if self._detaches and leave is not None:
            if plan.settings.attended:
                asks = "The setting `attended` is on: the run asks on its terminal, so it cannot do without one."
                raise UsageProblem(asks, f"claude-iterate run {plan.layout.name} --no-attended --detach")
            yield replace(plan, listen=AtOnce(leave), detaches=True)
        elif plan.purpose != "run" or not on_terminal():
            yield plan
        elif plan.settings.attended:
            question = Question(plan.layout)
            yield replace(plan, ask=question, listen=question.ask_again_after_pause)
        elif plan.settings.output != "progress":
            yield plan
        else:
            with listen_for_keys(leave) as listen:
                yield replace(plan, listen=listen, keys=True, detaches=leave is not None)

    def _watch_front(self, listen: Callable[[RunState], list[Requested]]) -> Callable[[RunState], list[Requested]]:
        """What is listened for, and the end of the front: the shell, and what it stands for, has given us up."""
        worker = self._worker
        assert worker is not None

        def listen_to_both(state: RunState) -> list[Requested]:
            worker.end_if_abandoned()
            return listen(state)

        return listen_to_both
