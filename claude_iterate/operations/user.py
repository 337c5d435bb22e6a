"""The user, as operations see one: it can be asked and warned. The command line implements it with the terminal.

A user is asked once about a workspace, beside permissions, what proves the work, and how much it may cost: after `init`
and a conversation of `setup`, or else before the first run; only on a terminal. The answers are settings of the
workspace, so nothing is asked where a setting decides already.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec.structs import replace

from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.operations.project_commands import find_test_command
from claude_iterate.workspace import metadata, settings_writer
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock


class User(Protocol):
    """The user who started a command."""

    @property
    def can_answer(self) -> bool:
        """True when a question reaches the user and an answer comes back; else nothing is asked."""
        return False

    def warn(self, text: str) -> None:
        """Show something that needs attention."""

    def note(self, text: str) -> None:
        """Show something beside the result."""

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> dict[str, Any]:  # noqa: ARG002
        """Ask how much Claude may do; the answer is settings by dotted key. `suggested` are commands that the project's
        files name, `sandbox` is the kind of sandbox that works here, if any."""
        return {}

    def confirm(self, question: str) -> bool:  # noqa: ARG002
        """Ask for a yes; Enter is a yes."""
        return False

    def ask_amount(self, question: str) -> float | None:  # noqa: ARG002
        """Ask for an amount in US dollars; Enter is none."""
        return None

    def steering(self, spec: RunSpec) -> AbstractContextManager[RunSpec]:
        """The run with the user's keys or answers in it, for as long as it lasts."""


def ask_first_questions(project: Project, settings: Settings, user: User) -> dict[str, Any]:
    """The answers as settings, by dotted key."""
    found: dict[str, Any] = {}
    test = _test_without_check(project, settings)
    if test and user.confirm(f"Prove the work with `{test}`?"):
        found["verification.checks"] = [test]
    if settings.limits.max_cost_usd is None:
        amount = user.ask_amount("Most US dollars this task may cost (Enter: no limit)")
        if amount is not None:
            found["limits.max_cost_usd"] = amount
    return found


def save_answers(layout: Layout, answers: dict[str, Any]) -> None:
    """Make them settings of the workspace."""
    with run_lock.hold(layout.lock, layout.name, "setup"):  # a run writes the same file
        for key, value in answers.items():
            settings_writer.set_value(layout.metadata, key, value)
        metadata.write(layout.metadata, replace(metadata.read(layout.metadata), asked=True))


def ask_or_advise(project: Project, layout: Layout, user: User, asks: bool) -> None:
    """After a workspace was made. Where nobody is to be asked, what was found is named with the command that makes it a
    check."""
    settings = project.settings_for(layout).settings
    if asks and user.can_answer:
        save_answers(layout, ask_first_questions(project, settings, user))
    elif test := _test_without_check(project, settings):
        step = CommandLine(workspace=layout.name).add_check(test)
        user.note(f"Nothing proves the work yet. To prove it with `{test}`: {step}")


def _test_without_check(project: Project, settings: Settings) -> str:
    """The command that tests this project, if nothing proves the work yet."""
    if settings.verification.checks or settings.verification.auto_verify:
        return ""
    return find_test_command(settings, project.root)
