"""A recorded call becomes steps of the fake: where each report stood, how the call ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core import events
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.operations.cassettes import RecordedCalls

OK = events.Outcome(Kind.OK)


def recorded(*found: events.Event) -> RecordedCalls:
    return RecordedCalls(events.Entry(number, 0.0, 0.0, event) for number, event in enumerate(found, 1))


def line(text: str) -> bytes:
    return json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}).encode() + b"\n"


def test_what_came_beside_stands_between_the_lines(tmp_path: Path) -> None:
    """A report, an error and the output keep their order; what was not noticed in the call comes before its end."""
    raw = tmp_path / "0001.ndjson"
    raw.write_bytes(line("one") + b"\n" + line("two") + line("three"))
    half, done = Status(False, 1, 2), Status(True, 2, 2, summary="all")
    calls = recorded(
        events.IterationStarted(1),
        events.AgentStarted(1),
        events.ErrorPrinted("careful"),
        events.AssistantText("one"),
        events.StatusChanged(half, Change(1, 0)),
        events.UsageReported(),
        events.AssistantText("two"),
        events.AssistantText("three"),
        events.AgentExited(0),
        events.StatusChanged(done, Change(1)),
        events.IterationFinished(1, OK, done),
    )
    [call] = calls.calls
    found = call.steps(raw)
    ends = [len(line("one")), raw.stat().st_size]
    parts = [
        {"part": {"path": str(raw), "start": start, "end": end}}
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    assert found == [
        {"stderr": "careful\n"},
        parts[0],
        {"reported": {"complete": False, "progress": {"completed": 1, "total": 2}}},
        parts[1],
        {"status": {"complete": True, "progress": {"completed": 2, "total": 2}, "summary": "all"}},
        {"exit": 0},
    ]


@pytest.mark.parametrize(
    ("ends", "step"),
    [
        ((events.AgentExited(3),), [{"exit": 3}]),
        ((events.AgentExited(-9),), [{"kill_self": 9}]),
        ((events.CutStarted(Cause.IDLE), events.AgentExited(-15)), [{"wait_for_cut": "idle"}, {"kill_self": 15}]),
        ((events.CutStarted(Cause.SKIP), events.AgentExited(0)), [{"exit": 0}]),
        ((), [{"exit": 1}]),
    ],
)
def test_a_call_ends_as_it_ended(tmp_path: Path, ends: tuple[events.Event, ...], step: list[dict[str, Any]]) -> None:
    """One that the run cut waits for being cut again; one that the user ended just ends; one that died with its run
    fails."""
    raw = tmp_path / "0001.ndjson"
    raw.touch()
    [call] = recorded(events.IterationStarted(1), events.AgentStarted(1), *ends).calls
    assert call.steps(raw) == step


def test_boxes_and_plans_are_written_again() -> None:
    """As many of each as were counted."""
    calls = recorded(
        events.PlanRead(2, 0, 0, 1, "a1"),
        events.IterationStarted(1),
        events.AgentStarted(1),
        events.AgentExited(0),
        events.IterationFinished(1, OK, Status(False, 1, 2, source="boxes")),
        events.PlanRead(0, 1, 1, 1, "b2"),
    )
    assert calls.plan == "# Plan a1\n\n- [ ] Task 1\n- [ ] Task 2 (refs: recorded)\n"
    assert [step["write"]["text"] for _, step in calls.calls[0].beside] == [
        "- [x] item 1\n- [ ] item 2\n",
        "# Plan b2\n\n- [~] Task 1\n- [x] Task 2 (refs: recorded)\n",
    ]
