"""What a user is asked once about a workspace, beside permissions: what proves the work, and how much it may cost.

Asked after `init` and a conversation of `setup`, or else before the first run; only on a terminal. The answers are
settings of the workspace, so nothing is asked where a setting decides already.
"""

from __future__ import annotations

from typing import Any

from claude_iterate.core.rules import next_steps
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.operations.detection.project_commands import test_command
from claude_iterate.operations.user import User
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.settings_files import settings_writer


def were_asked(layout: Layout) -> bool:
    """True when the user has answered before."""
    return bool(metadata.read(layout.metadata).document.get(metadata.ASKED))


def ask(project: Project, settings: Settings, user: User) -> dict[str, Any]:
    """The answers as settings, by dotted key."""
    found: dict[str, Any] = {}
    test = _test_without_check(project, settings)
    if test and user.confirms(f"Prove the work with `{test}`?"):
        found["verification.checks"] = [test]
    if settings.limits.max_cost_usd is None:
        amount = user.ask_amount("Most US dollars this task may cost (Enter: no limit)")
        if amount is not None:
            found["limits.max_cost_usd"] = amount
    return found


def save(layout: Layout, answers: dict[str, Any]) -> None:
    """Make them settings of the workspace. The lock must be held: a run writes the same file."""
    for key, value in answers.items():
        settings_writer.set_value(layout.metadata, key, value)
    about = metadata.read(layout.metadata)
    about.document[metadata.ASKED] = True
    metadata.write(layout.metadata, about)


def ask_or_advise(project: Project, layout: Layout, user: User, asks: bool) -> None:
    """After a workspace was made. Where nobody is to be asked, what was found is named with the command that makes it a
    check."""
    settings = project.settings_for(layout).settings
    if asks and user.can_answer:
        answers = ask(project, settings, user)
        with run_lock.hold(layout.lock, layout.name, "setup"):
            save(layout, answers)
    elif test := _test_without_check(project, settings):
        step = next_steps.add_check(CommandLine(), layout.name, test)
        user.note(f"Nothing proves the work yet. To prove it with `{test}`: {step}")


def _test_without_check(project: Project, settings: Settings) -> str:
    """The command that tests this project, if nothing proves the work yet."""
    if settings.verification.checks or settings.verification.auto_verify:
        return ""
    return test_command(settings, project.root)
