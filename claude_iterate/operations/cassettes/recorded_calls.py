"""The calls of Claude in a recorded run, from its journal: the file in `raw/` of each, and what came beside its output.

The reports, the plan and standard error are not in `raw/`; the journal says when they came and what they said.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import msgspec

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core import events
from claude_iterate.core.events import SessionOpened
from claude_iterate.core.events.vocabulary import Cause
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import reduce
from claude_iterate.views.full_texts import FullTexts, call_name, full_texts
from claude_iterate.workspace.layout import Layout

ITERATION, REVIEW = "iterations", "reviews"
AT_THE_END = math.inf
_BY_THE_RUN = frozenset({Cause.IDLE, Cause.TIMEOUT, Cause.DURATION, Cause.LINGERING})
"""The run cut the call by itself; after any other cut the user had asked for it."""
_PRINTED = frozenset(get_args(events.StreamEvent)) - {events.UsageReported, events.ErrorPrinted}


class Beside(msgspec.Struct, frozen=True):
    """Something that was not printed: it came `after` so many events. `verb` and `value` are a step of the fake."""

    after: float
    verb: str
    value: Any


class RecordedCall(msgspec.Struct):
    """One call: `kind` says what it was for, `name` is that of its file in `raw/`; of a review only the beginning of
    the name is known, and the session tells which one it is. `hung`: it did not end by itself."""

    kind: str
    name: str
    number: int
    session: str = ""
    beside: tuple[Beside, ...] = ()
    exit_code: int | None = None
    hung: bool = False


class RecordedCalls:
    """Takes the entries of a run one by one and gathers its calls. `plan` and `report` are what the agent's files were
    before the first of them, as far as the journal tells."""

    def __init__(self) -> None:
        self.started: events.RunStarted | None = None
        self.calls: list[RecordedCall] = []
        self.plan = ""
        self.report: dict[str, Any] | None = None
        self._state = RunState()
        self._kind, self._name, self._number, self._claim = ITERATION, "", 0, 0
        self._call: RecordedCall | None = None
        self._printed = 0
        self._reported: dict[str, Any] | None = None
        self._news = False

    @property
    def iterations(self) -> int:
        """How many iterations there are, each counted once however often it was tried."""
        return len({call.number for call in self.calls if call.kind == ITERATION})

    def take(self, entry: events.Entry) -> None:
        """The next entry of the journal."""
        event = entry.event
        self._state = reduce(self._state, entry)
        if type(event) in _PRINTED:
            self._printed += 1
            if isinstance(event, events.SessionOpened) and self._call is not None:
                self._call.session = self._call.session or event.session
            return
        match event:
            case events.RunStarted():
                self.started = event
            case events.IterationStarted():
                again = self._state.streaks.retries
                self._kind, self._number, self._name = ITERATION, event.number, call_name(event.number, again + 1)
            case events.VerificationStarted():
                self._claim = event.claim
            case events.ReviewStarted():
                self._kind, self._number, self._name = REVIEW, self._claim, f"review-{self._claim}"
            case events.AgentStarted():
                self._call = RecordedCall(self._kind, self._name, self._number)
                self.calls.append(self._call)
                self._printed, self._reported = 0, None
            case events.IterationFinished() | events.ReviewFinished():
                self._end(event)
            case events.PlanRead():
                self._planned(event)
            case _ if self._call is not None:
                self._during(event, self._call)

    def _during(self, event: events.Event, call: RecordedCall) -> None:
        match event:
            case events.ErrorPrinted():
                self._add(call, "stderr", f"{event.text}\n")
            case events.CutStarted() if event.cause in _BY_THE_RUN:
                call.hung = True
                self._add(call, "wait_for_cut", event.cause)
            case events.AgentExited():
                call.exit_code = event.code
            case events.StatusChanged():
                self._note_before(event)
                self._reported = _document(event.status)
                verb = "reported" if call.exit_code is None else "status"
                self._add(call, verb, self._reported, None if call.exit_code is None else AT_THE_END)

    def _add(self, call: RecordedCall, verb: str, value: Any, after: float | None = None) -> None:
        call.beside = (*call.beside, Beside(self._printed if after is None else after, verb, value))

    def _note_before(self, event: events.StatusChanged) -> None:
        """The first news are news against a report that was there before the run."""
        now, change = event.status, event.change
        if not self._news and (change.items, change.total) != (now.completed or 0, now.total or 0):
            there = {"completed": (now.completed or 0) - change.items, "total": (now.total or 0) - change.total}
            self.report = {"complete": False, "progress": there}
        self._news = True

    def _end(self, event: events.IterationFinished | events.ReviewFinished) -> None:
        call, self._call = self._call, None
        status = event.status if isinstance(event, events.IterationFinished) else None
        if call is None or status is None:
            return
        if status.source == "boxes":
            self._add(call, "write", {"path": "TODO.md", "text": _boxes(status)}, AT_THE_END)
        elif status.source == "file" and _document(status) != self._reported:
            self._add(call, "status", _document(status), AT_THE_END)

    def _planned(self, event: events.PlanRead) -> None:
        """A plan is read between calls: it is what the last iteration left."""
        last = next((call for call in reversed(self.calls) if call.kind == ITERATION), None)
        if last is None:
            self.plan = _plan(event)
        else:
            self._add(last, "write", {"path": "IMPLEMENTATION_PLAN.md", "text": _plan(event)}, AT_THE_END)


def _document(status: Status) -> dict[str, Any]:
    """The report as an agent writes it."""
    found: dict[str, Any] = {"complete": status.complete}
    if status.total is not None:
        found["progress"] = {"completed": status.completed or 0, "total": status.total}
    for key in ("worked", "summary", "phase", "blocked"):
        if getattr(status, key) is not None:
            found[key] = getattr(status, key)
    return found | ({"blockers": list(status.blockers)} if status.blockers else {})


def _boxes(status: Status) -> str:
    done, total = status.completed or 0, status.total or 0
    return "".join(f"- [{'x' if number <= done else ' '}] item {number}\n" for number in range(1, total + 1))


def _plan(read: events.PlanRead) -> str:
    """A plan with as many tasks in each state. The checksum makes two plans with equal counts different texts."""
    marks = " " * read.open + "~" * read.doing + "x" * read.done
    tasks = [
        f"- [{mark}] Task {number}{'' if number <= read.without_refs else ' (refs: recorded)'}\n"
        for number, mark in enumerate(marks, 1)
    ]
    return "".join([f"# Plan {read.fingerprint}\n\n", *tasks]) if read.fingerprint else ""


_MOST_LINES = 100
"""A session introduces itself in one of the first lines."""


def raw_output(layout: Layout, run: str, call: RecordedCall, taken: set[Path]) -> FullTexts:
    """What Claude printed in this call, or why it is not there. The file is `taken` then: each is of one call."""
    found = full_texts(layout, run, call.name if call.kind == ITERATION else _review(layout, run, call, taken))
    taken.add(found.path)
    return found


def _review(layout: Layout, run: str, call: RecordedCall, taken: set[Path]) -> str:
    """The name of a review's file: its session tells; one that opened none is the oldest that is left."""
    folder = Path(layout.raw(run, "")).parent
    found = [path for path in folder.glob(f"{call.name}-*.ndjson") if path not in taken]
    found.sort(key=lambda path: (path.stat().st_mtime_ns, path.name))
    by_session = [path for path in found if call.session and _session(path) == call.session]
    without = [path for path in found if not call.session and not _session(path)]
    return (by_session or without or [Path(call.name)])[0].name.removesuffix(".ndjson")


def _session(path: Path) -> str:
    translator = Translator()
    with path.open("rb") as file:
        for _number, line in zip(range(_MOST_LINES), file, strict=False):
            for event in translator.translate(line.rstrip(b"\n")):
                if isinstance(event, SessionOpened):
                    return event.session
    return ""
