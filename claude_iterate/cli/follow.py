"""Follows the files of a run while they grow: looks five times a second, ends when the run has ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import ndjson

from claude_iterate.cli import output
from claude_iterate.core.sanitize import sanitize_json
from claude_iterate.views import run_view
from claude_iterate.workspace.journal.follower import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock

_PAUSE = 0.2


def follow_run(layout: Layout, run: str | None, lines: int | None, as_json: bool) -> None:
    """Print what is there, then what comes, until the run ends. If there is no run yet, wait for the first."""
    followed = run or _begun(layout)
    print_new = _entry_printer() if as_json else _print_text
    path = _file(layout, followed, as_json)
    offset = _start(path, lines)
    while True:
        over = not _is_running(layout, followed)  # asked before reading, so that the last lines are not missed
        offset = print_new(path, offset, over)
        if over:
            return
        time.sleep(_PAUSE)


def _begun(layout: Layout) -> str | None:
    """The run to follow: the one under way, else the newest, else the first that begins. None: an original's log."""
    noted = False
    while True:
        holder = run_lock.holder(layout.lock)
        running = str(holder.get("run", "")) if holder else ""
        if running and layout.journal(running).is_file():
            return running
        newest = run_view.last(layout)
        if holder is None and (newest is not None or layout.logs()):
            return newest
        if not noted:
            output.note(f"Waiting for {layout.name} to run; Ctrl-C ends this.")
            noted = True
        time.sleep(_PAUSE)


def _file(layout: Layout, run: str | None, as_json: bool) -> Path:
    """The file to follow. A run's first journal line names its log, so it may take a moment to be known."""
    if as_json and run is not None:
        return layout.journal(run)
    while True:
        path = run_view.log_of(layout, run)
        if path is not None:
            return path
        if run is None or not _is_running(layout, run):
            return run_view.log_of(layout) or layout.folder / "iterate.log"
        time.sleep(_PAUSE)


def _is_running(layout: Layout, run: str | None) -> bool:
    holder = run_lock.holder(layout.lock)
    return holder is not None and (run is None or holder.get("run", run) == run)


def _start(path: Path, lines: int | None) -> int:
    """Where the last `lines` lines begin."""
    if lines is None or not path.is_file():
        return 0
    data = path.read_bytes()
    offset = len(data)
    for _ in range(lines):
        offset = data.rfind(b"\n", 0, max(0, offset - 1)) + 1
        if offset == 0:
            break
    return offset


def _print_text(path: Path, offset: int, final: bool) -> int:
    """Print what was added since `offset`; where to go on. A missing file has added nothing yet."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return offset
    if not final:
        data = data[: data.rfind(b"\n") + 1]  # the rest may be half a character: it can wait
    if data:
        output.part(output.foreign(data.decode("utf-8", "replace")))
        sys.stdout.flush()
    return offset + len(data)


class _Harmless:
    """Standard output for lines of JSON."""

    def write(self, text: str) -> int:
        return sys.stdout.write(sanitize_json(text))


def _entry_printer() -> Callable[[Path, int, bool], int]:
    rows = ndjson.writer(_Harmless(), ensure_ascii=False)
    journal: JournalFollower | None = None

    def print_new(path: Path, cursor: int, _final: bool) -> int:
        """Print the entries since `cursor`; where to go on."""
        nonlocal journal
        journal = journal or JournalFollower(path, cursor=cursor)
        for entry in journal.documents():
            rows.writerow(entry)
        sys.stdout.flush()
        return journal.cursor

    return print_new
