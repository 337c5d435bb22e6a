"""`logs NAME`: the log of a run as text, its journal as JSON, either of them followed while it grows."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import click

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.follow import follow_run
from claude_iterate.cli.invocation import Invocation
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.text import local_times
from claude_iterate.views import run_view
from claude_iterate.views.run_view import RunView
from claude_iterate.workspace.layout import Layout


@options.command("logs")
@options.flag("-f", "--follow", help="Go on printing until the run ends.")
@click.option(
    "--run",
    "run",
    metavar="ID",
    shell_complete=completion.runs,
    help="A certain run; --list names them. Default: the last one.",
)
@options.flag("--list", "listing", help="List the runs.")
@click.option("-n", "--lines", type=options.Whole(0), metavar="N", help="Only the last N lines.")
def command(
    invocation: Invocation, name: str, follow: bool, run: str | None, listing: bool, lines: int | None, as_json: bool
) -> None:
    """Print the log of the workspace NAME's last run; --run prints that of a setup or a verification.

    With --json: its journal as one document; with -f --json: one entry per line (NDJSON).
    """
    layout = invocation.project.layout(name)
    if run is not None and run not in layout.run_ids():
        raise UsageProblem(f"{name} has no run {run!r}.", f"See: claude-iterate logs {name} --list")
    if listing:
        _print_runs(layout, as_json)
    elif follow:
        follow_run(layout, run, lines, as_json)
    elif as_json:
        _print_journal(layout, run, lines)
    else:
        _print_text(_log(layout, run), lines)


def _log(layout: Layout, run: str | None) -> Path:
    path = run_view.log_of(layout, run)
    if path is None or not path.is_file():
        which = f"the run {run}" if run else layout.name
        raise WorkspaceProblem(f"There is no log of {which} yet.", f"Run it: claude-iterate run {layout.name}")
    return path


def _print_text(path: Path, lines: int | None) -> None:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file if lines is None else deque(file, maxlen=lines):
            output.part(output.foreign(line))


def _print_journal(layout: Layout, run: str | None, lines: int | None) -> None:
    wanted = run or run_view.last(layout)
    if wanted is None:
        raise WorkspaceProblem(f"{layout.name} has never run.", f"Run it: claude-iterate run {layout.name}")
    output.view(run_view.journal(layout, wanted, lines))


def _print_runs(layout: Layout, as_json: bool) -> None:
    view = run_view.runs(layout)
    if as_json:
        output.view(view)
        return
    if not view.runs:
        output.note(f"{layout.name} has no recorded runs.")
    else:
        output.table([_line(run, time.time()) for run in view.runs], ("RUN", "WHAT", "STARTED", "ITERATIONS", "ENDED"))
    known = {run.log for run in view.runs}
    for path in view.logs:
        if path not in known:
            output.result(path)


def _line(run: RunView, now: float) -> tuple[str, ...]:
    what = f"{run.purpose}, dry run" if run.dry_run else run.purpose
    iterations = str(run.iterations) if run.purpose == "run" else ""
    return run.id, what, local_times.when(run.started or "", now), iterations, run.reason or run.state
