"""`init NAME` makes a workspace; `setup NAME` writes its instructions: a given text, one from the editor, or one that
Claude writes; `edit NAME` improves them with Claude."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from claude_iterate.cli import options, output, run_options
from claude_iterate.cli.invocation import Invocation, has_whole_terminal, on_terminal
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.formats import plural
from claude_iterate.engine.prompt_texts import read_instructions
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import AgentProblem, UsageProblem, WorkspaceProblem
from claude_iterate.operations import instructions, user
from claude_iterate.operations.project_commands import propose_commands
from claude_iterate.system import untrusted_files
from claude_iterate.text.ending_lines import next_run
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.task_file import LARGEST, LONG_MATERIAL

_SCISSORS = "<!-- Everything below this line is left out. -->"
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


@options.command("init", name_required=True)
@run_options.mode_option
@run_options.setting_option("max_iterations", "-m", "--max-iterations")
@run_options.setting_option("delay", "-d", "--delay", metavar="TIME", more="0 means none.")
@run_options.setting_option("stagnation_threshold", "--stagnation-threshold")
@run_options.setting_option("notify.url", "--notify-url", metavar="URL")
@run_options.setting_option("notify.events", "--notify-events", metavar="A,B")
@run_options.check_option
@options.flag("--force", help="Repair a damaged workspace; all its files are kept.")
def init(invocation: Invocation, /, name: str, mode: str | None, force: bool, **given: Any) -> None:
    """Make the workspace NAME without instructions. `setup` makes one too, and writes its instructions."""
    project = invocation.project
    fixing = force and project.exists(name)
    layout = project.create(name, mode, run_options.settings_from(given), force=force)
    commands, proposal = propose_commands(project)
    document = {"name": name, "path": str(layout.folder), "fixed": fixing, "commands": dict(commands)}
    output.answer(document, f"{'Fixed' if fixing else 'Made'} the workspace {name}: {layout.folder}", proposal)
    if not output.wants_json():
        user.ask_or_advise(project, layout, TerminalUser(), asks=True)
        plan = next_run(metadata.read(layout.metadata).mode, project.settings_for(layout).settings)
        output.note(f"  {plan[:1].upper()}{plan[1:]}")
        output.note(f"Next: claude-iterate {'run' if untrusted_files.exists(layout.instructions) else 'setup'} {name}")


@options.command("setup", name_required=True)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(readable=False),
    help="Take the text of FILE as it is; - is standard input.",
)
@click.option("--goal", metavar="TEXT", help="Let Claude write them from this, without a conversation.")
@options.flag("--editor", help="Write them yourself, in your editor.")
@run_options.mode_option
@run_options.check_option
@options.flag("--force", help="Replace instructions; the old ones are kept as INSTRUCTIONS.md.bak.")
@run_options.dry_run_option
def setup(
    invocation: Invocation,
    /,
    name: str,
    source: str | None,
    goal: str | None,
    editor: bool,
    mode: str | None,
    force: bool,
    dry_run: bool,
    **given: Any,
) -> int:
    """Write the instructions of the workspace NAME, and make it if it does not exist.

    On a terminal Claude asks what you want and writes them. Without one the text comes from standard input.

    \b
    Examples:
      claude-iterate setup my-task                           talk it over with Claude
      claude-iterate setup my-task --from task.md            take a text as it is
      claude-iterate setup my-task --goal 'Port it to Go' --check 'go test ./...'
    """
    ways = {"--from": source, "--goal": goal, "--editor": editor}
    options.choose_one(ways, "Each says where the instructions come from.")
    can_converse = not (source or editor or output.wants_json()) and has_whole_terminal()
    if goal is not None and not goal.strip():
        raise UsageProblem("The goal is empty.", "Say what should be there when the work is done.")
    if editor and not on_terminal():
        raise UsageProblem("An editor needs a terminal.", "Give a file: --from FILE")
    if dry_run and goal is None and not can_converse:
        hint = "Use it for a conversation on a terminal, or with --goal TEXT."
        raise UsageProblem("--dry-run has no effect here.", hint)
    project = invocation.project
    layout = project.layout(name) if project.exists(name) else None
    before = instructions.read_present(layout) if layout is not None else None
    if source is None:
        _refuse_to_replace(name, layout, before, force)
    made, first = layout is None, not project.workspaces()
    settings = run_options.settings_from(given)
    if goal is not None or (can_converse and (dry_run or _finds_claude(project, layout))):
        asked = run_options.run_request(invocation, "setup", dry_run=dry_run)
        layout, size = _compose(project, name, layout, asked, goal, mode, settings)
    else:
        text = _read_instructions(name, source, before, project.root)
        _refuse_to_replace(name, layout, before, force, f" --from {source}" if source else "")
        if text is None:
            output.note("Nothing was saved, so nothing was written.")
            return 1
        _restore_metadata(project, layout, mode)
        layout, size = instructions.write(project, layout, name, mode, text, settings), len(text)
    written = before is None or not dry_run
    commands = propose_commands(project)[1] if first and not dry_run else ""
    if output.wants_json():
        path = str(layout.instructions)
        output.document({"name": name, "path": path, "bytes": size, "made": made, "written": written})
    elif not written:
        output.result(f"Dry run: the new text ({plural(size, 'byte')}) was discarded.")
    elif dry_run:
        output.result(
            f"Dry run: the built-in fake wrote a sample ({plural(size, 'byte')}). Replace it before a real run:"
        )
        output.result(f"  claude-iterate setup {name} --force")
    else:
        output.success(f"Wrote {layout.instructions} ({plural(size, 'byte')}).")
        if commands:
            output.note(commands)
        if made:
            # Who pastes `setup --from` and `run` together is not asked in between.
            user.ask_or_advise(project, layout, TerminalUser(), asks=source is None and goal is None)
        if command := instructions.how_to_commit(project, layout):
            output.note(f"It is not in git, so `git clean` would delete it. Add it: {command}")
        output.note(f"Next: claude-iterate run {layout.name}")
    if not dry_run:
        instructions.announce(project, layout, output.warn)
    return 0


@options.command("edit")
@click.option("--goal", metavar="TEXT", help="What should change; Claude then works without a conversation.")
@run_options.dry_run_option
def edit(invocation: Invocation, name: str, goal: str | None, dry_run: bool) -> int:
    """Improve the instructions of the workspace NAME together with Claude.

    The old text is kept as INSTRUCTIONS.md.bak. To change it yourself, edit the file.

    \b
    Examples:
      claude-iterate edit my-task                                talk it over with Claude
      claude-iterate edit my-task --goal 'Leave the docs alone'  without a conversation
    """
    layout = invocation.project.layout(name)
    read_instructions(layout)
    if goal is not None and not goal.strip():
        raise UsageProblem("The goal is empty.", "Say what should change.")
    if goal is None and (output.wants_json() or not has_whole_terminal()):
        why = "cannot be shown as JSON" if output.wants_json() else "needs a terminal"
        raise UsageProblem(
            f"A conversation with Claude {why}.",
            f"Say what should change: claude-iterate edit {name} --goal TEXT",
        )
    asked = run_options.run_request(invocation, "edit", dry_run=dry_run)
    composed = instructions.compose(invocation.project, layout, asked, goal, TerminalUser())
    if composed.exit_code:
        return composed.exit_code
    if composed.problem:
        raise WorkspaceProblem(f"Claude {composed.problem}.{composed.quote}", "The old instructions were restored.")
    before, after = composed.texts
    added, removed = _differences(before, after)
    figures, figured = f"{plural(added, 'line')} added, {removed} removed", {"added": added, "removed": removed}
    changed = before != after
    if output.wants_json():
        output.document({"name": name, "path": str(layout.instructions), "changed": changed} | figured)
    elif not changed:
        output.result("The instructions were left as they were.")
    elif dry_run:
        output.result(f"Dry run: the change ({figures}) was discarded.")
    else:
        output.success(f"Changed {layout.instructions}: {figures}. The old text: INSTRUCTIONS.md.bak")
        output.note(f"Next: claude-iterate validate {name}")
    return 0


commands = {"init": init, "setup": setup, "edit": edit}


def _refuse_to_replace(name: str, layout: Layout | None, before: bytes | None, force: bool, how: str = "") -> None:
    """Instructions are replaced only with --force. An empty file is none."""
    if layout is not None and before is not None and before.strip() and not force:
        raise WorkspaceProblem(
            f"{name} already has instructions: {layout.instructions}",
            f"Improve them: claude-iterate edit {name}; or replace them: claude-iterate setup {name}{how} --force",
        )


def _read_instructions(name: str, source: str | None, before: bytes | None, root: Path) -> bytes | None:
    """The instructions, or None when the user saved nothing. Bad input is a UsageProblem."""
    where = f"The instructions in {source}"
    if source is not None and source != "-":
        try:
            path = untrusted_files.settle(source, root)
            is_inside = path.is_relative_to(root)  # elsewhere it may be anything, such as a pipe of the shell
            with untrusted_files.open_file(path) if is_inside else Path(source).open("rb") as file:
                data = file.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageProblem(
                f"{where} cannot be read: {said}.", "Give a text file, or - for standard input."
            ) from None
    elif source is None and on_terminal():
        return _open_editor(before)
    else:
        where = "The instructions in standard input"
        data = sys.stdin.buffer.read(LARGEST + 1) if sys.stdin is not None else b""
        if not data.strip():
            hint = f"Give a file: claude-iterate setup {name} --from FILE"
            raise UsageProblem("No instructions came on standard input.", hint)
    if len(data) > LARGEST:
        raise UsageProblem(f"{where} are larger than 10 MB.", LONG_MATERIAL)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageProblem(f"{where} are not UTF-8 text (line {line}).", "Save them as UTF-8 and try again.") from None
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        raise UsageProblem(f"{where} are empty.", "Say what Claude should do.")
    return data


def _open_editor(before: bytes | None) -> bytes | None:
    start = before.decode("utf-8", "replace") if before is not None else _START
    try:
        edited = click.edit(start + _ADVICE, extension=".md") or ""
    except UnicodeDecodeError:
        raise UsageProblem("What the editor saved is not UTF-8 text.", "Save it as UTF-8 and try again.") from None
    except (click.ClickException, ValueError) as problem:  # a ValueError: $EDITOR has a quote without its pair
        why = problem.format_message() if isinstance(problem, click.ClickException) else f"$EDITOR: {problem}."
        raise UsageProblem(f"The editor failed: {why}", "Set $EDITOR, or give a file with --from FILE.") from None
    text = edited.partition(_SCISSORS)[0].rstrip()
    return f"{text}\n".encode() if text.strip() not in {"", start.strip()} else None


def _restore_metadata(project: Project, layout: Layout | None, mode: str | None) -> None:
    """A folder that lost its .metadata.json, for example to an agent's `rm -rf`, becomes a workspace again."""
    if layout is not None and not untrusted_files.exists(layout.metadata):
        project.create(layout.name, mode, force=True)
        output.note(f"{layout.folder} had no .metadata.json; it has a new one.")


def _finds_claude(project: Project, layout: Layout | None) -> bool:
    """Where Claude is not installed the editor opens instead of a conversation."""
    try:
        instructions.find_claude(project, layout)
    except AgentProblem as problem:
        output.note(f"{problem.message} Opening your editor instead.")
        return False
    return True


def _compose(
    project: Project,
    name: str,
    layout: Layout | None,
    asked: RunRequest,
    goal: str | None,
    mode: str | None,
    settings: dict[str, Any],
) -> tuple[Layout, int]:
    """Let Claude write them; the workspace and the size of the text."""
    if not asked.dry_run:
        _restore_metadata(project, layout, mode)
        instructions.find_claude(project, layout, must_answer=layout is None and goal is not None)
    if layout is None:
        layout = project.create(name, mode, settings)
    elif not asked.dry_run:
        instructions.change_workspace(layout, mode, settings)
    composed = instructions.compose(project, layout, asked, goal, TerminalUser())
    if composed.exit_code:
        raise click.exceptions.Exit(composed.exit_code)
    again = f"Try again: claude-iterate setup {name}, or give the text yourself: --from FILE"
    if composed.problem:
        raise WorkspaceProblem(f"Claude {composed.problem}.{composed.quote}", f"The workspace was made. {again}")
    if composed.after == composed.before:
        raise WorkspaceProblem(f"Claude left the instructions as they were.{composed.quote}", again)
    return layout, len(composed.texts[1])


def _differences(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines came and how many went."""
    import difflib

    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
