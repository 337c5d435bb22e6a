"""`selftest`: plays every fault that a run must survive, and says which it did."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from claude_iterate.cli import output
from claude_iterate.cli.options import json_option
from claude_iterate.core.events.reasons import exit_code
from claude_iterate.core.names import meant
from claude_iterate.errors import UsageProblem
from claude_iterate.system import signals, temporary_files

if TYPE_CHECKING:
    from claude_iterate.selftest.harness.fault import Scenario
    from claude_iterate.selftest.harness.fault_runner import Verdict

_SYMBOL = {"survived": "good", "skipped": "warning", "failed": "bad"}


@click.command("selftest")
@click.option("--list", "only_list", is_flag=True, help="Name the faults and play none.")
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Play faults of this name, such as 'limit-*'. Repeatable."
)
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="How many at a time. Default: processors + 2.")
@json_option
def command(only_list: bool, only: tuple[str, ...], jobs: int | None, as_json: bool) -> int:
    """Play scripted faults against the real loop: hangs, crashes, limits, full disks, kill -9.

    Claude is not called and nothing is spent. It takes a minute or two. Exit code 1: a fault was not survived.

    \b
    Examples:
      claude-iterate selftest                    all faults
      claude-iterate selftest --only 'killed-*'  what happens when the runner dies
    """
    from claude_iterate.selftest.faults.fault_table import chosen

    for pattern in only:
        if not chosen((pattern,)):
            instead = meant(pattern, [one.name for one in chosen(())])
            raise UsageProblem(f"No fault fits {pattern}.", f"{instead}See: claude-iterate selftest --list")
    scenarios = chosen(only)
    if only_list:
        _list(scenarios, as_json)
        return 0
    return _play(scenarios, jobs, as_json)


def _list(scenarios: list[Scenario], as_json: bool) -> None:
    if as_json:
        rows = [{"name": one.name, "fault": one.fault, "expected": str(one.expected)} for one in scenarios]
        output.document({"faults": rows})
        return
    output.table([(one.name, one.fault, str(one.expected)) for one in scenarios], ("NAME", "FAULT", "EXPECTED"))


def _play(scenarios: list[Scenario], jobs: int | None, as_json: bool) -> int:
    from claude_iterate.selftest.harness.fault_runner import play_all, usual_jobs

    temporary_files.refuse_if_impossible()
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-selftest-"))
    began = time.monotonic()
    verdicts = []
    try:
        with _ended_by_signals(), contextlib.closing(play_all(scenarios, folder, jobs or usual_jobs())) as plays:
            for verdict in plays:
                verdicts.append(verdict)
                if not as_json:
                    _row(verdict, scenarios)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # nobody was told of it
        raise
    with contextlib.suppress(OSError):  # not empty: the folders of faults that were not survived are kept
        folder.rmdir()
    seconds = time.monotonic() - began
    if as_json:
        _document(verdicts, seconds)
    else:
        _card(verdicts, seconds)
    return 1 if any(verdict.state == "failed" for verdict in verdicts) else 0


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """The first signal ends the plays in good order; while they are ended, further ones change nothing."""
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


def _row(verdict: Verdict, scenarios: list[Scenario]) -> None:
    """fault, expected, got, seconds; one line, whatever came."""
    names = max(len(one.name) for one in scenarios)
    wanted = max(len(str(one.expected)) for one in scenarios)
    one = verdict.scenario
    got = {"survived": "as expected", "skipped": f"skipped: {', '.join(verdict.problems)}"}.get(verdict.state)
    output.result(
        f"{output.symbol(_SYMBOL[verdict.state])} {one.name:{names}}  {one.expected!s:{wanted}}  "
        f"{verdict.seconds:5.1f} s  {got or verdict.got}"
    )


def _card(verdicts: list[Verdict], seconds: float) -> None:
    failed = [verdict for verdict in verdicts if verdict.state == "failed"]
    skipped = sum(verdict.state == "skipped" for verdict in verdicts)
    played = len(verdicts) - skipped
    left_out = f", {skipped} skipped" if skipped else ""
    output.result()
    for verdict in failed:
        output.result(f"{output.symbol('bad')} {verdict.scenario.name}: {verdict.scenario.fault}")
        for problem in verdict.problems:
            output.result(f"    {problem}")
        output.result(f"    What it means: {verdict.scenario.danger}")
        output.result(f"    Look here: {verdict.folder}")
    sign = output.symbol("bad" if failed else "good")
    output.result(f"{sign} {played - len(failed)} of {played} faults survived{left_out} ({seconds:.0f} s)")


def _document(verdicts: list[Verdict], seconds: float) -> None:
    states = [verdict.state for verdict in verdicts]
    output.document(
        {
            "ok": "failed" not in states,
            "survived": states.count("survived"),
            "failed": states.count("failed"),
            "skipped": states.count("skipped"),
            "seconds": round(seconds, 1),
            "faults": [verdict.document() for verdict in verdicts],
        }
    )
