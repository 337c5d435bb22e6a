"""What must hold after a run was killed and resumed to its end. Each check yields what is wrong."""

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

NOTHING_SAID = Done(0, "", "")
AGAIN = frozenset({"usage_limit", "transient"})
"""Outcomes after which the same iteration is done again."""
FINDINGS = "failed with exit code"


class Story:
    """All that is left of a round: its shape, the journals, the calls that were made."""

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


def broken(story: Story) -> list[str]:
    """Every promise that was not kept."""
    found = [check(story.project, NOTHING_SAID) for check in expectations.ALWAYS]
    for check in _CHECKS:
        found += check(story)
    return [problem for problem in found if problem]


def last_event(project: FaultProject) -> str:
    """The last thing that the newest run wrote down."""
    journals = project.journals()
    return str(journals[-1][-1]["event"]["event"]) if journals and journals[-1] else "nothing yet"


def _torn(story: Story) -> Iterator[str]:
    """Only a killed run may leave half a line."""
    layout = story.project.layout
    for run in layout.run_ids():
        path = layout.journal(run)
        data = path.read_bytes() if path.exists() else b""
        if b'"RunFinished"' in data and not data.endswith(b"\n"):
            yield f"the journal of {run} is finished and torn"


def _iterations(story: Story) -> Iterator[str]:
    """Each number once, in order, over all runs; one that is done again keeps its number."""
    expected = 1
    for event in story.events("IterationFinished"):
        if event["number"] != expected:
            yield f"iteration {event['number']} is finished where {expected} was due"
            return
        expected += event["outcome"]["kind"] not in AGAIN
    if story.shape.iterations not in {0, expected - 1}:
        yield f"{expected - 1} iterations instead of {story.shape.iterations}"
    ends = story.events("RunFinished")
    if [event["reason"] for event in ends] != [story.shape.ends]:
        yield f"it ended {len(ends)} times: {[event['reason'] for event in ends]}"
    elif ends[0]["iterations"] != expected - 1:
        yield f"the last word counts {ends[0]['iterations']} iterations instead of {expected - 1}"


def _money(story: Story) -> Iterator[str]:
    """The total is the price of the calls whose result was heard; only a kill makes one go unheard."""
    heard: dict[int, float] = {}
    number = 0
    for entry in story.entries:
        event = entry["event"]
        if event["event"] == "AgentStarted":
            number = story.calls.get(event["pid"], 0)
        elif event["event"] == "ResultReported":
            if number in heard:
                yield f"the result of call {number} is in the journal twice"
            heard[number] = event.get("cost_usd", 0.0)
    price = prices(story.shape)
    wrong = {number: cost for number, cost in heard.items() if not math.isclose(cost, price.get(number, cost))}
    if wrong or 0 in heard:
        yield f"calls have another price than they told, or were never made: {wrong or heard}"
    paid = sum(heard.values())
    told = sum(event.get("cost_usd", 0.0) for event in story.events("RunFinished"))
    listed = history_view.total(history_view.every(story.project.layout)).cost_usd
    if not math.isclose(paid, told, abs_tol=1e-6) or not math.isclose(paid, listed, abs_tol=1e-6):
        yield f"the calls cost ${paid:.6f}, the run says ${told:.6f}, the history ${listed:.6f}"
    silent = {number for number, steps in enumerate(story.shape.calls, 1) if any("exit" in step for step in steps)}
    unheard = set(story.calls.values()) - set(heard) - silent
    if len(unheard) > story.kills:
        yield f"{len(unheard)} calls are unaccounted for after {story.kills} kills: {sorted(unheard)}"


def _claims(story: Story) -> Iterator[str]:
    """A claim is judged once, and each judgement counts one more."""
    judged = 0
    for event in (entry["event"] for entry in story.entries):
        if event["event"] == "IterationFinished":
            judged = 0
        elif event["event"] == "VerificationFinished":
            judged += 1
            if judged > 1:
                yield f"claim {event['claim']} was judged before"
    counted = [event["claim"] for event in story.events("VerificationFinished")]
    if counted != list(range(1, len(counted) + 1)):
        yield f"claims are counted {counted}"


def _findings(story: Story) -> Iterator[str]:
    """Whoever works after a claim that did not hold is told why, also when he is the second to begin."""
    red = iterating = False
    for event in (entry["event"] for entry in story.entries):
        match event["event"]:
            case "VerificationFinished":
                red = not event["passed"]
            case "IterationStarted" | "ReviewStarted":
                iterating = event["event"] == "IterationStarted"
            case "IterationFinished" if event["outcome"]["kind"] not in AGAIN:
                red = False
            case "AgentStarted" if red and iterating and event["pid"] in story.calls:
                number = story.calls[event["pid"]]
                if FINDINGS not in (story.project.state / f"call-{number:04d}.stdin").read_text("utf-8", "replace"):
                    yield f"call {number} was not told what the check found"


def _waits(story: Story) -> Iterator[str]:
    """Claude is not called before a limit is over, whoever was killed meanwhile; unless somebody says `retry`."""
    until = 0.0
    for entry in story.entries:
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


def _pauses(story: Story) -> Iterator[str]:
    """Between `pause` and `resume`, or the death of the runner, no iteration begins."""
    for journal in story.journals:
        paused = False
        for event in (entry["event"] for entry in journal):
            if event["event"] == "Requested":
                paused = event["verb"] == "pause" or (paused and event["verb"] != "resume")
            elif event["event"] == "IterationStarted" and paused:
                yield f"iteration {event['number']} began in a pause"


def _told(story: Story) -> Iterator[str]:
    """What the console called complete is in the journal as well."""
    lines = "".join(path.read_text("utf-8", "replace") for path in story.project.folder.glob("stderr-*"))
    for number in range(1, 100):
        told = lines.count(f"✓ Iteration {number} complete")
        kept = story.done.count(number)
        if told > kept:
            yield f"iteration {number} was called complete {told} times and is in the journal {kept} times"


def _metadata(story: Story) -> Iterator[str]:
    """It can be read; unless the runner died between its last word and the summary, it tells the total."""
    document = json.loads(story.project.layout.metadata.read_text())
    if document["run"]["state"] == "running" and story.died_last:
        return
    told = document["run"]["state"], document.get("executionIterations")
    if told != ("finished", len(story.done)):
        yield f"the metadata says {told} after {len(story.done)} iterations"


_CHECKS: tuple[Callable[[Story], Iterator[str]], ...] = (
    _torn,
    _iterations,
    _money,
    _claims,
    _findings,
    _waits,
    _pauses,
    _told,
    _metadata,
)
