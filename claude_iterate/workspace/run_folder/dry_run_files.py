"""A dry run works on a copy of what the agent reads and writes: however it ends, the workspace stays as it is.

The copy is in the folder of the run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

_COPIED = ("TODO.md", ".status.json")
_MOST = 1000
"""Files of a plan."""


def layout_for(layout: Layout, run: str) -> Layout:
    """The workspace as the dry run with this id uses it. Nothing is made yet."""
    return replace(layout, dry_run_folder=layout.dry_run_copy(run))


def make_copy(layout: Layout) -> None:
    """Before the run: the agent's files as they are now."""
    layout.working.mkdir(parents=True)
    for name in (*_COPIED, layout.plan.name):
        _copy(layout.folder / name, layout.agent_folder / name)
    impl = layout.folder / layout.impl.name
    if untrusted_files.is_folder(impl):
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


def _copy(source: Path, target: Path) -> None:
    """What is not a readable regular file is left out, as if it were missing."""
    with contextlib.suppress(OSError):
        data = untrusted_files.look(source, source.stat().st_size).data
        if untrusted_files.read(target) != data:
            target.write_bytes(data)
