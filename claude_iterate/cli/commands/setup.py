"""`setup NAME`: write the instructions of a workspace: a given text, one from the editor, or one that Claude writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.invocation import Invocation, has_whole_terminal, on_terminal
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.errors import AgentProblem, UsageProblem, WorkspaceProblem
from claude_iterate.operations import instructions, user
from claude_iterate.operations.instructions import find_claude
from claude_iterate.operations.project_commands import propose_commands
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

_SCISSORS = "<!-- Everything from this line on is left out. -->"
_START = """# Task

What should be there when the work is done?

## Done means

- [ ] a result that can be checked, for example: `npm test` passes

## Limits

What must not be touched? What needs a person?
"""
_ADVICE = f"""
{_SCISSORS}

Write down the goal, how to tell that it is reached, and what is out of bounds. Claude reads this text at the start of
every iteration and remembers nothing else, so name files and commands. Save to keep it; close without saving to
leave everything as it was.
"""


class _Given(msgspec.Struct, frozen=True):
    """The command line."""

    name: str
    source: str | None
    goal: str | None
    editor: bool
    mode: str | None
    force: bool
    dry_run: bool
    as_json: bool
    settings: dict[str, Any]


@options.command("setup", name_required=True)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    shell_complete=completion.files,
    help="Take the text of FILE as it is; - is standard input.",
)
@click.option("--goal", metavar="TEXT", help="Let Claude write them from this, alone, without a conversation.")
@options.flag("--editor", help="Write them yourself, in your editor.")
@options.mode_option
@options.check_option
@options.flag("--force", help="Replace instructions; the old ones are kept as INSTRUCTIONS.md.bak.")
@options.dry_run_option
def command(invocation: Invocation, /, **flags: Any) -> int:
    """Write the instructions of the workspace NAME, and make it if there is none.

    On a terminal Claude asks what you want and writes them. Without one the text comes from standard input.
    """
    checks = options.settings_from({"verification.checks": flags.pop("verification__checks")})
    given = _Given(**flags, settings=checks)
    _check(given)
    project = invocation.project
    layout = project.layout(given.name) if project.exists(given.name) else None
    before = instructions.read_present(layout) if layout is not None else None
    if given.source is None:
        _refuse_to_replace(layout, before, given.force)
    made, first = layout is None, layout is None and not project.workspaces()
    if given.goal is not None or _wants_conversation(given, project, layout):
        layout, size = _compose(invocation, layout, given)
    else:
        text = _read_instructions(given.name, given.source, before)
        _refuse_to_replace(layout, before, given.force, f" --from {given.source}" if given.source else "")
        if text is None:
            output.note("Nothing was saved, so nothing was written.")
            return 1
        _make_whole(project, layout, given)
        layout = instructions.write(project, layout, given.name, given.mode, text, given.settings)
        size = len(text)
    written = before is None or not given.dry_run
    commands = propose_commands(project)[1] if first and not given.dry_run else ""
    if given.as_json:
        path = str(layout.instructions)
        output.document({"name": given.name, "path": path, "bytes": size, "made": made, "written": written})
    elif given.dry_run:
        _tell_dry_run(given.name, size, written)
    else:
        output.success(f"Wrote {layout.instructions} ({size} bytes).")
        if commands:
            output.note(commands)
        if made:
            # Who pastes `setup --from` and `run` together is not asked in between.
            asks = given.source is None and given.goal is None
            user.ask_or_advise(project, layout, TerminalUser(), asks)
        if command := instructions.how_to_commit(project, layout):
            output.note(f"It is not in git, so `git clean` would delete it. Add it: {command}")
        output.note(f"Next: claude-iterate run {layout.name}")
    if not given.dry_run:
        instructions.announce(project, layout, output.warn)
    return 0


def _read_instructions(name: str, source: str | None, before: bytes | None) -> bytes | None:
    """The instructions, or None when the user saved nothing. Bad input is a UsageProblem."""
    if source is not None and source != "-":
        return _check_text(_read_file(source), source)
    if source == "-" or not on_terminal():
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
        if not data.strip():
            raise UsageProblem(
                "No instructions came on standard input.",
                f"Give a file: claude-iterate setup {name} --from FILE",
            )
        return _check_text(data, "standard input")
    return _open_editor(before)


def _read_file(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageProblem(
            f"The instructions in {source} cannot be read: {said}.", "Give a text file, or - for standard input."
        ) from None


def _check_text(data: bytes, where: str) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageProblem(
            f"The instructions in {where} are not UTF-8 text (line {line}).", "Save them as UTF-8 and try again."
        ) from None
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        raise UsageProblem(f"The instructions in {where} are empty.", "Say what Claude should do.")
    return data


def _open_editor(before: bytes | None) -> bytes | None:
    start = before.decode("utf-8", "replace") if before is not None else _START
    try:
        edited = click.edit(start + _ADVICE, extension=".md")
    except UnicodeDecodeError:
        raise UsageProblem("What the editor saved is not UTF-8 text.", "Save it as UTF-8 and try again.") from None
    except (click.ClickException, ValueError) as problem:  # a ValueError: $EDITOR has a quote without its pair
        why = problem.format_message() if isinstance(problem, click.ClickException) else f"$EDITOR: {problem}."
        raise UsageProblem(f"No editor could be used: {why}", "Set $EDITOR, or give a file with --from FILE.") from None
    if edited is None:
        return None
    text = edited.partition(_SCISSORS)[0].rstrip() + "\n"
    if not text.strip() or text.strip() == start.strip():
        return None
    return text.encode()


def _make_whole(project: Project, layout: Layout | None, given: _Given) -> None:
    """A folder that lost its .metadata.json, for example to an agent's `rm -rf`, becomes a workspace again."""
    if layout is not None and not layout.metadata.exists() and not given.dry_run:
        project.create(given.name, given.mode, force=True)
        output.note(f"{layout.folder} had no .metadata.json; it has a new one.")


def _check(given: _Given) -> None:
    """Refuse flags that exclude each other."""
    ways = {"--from": given.source, "--goal": given.goal, "--editor": given.editor}
    options.choose_one(ways, "Each says where the instructions come from.")
    if given.goal is not None and not given.goal.strip():
        raise UsageProblem("The goal is empty.", "Say what should be there when the work is done.")
    if given.editor and not on_terminal():
        raise UsageProblem("An editor needs a terminal.", "Give a file: --from FILE")
    if given.dry_run and given.goal is None and not _can_converse(given):
        raise UsageProblem(
            "--dry-run has no effect here.", "Use it for a conversation on a terminal, or with --goal TEXT."
        )


def _can_converse(given: _Given) -> bool:
    return not (given.source or given.editor or given.as_json) and has_whole_terminal()


def _wants_conversation(given: _Given, project: Project, layout: Layout | None) -> bool:
    """True when Claude asks and writes. Where Claude is not installed the editor opens instead."""
    if given.source is not None or not _can_converse(given):
        return False
    if given.dry_run:
        return True
    try:
        find_claude(project, layout)
    except AgentProblem as problem:
        output.note(f"{problem.message} So your editor opens.")
        return False
    return True


def _compose(invocation: Invocation, layout: Layout | None, given: _Given) -> tuple[Layout, int]:
    """Let Claude write them; the workspace and the size of the text."""
    project = invocation.project
    _make_whole(project, layout, given)
    if not given.dry_run:
        instructions.find_claude(project, layout)
    if layout is None:
        if given.goal is not None and not given.dry_run:
            instructions.refuse_broken_claude(project)
        layout = project.create(given.name, given.mode, given.settings)
    elif not given.dry_run:
        instructions.change_workspace(layout, given.mode, given.settings)
    asked = options.run_request(invocation, "setup", dry_run=given.dry_run, as_json=given.as_json)
    composed = instructions.compose(project, layout, asked, given.goal, TerminalUser())
    if composed.exit_code:
        raise click.exceptions.Exit(composed.exit_code)
    again = f"Try again: claude-iterate setup {given.name}, or give the text yourself: --from FILE"
    if composed.problem:
        raise WorkspaceProblem(f"Claude {composed.problem}.{composed.quote}", f"The workspace was made. {again}")
    if not composed.after.is_newer_than(composed.before):
        raise WorkspaceProblem(f"Claude left the instructions as they were.{composed.quote}", again)
    return layout, len(composed.after.data or b"")


def _tell_dry_run(name: str, size: int, written: bool) -> None:
    if written:
        output.result(f"Dry run: the built-in fake wrote a sample ({size} bytes). Replace it before a real run:")
        output.result(f"  claude-iterate setup {name} --force")
    else:
        output.result(f"Dry run: the new text ({size} bytes) was discarded.")


def _refuse_to_replace(layout: Layout | None, before: bytes | None, force: bool, how: str = "") -> None:
    """Instructions are replaced only with --force. An empty file is none."""
    if layout is not None and before is not None and before.strip() and not force:
        raise WorkspaceProblem(
            f"{layout.name} already has instructions: {layout.instructions}",
            f"Improve them: claude-iterate edit {layout.name}; or replace them: "
            f"claude-iterate setup {layout.name}{how} --force",
        )
