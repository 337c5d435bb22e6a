"""`setup NAME`: give a workspace its instructions. Nothing is made unless the text is good."""

from __future__ import annotations

import click

from claude_iterate.cli import announce, instructions_input, output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.options import json_option, mode_option, name_argument
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import atomic, lock, metadata, projection
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.repository import Project


@click.command("setup")
@name_argument
@click.option("--from", "source", metavar="FILE", help="Take the text of FILE as it is; - is standard input.")
@mode_option
@click.option("--force", is_flag=True, help="Replace instructions; the old ones are kept as INSTRUCTIONS.md.bak.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, source: str | None, mode: str | None, force: bool, as_json: bool) -> int:
    """Write the instructions of the workspace NAME, and make it if there is none.

    The text comes from --from, or from standard input when that is no terminal; else your editor opens.
    """
    project = invocation.project
    layout = project.layout(name) if project.exists(name) else None
    before = _before(layout)
    if source is None:
        _refuse_to_replace(layout, before, force)
    text = instructions_input.obtain(name, source, before)
    _refuse_to_replace(layout, before, force, f" --from {source}" if source else "")
    if text is None:
        output.note("Nothing was saved, so nothing was written.")
        return 1
    made = layout is None
    layout = _write(project, layout, name, mode, text)
    if as_json:
        output.document({"name": name, "path": str(layout.instructions), "bytes": len(text), "made": made})
        announce.setup_complete(project, layout)
        return 0
    output.done(f"Wrote {layout.instructions} ({len(text)} bytes).")
    if on_terminal():
        from claude_iterate.cli.permissions import ask_and_save

        ask_and_save(project, layout)
    output.note(f"Next: claude-iterate run {name}")
    announce.setup_complete(project, layout)
    return 0


def _before(layout: Layout | None) -> bytes | None:
    """The instructions there are."""
    if layout is None:
        return None
    metadata.read(layout.metadata)  # a damaged workspace is mended first
    try:
        return layout.instructions.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkspaceProblem(
            f"{layout.instructions} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None


def _refuse_to_replace(layout: Layout | None, before: bytes | None, force: bool, how: str = "") -> None:
    """Instructions that are there stand in the way unless the user said otherwise."""
    if layout is not None and before is not None and not force:
        raise WorkspaceProblem(
            f"{layout.name} already has instructions: {layout.instructions}",
            f"Edit that file, or replace it: claude-iterate setup {layout.name}{how} --force",
        )


def _write(project: Project, layout: Layout | None, name: str, mode: str | None, text: bytes) -> Layout:
    if layout is None:
        layout = project.create(name, mode, instructions=text)
        mode = None
    with lock.hold(layout.lock, name, "setup"):
        try:
            if layout.instructions.exists() and layout.instructions.read_bytes() != text:
                atomic.write_bytes(layout.folder / "INSTRUCTIONS.md.bak", layout.instructions.read_bytes())
            atomic.write_bytes(layout.instructions, text)
            projection.count_setup(layout, mode)
        except OSError as error:
            raise WorkspaceProblem(
                f"The workspace {name!r} cannot be written: {error.strerror}.",
                f"Check the permissions of {layout.folder}",
            ) from None
    return layout
