"""What must hold after a run was killed and then continued to its end. Each check yields what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from chaos_shapes import Shape, prices

from claude_iterate.selftest.harness import expectations
from claude_iterate.selftest.harness.fault import FaultProject
from claude_iterate.selftest.harness.scripted_project import Done
from claude_iterate.views import history_view

NOTHING_PRINTED = Done(0, "", "")
AGAIN = frozenset({"usage_limit", "transient"})
"""Outcomes after which the same iteration is repeated."""
FINDINGS = "failed with exit code"


class Records:
    """Everything that a round left: its shape, the journals, the calls of Claude."""

    def __init__(self, project: FaultProject, shape: Shape, kills: int, died_last: bool) -> None:
        self.project = project
        self.shape = shape
        self.kills = kills
        self.died_last = died_last
        self.journals = project.journals()
        self.entries: list[dict[str, Any]] = [entry for journal in self.journals for entry in journal]
        records = [json.loads(path.read_text()) for path in project.state.glob("call-*.json")]
        self.calls: dict[int, int] = {record["pid"]: record["call"] for record in records}
        """The number of each call by its process."""

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [entry["event"] for entry in self.entries if entry["event"]["event"] == kind]

    @property
    def done(self) -> list[int]:
        """The iterations that count, in order."""
        finished = self.events("IterationFinished")
        return [event["number"] for event in finished if event["outcome"]["kind"] not in AGAIN]


def broken(records: Records) -> list[str]:
    """Every promise that was not kept."""
    found = [check(records.project, NOTHING_PRINTED) for check in expectations.ALWAYS]
    for check in _CHECKS:
        found += check(records)
    return [problem for problem in found if problem]


def last_event(project: FaultProject) -> str:
    """The last event of the newest run."""
    journals = project.journals()
    return str(journals[-1][-1]["event"]["event"]) if journals and journals[-1] else "nothing yet"


def _torn(records: Records) -> Iterator[str]:
    """Only a killed run may leave an incomplete line."""
    layout = records.project.layout
    for run in layout.run_ids():
        path = layout.journal(run)
        data = path.read_bytes() if path.exists() else b""
        if b'"RunFinished"' in data and not data.endswith(b"\n"):
            yield f"the journal of {run} is finished and torn"


def _iterations(records: Records) -> Iterator[str]:
    """Each number once, in order, over all runs; a repeated iteration keeps its number."""
    expected = 1
    for event in records.events("IterationFinished"):
        if event["number"] != expected:
            yield f"iteration {event['number']} is finished where {expected} was due"
            return
        expected += event["outcome"]["kind"] not in AGAIN
    if records.shape.iterations not in {0, expected - 1}:
        yield f"{expected - 1} iterations instead of {records.shape.iterations}"
    ends = records.events("RunFinished")
    if [event["reason"] for event in ends] != [records.shape.ends]:
        yield f"it ended {len(ends)} times: {[event['reason'] for event in ends]}"
    elif ends[0]["iterations"] != expected - 1:
        yield f"the end of the run counts {ends[0]['iterations']} iterations instead of {expected - 1}"


def _money(records: Records) -> Iterator[str]:
    """The total is the cost of all reported results; only a kill can prevent a report."""
    heard: dict[int, float] = {}
    number = 0
    for entry in records.entries:
        event = entry["event"]
        if event["event"] == "AgentStarted":
            number = records.calls.get(event["pid"], 0)
        elif event["event"] == "ResultReported":
            if number in heard:
                yield f"the result of call {number} is in the journal twice"
            heard[number] = event.get("cost_usd", 0.0)
    price = prices(records.shape)
    wrong = {number: cost for number, cost in heard.items() if not math.isclose(cost, price.get(number, cost))}
    if wrong or 0 in heard:
        yield f"calls have another cost than they reported, or were never made: {wrong or heard}"
    paid = sum(heard.values())
    told = sum(event.get("cost_usd", 0.0) for event in records.events("RunFinished"))
    listed = history_view.total(history_view.all_runs(records.project.layout)).cost_usd
    if not math.isclose(paid, told, abs_tol=1e-6) or not math.isclose(paid, listed, abs_tol=1e-6):
        yield f"the calls cost ${paid:.6f}, the run says ${told:.6f}, the history ${listed:.6f}"
    silent = {number for number, steps in enumerate(records.shape.calls, 1) if any("exit" in step for step in steps)}
    unheard = set(records.calls.values()) - set(heard) - silent
    if len(unheard) > records.kills:
        yield f"{len(unheard)} calls are unaccounted for after {records.kills} kills: {sorted(unheard)}"


def _claims(records: Records) -> Iterator[str]:
    """A claim is judged once, and each judgement counts one more."""
    judged = 0
    for event in (entry["event"] for entry in records.entries):
        if event["event"] == "IterationFinished":
            judged = 0
        elif event["event"] == "VerificationFinished":
            judged += 1
            if judged > 1:
                yield f"claim {event['claim']} was judged before"
    counted = [event["claim"] for event in records.events("VerificationFinished")]
    if counted != list(range(1, len(counted) + 1)):
        yield f"claims are counted {counted}"


def _findings(records: Records) -> Iterator[str]:
    """Every call after a failed claim learns why it failed, also if an earlier call was killed."""
    red = iterating = False
    for event in (entry["event"] for entry in records.entries):
        match event["event"]:
            case "VerificationFinished":
                red = not event["passed"]
            case "IterationStarted" | "ReviewStarted":
                iterating = event["event"] == "IterationStarted"
            case "IterationFinished" if event["outcome"]["kind"] not in AGAIN:
                red = False
            case "AgentStarted" if red and iterating and event["pid"] in records.calls:
                number = records.calls[event["pid"]]
                if FINDINGS not in (records.project.state / f"call-{number:04d}.stdin").read_text("utf-8", "replace"):
                    yield f"the prompt of call {number} lacks the findings of the check"


def _waits(records: Records) -> Iterator[str]:
    """Claude is not called before a limit is over, also after a kill, unless `retry` is requested."""
    until = 0.0
    for entry in records.entries:
        event = entry["event"]
        match event["event"]:
            case "WaitStarted":
                until = event["until"]
            case "WaitEnded" if event.get("by", "time") != "time":
                until = 0.0
            case "IterationFinished" | "ReviewFinished":
                until = max(until, (event.get("outcome") or {}).get("resets_at") or 0.0)
            case "AgentStarted" if entry["at"] < until - 0.01:
                yield f"Claude was called {until - entry['at']:.2f} s before the limit was over"


def _pauses(records: Records) -> Iterator[str]:
    """No iteration begins between `pause` and `resume`, or the kill of the runner."""
    for journal in records.journals:
        paused = False
        for event in (entry["event"] for entry in journal):
            if event["event"] == "Requested":
                paused = event["verb"] == "pause" or (paused and event["verb"] != "resume")
            elif event["event"] == "IterationStarted" and paused:
                yield f"iteration {event['number']} began in a pause"


def _shown(records: Records) -> Iterator[str]:
    """Every iteration that the console calls complete is in the journal."""
    lines = "".join(path.read_text("utf-8", "replace") for path in records.project.folder.glob("stderr-*"))
    for number in range(1, 100):
        told = lines.count(f"✓ Iteration {number} complete")
        kept = records.done.count(number)
        if told > kept:
            yield f"iteration {number} was called complete {told} times and is in the journal {kept} times"


def _metadata(records: Records) -> Iterator[str]:
    """It can be read and has the total, unless the runner was killed between the end of the run and the summary."""
    document = json.loads(records.project.layout.metadata.read_text())
    if document["run"]["state"] == "running" and records.died_last:
        return
    told = document["run"]["state"], document.get("executionIterations")
    if told != ("finished", len(records.done)):
        yield f"the metadata says {told} after {len(records.done)} iterations"


_CHECKS: tuple[Callable[[Records], Iterator[str]], ...] = (
    _torn,
    _iterations,
    _money,
    _claims,
    _findings,
    _waits,
    _pauses,
    _shown,
    _metadata,
)
