"""`logs NAME`: the log of a run as text, its journal as JSON, either of them followed while it grows."""

from __future__ import annotations

import io
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.formats import at_least
from claude_iterate.core.redact import LineCleaner, Redactor
from claude_iterate.core.sanitize import sanitize_json
from claude_iterate.core.tones import state_words
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.text import local_times
from claude_iterate.text.run_lines import describe_damage
from claude_iterate.views import run_view
from claude_iterate.views.run_view import RunView
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock

_LONGEST = 1 << 20
_PAUSE = 0.2
"""Seconds between two looks at a file that is followed."""


@options.command("logs")
@options.flag("-f", "--follow", help="Keep printing until the run ends.")
@options.run_option(help="A certain run, by its id or number; --list names them. Default: the last one.")
@options.flag("--list", "listing", help="List the runs.")
@click.option("-n", "--lines", type=options.whole(0), metavar="N", help="Only the last N lines.")
def command(invocation: Invocation, name: str, follow: bool, run: str | None, listing: bool, lines: int | None) -> None:
    """Print the log of the workspace NAME's last run; --run prints that of a setup or a verification.

    With --json: its journal as one document; with -f --json: one entry per line (NDJSON).

    \b
    Examples:
      claude-iterate logs my-task -f        follow the run
      claude-iterate logs my-task -n 20     the last lines
      claude-iterate logs my-task --run 3   run 3
    """
    layout = invocation.project.layout(name)
    clean = LineCleaner(Redactor(invocation.environ)).clean  # our own log is clean already, the original's is not
    chosen = run_view.find_run(layout, run) if run is not None else None
    if listing:
        _print_runs(layout)
    elif follow:
        _follow(layout, chosen, lines, clean)
    elif output.wants_json():
        wanted = chosen or run_view.last_run(layout)
        if wanted is None:
            raise run_view.nothing_to_show(layout)
        output.view(run_view.journal(layout, wanted, lines))
    else:
        _print_log(layout, chosen, lines, clean)


def _print_log(layout: Layout, run: str | None, lines: int | None, clean: Callable[[str], str]) -> None:
    path = run_view.log_of(layout, run)
    if path is None or not untrusted_files.is_file(path):
        raise _no_log(layout, run)
    with io.TextIOWrapper(untrusted_files.open_file(path), "utf-8", "replace", newline="\n") as file:
        pieces = iter(lambda: file.readline(_LONGEST), "")  # a line that never ends is printed in pieces
        cleaned = map(clean, pieces)
        for line in cleaned if lines is None else deque(cleaned, maxlen=lines):
            output.part(output.sanitize(line))


def _no_log(layout: Layout, run: str | None) -> WorkspaceProblem:
    which = f"the run {run}" if run else layout.name
    return WorkspaceProblem(f"There is no log of {which} yet.", f"Run it: claude-iterate run {layout.name}")


def _print_runs(layout: Layout) -> None:
    view = run_view.runs(layout)
    if output.wants_json():
        output.view(view)
        return
    if not view.runs:
        output.note(f"{layout.name} has no recorded runs.")
    else:
        output.table([_row(run, time.time()) for run in view.runs], ("RUN", "WHAT", "STARTED", "ITERATIONS", "ENDED"))
    for run in view.runs:
        if damage := describe_damage(run.damaged):
            output.warn(f"Run {run.id} is {damage}")
    known = {run.log for run in view.runs}
    for path in view.logs:
        if path not in known:
            output.result(path)


def _row(run: RunView, now: float) -> tuple[str, ...]:
    what = f"{run.purpose}, dry run" if run.dry_run else run.purpose
    iterations = at_least(str(run.iterations), run.damaged is not None) if run.purpose == "run" else ""
    return run.id, what, local_times.when(run.started or "", now), iterations, state_words(run.reason or run.state)


def _follow(layout: Layout, run: str | None, lines: int | None, clean: Callable[[str], str]) -> None:
    """Wait for a run: the one under way, else the newest, else the first that begins. Print what is there of it, then
    what comes, until it ends."""
    read_new, noted = None, False
    while True:
        holder = run_lock.holder(layout.lock)  # asked before reading, so that the last lines are not missed
        if run is None and holder is not None:
            run = holder.run if untrusted_files.is_file(layout.journal(holder.run)) else None
        elif run is None:
            run = run_view.last_run(layout)
        over = holder is None or (run is not None and not holder.runs(run))
        if read_new is None and (run is not None or over):
            # A run's first journal line names its log, so it may take a moment to be known. Without a run it is an
            # original's log.
            path = layout.journal(run) if output.wants_json() and run is not None else run_view.log_of(layout, run)
            if path is not None:
                start = _start(path, lines)
                read_new = _read_entries(path, start) if output.wants_json() else _read_text(path, start, clean)
        for text in read_new(over) if read_new is not None else ():
            output.part(text)
        sys.stdout.flush()
        if over and read_new is not None:
            return
        if over and run is not None:
            raise _no_log(layout, run)
        if run is None and not noted:
            output.note(f"Waiting for {layout.name} to run; Ctrl-C ends this.")
            noted = True
        time.sleep(_PAUSE)


def _start(path: Path, lines: int | None) -> int:
    """Where the last `lines` lines begin."""
    if lines is None or not untrusted_files.is_file(path):
        return 0
    with untrusted_files.open_file(path) as file:
        kept = deque(file, maxlen=lines)
        return file.tell() - sum(map(len, kept))


def _read_text(path: Path, offset: int, clean: Callable[[str], str]) -> Callable[[bool], Iterable[str]]:
    """Gives what was added since the last time. A missing file has added nothing yet."""

    def read_new(final: bool) -> Iterable[str]:
        nonlocal offset
        try:
            with untrusted_files.open_file(path) as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return ()
        if not final:
            data = data[: data.rfind(b"\n") + 1]  # the rest may be half a character: it can wait
        offset += len(data)
        return (output.sanitize(clean(data.decode("utf-8", "replace"))),)

    return read_new


def _read_entries(path: Path, offset: int) -> Callable[[bool], Iterable[str]]:
    """Gives the entries that were added since the last time, one on each line."""
    journal = JournalFollower(path, cursor=offset)

    def read_new(_final: bool) -> Iterable[str]:
        lines = (json.dumps(entry, ensure_ascii=False) for entry in journal.documents())
        return (f"{sanitize_json(line)}\n" for line in lines)

    return read_new
