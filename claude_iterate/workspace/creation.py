"""Makes a workspace, repairs a damaged one, and copies for a dry run what the agent reads and writes.

A new workspace is made beside its place and renamed, so that no command ever sees half of it. The copy is in the folder
of the run: however a dry run ends, the workspace stays as it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from claude_iterate.core import formats
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_write_errors
from claude_iterate.workspace import journal_reader, metadata, metadata_updates
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import FORMAT
from claude_iterate.workspace.run_folder import notes

_COPIED = ("TODO.md", ".status.json")
_TODO = """# TODO

Notes and remaining steps. The agent keeps this file up to date while it works.
"""


def make(layout: Layout, mode: str, settings: Mapping[str, Any], instructions: bytes | None = None) -> None:
    """Make a new workspace, with its instructions if there are any."""
    with explain_write_errors(layout.name, layout.folder.parent), untrusted_files.new_folder(layout.folder) as made:
        _fill(Layout(layout.root, made), _document(layout.name, mode, settings), instructions)


def repair(layout: Layout, mode: str | None, settings: Mapping[str, Any]) -> None:
    """Repair what is missing or damaged; keep every file, and what the metadata still says."""
    with explain_write_errors(layout.name, layout.folder.parent):
        try:
            document = metadata.read(layout.metadata).document
        except WorkspaceProblem:
            document = {}
            if untrusted_files.exists(layout.metadata):
                untrusted_files.rename(layout.metadata, layout.folder / ".metadata.json.bak")
        document = document or _rebuilt_document(layout)
        whole = _document(layout.name, "loop", {}) | document | {"name": layout.name}
        if "format" not in document:
            del whole["format"]  # it stays a file of the original, in which a default value sets nothing
        if mode is not None:
            whole["mode"] = mode
        own = whole.get("config")
        whole["config"] = _merge(own if isinstance(own, dict) else {}, as_tables(settings))
        _fill(layout, whole, None)


def _rebuilt_document(layout: Layout) -> dict[str, Any]:
    """New metadata, with what the last run recorded."""
    found = journal_reader.last_run(layout, ("run",))
    mode = found[1].run.mode if found is not None else "loop"
    untrusted_files.write_json(layout.metadata, _document(layout.name, mode, {}))
    if found is not None:
        run, state = found
        metadata_updates.record_run(layout, state, run)
    return metadata.read(layout.metadata).document


def as_tables(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as tables within tables; tuples as lists."""
    document: dict[str, Any] = {}
    for key, value in settings.items():
        *groups, last = key.split(".")
        place = document
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = formats.plain(value)
    return document


def _document(name: str, mode: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": name,
        "mode": mode,
        "created": formats.moment(time.time()),
        "status": "in_progress",
        "totalIterations": 0,
        "setupIterations": 0,
        "executionIterations": 0,
        "config": as_tables(settings),
    }


def _fill(layout: Layout, document: dict[str, Any], instructions: bytes | None) -> None:
    untrusted_files.make_folder(layout.working)
    add_git_ignore(layout)
    if not untrusted_files.exists(layout.todo):
        untrusted_files.write_text(layout.todo, _TODO)
    if instructions is not None:
        untrusted_files.write_bytes(layout.instructions, instructions)
    untrusted_files.write_json(layout.metadata, document)


def _merge(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in more.items():
        there = result.get(key)
        result[key] = _merge(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return result


_IGNORED = """\
# Written by claude-iterate: what a run keeps for itself. Everything else here can be committed.
# Change this file as you like: it is never overwritten. An empty one is kept, too.
/runs/
/control/
/notes/
/.lock
/.status.json
/iterate-*.log
/report-*
/*.bak
/.*.tmp
"""


def add_git_ignore(layout: Layout) -> None:
    """Write the file unless something has that name. It is a help, so a failure is not a problem."""
    with contextlib.suppress(OSError):
        untrusted_files.write_new(layout.folder / ".gitignore", _IGNORED)


def layout_of_dry_run(layout: Layout, run: str) -> Layout:
    """The workspace as the dry run with this id uses it. Nothing is made yet."""
    return replace(layout, dry_run_folder=layout.dry_run_copy(run))


def copy_for_dry_run(layout: Layout) -> None:
    """Before the run: the agent's files as they are now."""
    untrusted_files.make_folder(layout.working, parents=True)
    for name in (*_COPIED, layout.plan.name):
        _copy(layout.folder / name, layout.agent_folder / name)
    impl = layout.folder / layout.impl.name
    if untrusted_files.is_folder(impl):
        untrusted_files.make_folder(layout.impl)
        for path in untrusted_files.find(impl, "*.md"):
            _copy(path, layout.impl / path.name)
    refresh_copy(layout)


def refresh_copy(layout: Layout) -> None:
    """Before each call: the instructions as they are now, and the notes that came since. What the user changes while a
    dry run is on is used like in a real run, and stays."""
    _copy(layout.instructions, layout.agent_folder / layout.instructions.name)
    workspace = Layout(layout.root, layout.folder)
    for name in notes.names(workspace):
        if not any(untrusted_files.exists(folder / name) for folder in (layout.notes, layout.notes / notes.DELIVERED)):
            untrusted_files.make_folder(layout.notes)
            _copy(workspace.notes / name, layout.notes / name)


def _copy(source: Path, target: Path) -> None:
    """What is not a readable regular file is left out, as if it were missing."""
    with contextlib.suppress(OSError):
        data = untrusted_files.look(source, untrusted_files.LARGE).data
        if untrusted_files.read(target, untrusted_files.LARGE) != data:
            untrusted_files.write_bytes(target, data)
