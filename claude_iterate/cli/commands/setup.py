"""`setup NAME`: give a workspace its instructions: a text as it is, one from the editor, or one that Claude writes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.options import dry_run_option, json_option, mode_option, name_argument
from claude_iterate.cli.terminal import instructions_input
from claude_iterate.errors import AgentProblem, UsageProblem, WorkspaceProblem
from claude_iterate.operations import instructions
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import summary
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import run_lock


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    name: str
    source: str | None
    goal: str | None
    editor: bool
    mode: str | None
    force: bool
    dry_run: bool
    as_json: bool


@click.command("setup")
@name_argument
@click.option("--from", "source", metavar="FILE", help="Take the text of FILE as it is; - is standard input.")
@click.option("--goal", metavar="TEXT", help="Let Claude write them from this, alone, without a conversation.")
@click.option("--editor", is_flag=True, help="Write them yourself, in your editor.")
@mode_option
@click.option("--force", is_flag=True, help="Replace instructions; the old ones are kept as INSTRUCTIONS.md.bak.")
@dry_run_option
@json_option
@click.pass_obj
def command(invocation: Invocation, /, **given: Any) -> int:
    """Write the instructions of the workspace NAME, and make it if there is none.

    On a terminal Claude asks what you want and writes them. Without one the text comes from standard input.
    """
    wish = Wish(**given)
    _check(wish)
    project = invocation.project
    layout = project.layout(wish.name) if project.exists(wish.name) else None
    before = instructions.present(layout) if layout is not None else None
    if wish.source is None:
        _refuse_to_replace(layout, before, wish.force)
    made = layout is None
    if wish.goal is not None or _talks(wish, project, layout):
        layout, size = _compose(invocation, layout, wish)
    else:
        text = instructions_input.obtain(wish.name, wish.source, before)
        _refuse_to_replace(layout, before, wish.force, f" --from {wish.source}" if wish.source else "")
        if text is None:
            output.note("Nothing was saved, so nothing was written.")
            return 1
        layout, size = instructions.write(project, layout, wish.name, wish.mode, text), len(text)
    if wish.dry_run and before is not None:
        return _conclude_rehearsal(layout, wish, size, len(before))
    return _conclude(project, layout, wish, size, made)


def _check(wish: Wish) -> None:
    """Flags that exclude each other."""
    ways = [
        flag for flag, value in (("--from", wish.source), ("--goal", wish.goal), ("--editor", wish.editor)) if value
    ]
    if len(ways) > 1:
        raise UsageProblem(f"Choose one of {' and '.join(ways)}.", "Each says where the instructions come from.")
    if wish.goal is not None and not wish.goal.strip():
        raise UsageProblem("The goal is empty.", "Say what should be there when the work is done.")
    if wish.editor and not on_terminal():
        raise UsageProblem("An editor needs a terminal.", "Give a file: --from FILE")
    if wish.dry_run and wish.goal is None and (wish.source or wish.editor or wish.as_json or not _has_terminal()):
        raise UsageProblem("There is nothing to rehearse.", "--dry-run needs a terminal to talk on, or --goal TEXT.")


def _has_terminal() -> bool:
    """True when Claude can have all of it, what it shows included."""
    return on_terminal() and sys.stdout.isatty()


def _talks(wish: Wish, project: Project, layout: Layout | None) -> bool:
    """True when Claude is to ask and write. Without Claude it is the editor, which is said in one line."""
    if wish.source is not None or wish.editor or wish.as_json or not _has_terminal():
        return False
    if wish.dry_run:
        return True
    from claude_iterate.operations.compose import find_claude

    try:
        find_claude(project, layout)
    except AgentProblem as problem:
        output.note(f"{problem.message} So your editor opens.")
        return False
    return True


def _compose(invocation: Invocation, layout: Layout | None, wish: Wish) -> tuple[Layout, int]:
    """Let Claude write them; the workspace and the size of the text."""
    from claude_iterate.cli.terminal.terminal_user import TerminalUser
    from claude_iterate.operations import compose
    from claude_iterate.operations.run_options import Options

    project = invocation.project
    if not wish.dry_run:
        compose.find_claude(project, layout)
    if layout is None:
        if wish.goal is not None and not wish.dry_run:
            compose.refuse_broken_claude(project)
        layout = project.create(wish.name, wish.mode)
    elif wish.mode is not None and not wish.dry_run:
        summary.change_mode(layout, wish.mode)
    options = Options(dry_run=wish.dry_run, as_json=wish.as_json, color=invocation.colour, purpose="setup")
    composed = compose.compose(project, layout, options, wish.goal, TerminalUser())
    if composed.exit_code:
        raise click.exceptions.Exit(composed.exit_code)
    again = f"Try again: claude-iterate setup {wish.name}, or give the text yourself: --from FILE"
    if composed.problem:
        raise WorkspaceProblem(f"Claude {composed.problem}.{composed.quote}", f"The workspace is there. {again}")
    if not composed.after.is_newer_than(composed.before):
        raise WorkspaceProblem(f"Claude left the instructions as they were.{composed.quote}", again)
    return layout, len(composed.after.data or b"")


def _conclude(project: Project, layout: Layout, wish: Wish, size: int, made: bool) -> int:
    """Tell what there is now, and settle what Claude may do."""
    if wish.as_json:
        output.document(
            {"name": wish.name, "path": str(layout.instructions), "bytes": size, "made": made, "written": True}
        )
    elif wish.dry_run:
        output.result(f"The built-in fake wrote a sample of {size} bytes. Replace it before you run in earnest:")
        output.result(f"  claude-iterate setup {wish.name} --force")
    else:
        output.done(f"Wrote {layout.instructions} ({size} bytes).")
        if on_terminal():
            _settle_permissions(project, layout)
        output.note(f"Next: claude-iterate run {wish.name}")
    if not wish.dry_run:
        instructions.announce(project, layout, output.warn)
    return 0


def _settle_permissions(project: Project, layout: Layout) -> None:
    """Ask what Claude may do, unless it is decided."""
    from claude_iterate.cli.terminal import permission_question
    from claude_iterate.operations import permissions

    if not permissions.are_decided(project.settings_for(layout).settings, project):
        chosen = permission_question.ask()
        with run_lock.hold(layout.lock, layout.name, "setup"):
            output.note(permissions.save(layout, chosen))


def _conclude_rehearsal(layout: Layout, wish: Wish, size: int, old: int) -> int:
    """Instructions were there, and are back."""
    if wish.as_json:
        path = str(layout.instructions)
        output.document({"name": wish.name, "path": path, "bytes": size, "made": False, "written": False})
    else:
        output.result(f"{size} bytes would replace the {old} of now. This was a dry run, so they did not.")
    return 0


def _refuse_to_replace(layout: Layout | None, before: bytes | None, force: bool, how: str = "") -> None:
    """Instructions are replaced only with --force."""
    if layout is not None and before is not None and not force:
        raise WorkspaceProblem(
            f"{layout.name} already has instructions: {layout.instructions}",
            f"Improve them: claude-iterate edit {layout.name}; or replace them: "
            f"claude-iterate setup {layout.name}{how} --force",
        )
