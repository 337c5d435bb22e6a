"""`selftest`: runs every fault that a run must survive, and reports which ones it survived."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events.enums import exit_code
from claude_iterate.core.names import did_you_mean
from claude_iterate.errors import UsageProblem
from claude_iterate.selftest.faults import choose_faults
from claude_iterate.selftest.harness.fault import Fault
from claude_iterate.selftest.harness.fault_runner import FaultResult, run_faults, usual_jobs
from claude_iterate.system import signals
from claude_iterate.system.files import require_temporary_files

_SYMBOL = {"survived": "good", "skipped": "warning", "failed": "bad"}


@options.command("selftest", workspace=False)
@options.flag("--list", "only_list", help="List the faults without running any.")
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Run only these faults, for example 'limit-*'. Repeatable."
)
@click.option(
    "--jobs", type=options.whole(1, 64), metavar="N", help="How many at the same time. Default: processors + 2."
)
def command(_invocation: Invocation, only_list: bool, only: tuple[str, ...], jobs: int | None) -> int:
    """Run scripted faults against the real loop: hangs, crashes, limits, full disks, kill -9.

    Claude is not called, so it costs nothing. It takes a minute or two. Exit code 1: a run did not survive a fault.

    \b
    Examples:
      claude-iterate selftest                    all faults
      claude-iterate selftest --only 'killed-*'  what happens when the runner dies
    """
    for pattern in only:
        if not choose_faults((pattern,)):
            instead = did_you_mean(pattern, list(choose_faults(())))
            raise UsageProblem(f"No fault matches {pattern}.", f"{instead}See: claude-iterate selftest --list")
    faults = choose_faults(only)
    if only_list:
        rows = [(name, one.what, str(one.expected)) for name, one in faults.items()]
        if output.wants_json():
            output.document({"faults": [dict(zip(("name", "fault", "expected"), row, strict=True)) for row in rows]})
        else:
            output.table(rows, ("NAME", "FAULT", "EXPECTED"))
        return 0
    require_temporary_files()
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-selftest-"))
    began = time.monotonic()
    results = []
    try:
        with _end_on_signals(), contextlib.closing(run_faults(faults, folder, jobs or usual_jobs())) as running:
            for result in running:
                results.append(result)
                if not output.wants_json():
                    _print_row(result, faults)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # its path was never printed
        raise
    with contextlib.suppress(OSError):  # not empty: the folders of faults that were not survived are kept
        folder.rmdir()
    (_print_document if output.wants_json() else _print_card)(results, time.monotonic() - began)
    return 1 if any(result.state == "failed" for result in results) else 0


@contextlib.contextmanager
def _end_on_signals() -> Iterator[None]:
    """The first signal ends the faults cleanly; further signals change nothing meanwhile."""
    heard: list[str] = []

    def notice(name: str) -> None:
        heard.append(name)
        if len(heard) == 1:
            raise KeyboardInterrupt if name == "SIGINT" else SystemExit(exit_code("terminated", detailed=False))

    restore = signals.on_stop_signals(notice)
    signals.restore_signals_for_children()  # the faults include signals
    try:
        yield
    finally:
        restore()


def _print_row(result: FaultResult, faults: dict[str, Fault]) -> None:
    """One line: the fault, what was expected, the seconds, what came."""
    names = max(map(len, faults))
    wanted = max(len(str(one.expected)) for one in faults.values())
    got = {"survived": "as expected", "skipped": f"skipped: {', '.join(result.problems)}"}.get(result.state)
    output.result(
        f"{output.symbol(_SYMBOL[result.state])} {result.name:{names}}  {result.fault.expected!s:{wanted}}  "
        f"{result.seconds:5.1f} s  {got or result.got}"
    )


def _print_card(results: list[FaultResult], seconds: float) -> None:
    failed = [result for result in results if result.state == "failed"]
    skipped = sum(result.state == "skipped" for result in results)
    run = len(results) - skipped
    left_out = f", {skipped} skipped" if skipped else ""
    output.result()
    for result in failed:
        output.result(f"{output.symbol('bad')} {result.name}: {result.fault.what}")
        for problem in result.problems:
            output.result(f"    {problem}")
        output.result(f"    What it means: {result.fault.danger}")
        output.result(f"    Look here: {result.folder}")
    sign = output.symbol("bad" if failed else "good")
    output.result(f"{sign} {run - len(failed)} of {run} faults survived{left_out} ({seconds:.0f} s)")


def _print_document(results: list[FaultResult], seconds: float) -> None:
    states = [result.state for result in results]
    output.document(
        {
            "ok": "failed" not in states,
            **{state: states.count(state) for state in ("survived", "failed", "skipped")},
            "seconds": round(seconds, 1),
            "faults": [result.document() for result in results],
        }
    )
