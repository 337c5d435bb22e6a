"""A dry run works on a copy of what the agent reads and writes: however it ends, the workspace stays as it is.

The copy is in the folder of the run. Earlier versions worked in the workspace itself; `put_back` undoes that.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.workspace.files import foreign
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import notes

_COPIED = ("TODO.md", ".status.json")
_MOST = 1000
"""Files of a plan."""
_LEFT = ".left"
_ENDED = "ended"


def layout_for(layout: Layout, run: str) -> Layout:
    """The workspace as the dry run with this id uses it. Nothing is made yet."""
    return replace(layout, dry_run_folder=layout.dry_run_copy(run))


def make_copy(layout: Layout) -> None:
    """Before the run: the agent's files as they are now."""
    layout.working.mkdir(parents=True)
    for name in (*_COPIED, layout.plan.name):
        _copy(layout.folder / name, layout.agent_folder / name)
    impl = layout.folder / layout.impl.name
    if foreign.is_folder(impl):
        layout.impl.mkdir()
        for path in sorted(impl.glob("*.md"))[:_MOST]:
            _copy(path, layout.impl / path.name)
    refresh(layout)


def refresh(layout: Layout) -> None:
    """Before each call: the instructions as they are now, and the notes that came since. What the user changes while a
    dry run is on is used like in a real run, and stays."""
    _copy(layout.instructions, layout.agent_folder / layout.instructions.name)
    workspace = Layout(layout.root, layout.folder)
    for name in notes.names(workspace):
        if not any((folder / name).exists() for folder in (layout.notes, layout.notes / notes.DELIVERED)):
            layout.notes.mkdir(exist_ok=True)
            _copy(workspace.notes / name, layout.notes / name)


def put_back(layout: Layout) -> None:
    """Restore what a dry run of an earlier version found, and forget it. What the user wrote since then stays. Hold the
    lock."""
    kept = layout.runs / ".before-rehearsal"  # the name that those versions gave it
    if not kept.is_dir():
        return
    ended = (kept / _ENDED).exists()
    for name in _COPIED:
        # A dry run that was killed could not record what it left; then everything counts as its work.
        if ended and foreign.read(layout.folder / name) != foreign.read(kept / (name + _LEFT)):
            continue
        if (kept / name).exists():
            shutil.copy2(kept / name, layout.folder / name)
        else:
            with contextlib.suppress(OSError):
                (layout.folder / name).unlink(missing_ok=True)
    shutil.rmtree(kept)


def _copy(source: Path, target: Path) -> None:
    """What is not a readable regular file is left out, as if it were missing."""
    with contextlib.suppress(OSError):
        data = foreign.look(source, source.stat().st_size).data
        if foreign.read(target) != data:
            target.write_bytes(data)
