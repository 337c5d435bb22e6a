"""Claude writes or revises the instructions, in a conversation or from a wish. What stood there is never lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import flags_layer
from claude_iterate.operations import converse
from claude_iterate.operations.launch import Options, perform
from claude_iterate.workspace.files import atomic, versions
from claude_iterate.workspace.files.versions import Snapshot
from claude_iterate.workspace.layout import Layout

_LONGEST_WORDS = 300


class Composed(NamedTuple):
    """What Claude left: the exit code of the call, the file before and after, Claude's last words if nobody heard."""

    exit_code: int
    before: Snapshot
    after: Snapshot
    said: str = ""

    @property
    def problem(self) -> str:
        """Why this cannot count as instructions; empty when it can."""
        if self.after.data is None:
            return "wrote no instructions"
        if not is_usable(self.after.data):
            return "left instructions that are empty or not UTF-8 text"
        return ""

    @property
    def words(self) -> str:
        """Claude's last words, for the end of a message."""
        said = " ".join(self.said.split())
        shown = said if len(said) <= _LONGEST_WORDS else f"{said[:_LONGEST_WORDS]}..."
        return f" It said: {shown}" if shown else ""


def compose(
    invocation: Invocation, layout: Layout, purpose: str, goal: str | None, dry_run: bool, as_json: bool
) -> Composed:
    """Let Claude do it: headless when there is a goal, else in a conversation."""
    project, said = invocation.project, ""
    with _kept(layout, dry_run) as before:
        if goal is None:
            code = converse.hold(project, layout, purpose, dry_run)
        else:
            options = Options(
                flags=flags_layer({}),
                dry_run=dry_run,
                as_json=as_json,
                color=invocation.colour,
                purpose=purpose,
                errand={"goal": goal},
            )
            done = perform(project, layout, options)
            code, said = done.exit_code, done.state.one_off.text if done.state.one_off else ""
        after = versions.look(layout.instructions)
    return Composed(code, before, after, said)


def is_usable(data: bytes) -> bool:
    """True for text that Claude could work from."""
    try:
        return bool(data.decode("utf-8-sig").strip())
    except UnicodeDecodeError:
        return False


@contextlib.contextmanager
def _kept(layout: Layout, rehearsal: bool) -> Iterator[Snapshot]:
    """Keep the instructions as INSTRUCTIONS.md.bak from the start: nobody knows how this ends.

    When nothing changed, the backup is again what it was. A rehearsal, and whatever leaves no text, changes nothing.
    """
    before = versions.look(layout.instructions)
    backup = layout.folder / "INSTRUCTIONS.md.bak"
    if before.data is None:
        yield before
        return
    older = versions.look(backup).data
    atomic.write_bytes(backup, before.data)
    try:
        yield before
    finally:
        after = versions.look(layout.instructions).data
        if after != before.data and (rehearsal or after is None or not is_usable(after)):
            atomic.write_bytes(layout.instructions, before.data)
            after = before.data
        if after == before.data and older is None:
            backup.unlink(missing_ok=True)
        elif after == before.data and older is not None:
            atomic.write_bytes(backup, older)
