"""A recorded run as Claude: its calls become steps for the built-in fake, which plays them in a dry run.

What Claude printed is played from `raw/` as it is; the fake gets the file and where to read, never a copy. The reports,
the plan and standard error are not in `raw/`; the journal says when they came and what they said. A run that cannot be
played, because its journal is damaged or its output is cut or another's, is refused before anything is written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core import events
from claude_iterate.core.events import Warned
from claude_iterate.core.events.enums import Cause, Purpose
from claude_iterate.core.formats import plural
from claude_iterate.core.reports.status import Status
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.operations.playback import recorded_beginning
from claude_iterate.system import untrusted_files
from claude_iterate.text.run_lines import describe_damage
from claude_iterate.views import run_view
from claude_iterate.views.full_texts import full_texts
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.layout import Layout

VARIABLE = "CLAUDE_ITERATE_FAKE_CASSETTE"
_PATIENCE = 10.0
"""Seconds, beyond the quiet that a report needs, in which the run is expected to notice it."""
_REAL = "Checks, stop scripts and hooks run for real, in the project as it is now: the recorded work is not put there."
ITERATION, REVIEW = "iterations", "reviews"
_AT_THE_END = math.inf
_BY_THE_RUN = frozenset({Cause.IDLE, Cause.TIMEOUT, Cause.DURATION, Cause.LINGERING})
"""The run cut the call by itself; after any other cut the user had asked for it."""
_PRINTED = frozenset(get_args(events.StreamEvent)) - {events.UsageReported, events.ErrorPrinted}
Step = dict[str, Any]
"""What the fake is to do: one verb with its value."""


class RecordedCall(msgspec.Struct):
    """One call: `kind` says what it was for, `name` is that of its files in `raw/`. `beside` are steps for what was not
    printed, each with the number of events that were printed before it. `hung`: the call did not end by itself."""

    kind: str
    name: str
    number: int
    beside: list[tuple[float, Step]] = []
    exit_code: int | None = None
    size: int | None = None
    """Bytes that were printed, also of the last line with its end; None: the call died with its run."""
    hung: bool = False

    def add(self, after: float, verb: str, value: Any) -> None:
        """Something that was not printed."""
        self.beside.append((after, {verb: value}))

    def steps(self, path: Path) -> list[Step]:
        """What the fake does for this call, whose output is in `path`: the output in parts, and between them what came
        beside it. A call whose end is not recorded died with its run."""
        found: list[Step] = []
        waiting, start, place, printed, translator = list(self.beside), 0, 0, 0, Translator()
        with untrusted_files.open_file(path) as file:
            for line in itertools.chain((b"",), file):  # some came before the first line
                place += len(line)
                printed += len(translator.translate(line.rstrip(b"\n")))
                if due := [step for after, step in waiting if after <= printed]:
                    found += [*_part(path, start, place), *due]
                    waiting, start = waiting[len(due) :], place
        code = 1 if self.exit_code is None else self.exit_code
        end = {"exit": code} if code >= 0 else {"kill_self": -code}
        return [*found, *_part(path, start, place), *(step for _, step in waiting), end]


def _part(path: Path, start: int, end: int) -> list[Step]:
    return [{"part": {"path": str(path), "start": start, "end": end}}] if end > start else []


class RecordedCalls:
    """The calls in the entries of a run. `plan` is what the plan was before the first of them, as far as the journal
    tells."""

    def __init__(self, entries: Iterable[events.Entry]) -> None:
        self.calls: list[RecordedCall] = []
        self.plan = ""
        self._kind, self._number = ITERATION, 0
        self._call: RecordedCall | None = None
        self._printed = 0
        self._reported: Step | None = None
        for entry in entries:
            self._take(entry)

    @property
    def iterations(self) -> int:
        """How many iterations there are, each counted once however often it was tried."""
        return len({call.number for call in self.calls if call.kind == ITERATION})

    def _take(self, entry: events.Entry) -> None:
        event = entry.event
        if type(event) in _PRINTED:
            self._printed += 1
        match event:
            case events.IterationStarted():
                self._kind, self._number = ITERATION, event.number
            case events.ReviewStarted():
                self._kind = REVIEW
            case events.AgentStarted():
                self._call = RecordedCall(self._kind, event.raw, self._number)
                self.calls.append(self._call)
                self._printed, self._reported = 0, None
            case events.IterationFinished() | events.ReviewFinished():
                if self._call is not None and isinstance(event, events.IterationFinished):
                    self._end(self._call, event.status)
                self._call = None
            case events.PlanRead():
                self._read_plan(event)
            case _ if self._call is not None:
                self._during(event, self._call)

    def _during(self, event: events.Event, call: RecordedCall) -> None:
        match event:
            case events.ErrorPrinted():
                call.add(self._printed, "stderr", f"{event.text}\n")
            case events.CutStarted() if event.cause in _BY_THE_RUN:
                call.hung = True
                call.add(self._printed, "wait_for_cut", event.cause)
            case events.AgentExited():
                call.exit_code, call.size = event.code, event.stdout_bytes
            case events.StatusChanged():
                self._reported = _report(event.status)
                if call.exit_code is None:
                    call.add(self._printed, "reported", self._reported)
                else:
                    call.add(_AT_THE_END, "status", self._reported)

    def _end(self, call: RecordedCall, status: Status | None) -> None:
        if status is not None and status.source == "boxes":
            call.add(_AT_THE_END, "write", {"path": "TODO.md", "text": _boxes(status)})
        elif status is not None and status.source == "file" and _report(status) != self._reported:
            call.add(_AT_THE_END, "status", _report(status))

    def _read_plan(self, event: events.PlanRead) -> None:
        """A plan is read between calls: it is what the last iteration left."""
        last = next((call for call in reversed(self.calls) if call.kind == ITERATION), None)
        if last is None:
            self.plan = _plan(event)
        else:
            last.add(_AT_THE_END, "write", {"path": "IMPLEMENTATION_PLAN.md", "text": _plan(event)})


def _report(status: Status) -> dict[str, Any]:
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


class Cassette(msgspec.Struct, frozen=True):
    """The recorded run `run`, ready to be played. `calls` are steps by kind of call; `plan` and `report` are what the
    agent's files were before; `hung` counts the calls that wait for the run to cut them."""

    run: str
    iterations: int
    calls: dict[str, list[list[Step]]]
    hung: int = 0
    plan: str = ""

    def play_in(self, spec: RunSpec) -> RunSpec:
        """The run that plays it: no iteration more than were recorded."""
        most = min(spec.max_iterations or self.iterations, self.iterations)
        environ = {**spec.environ, VARIABLE: str(_place(spec.layout))}
        return replace(spec, cassette=self.run, max_iterations=most, environ=environ)

    def warnings(self, settings: Settings) -> list[Warned]:
        """What the user should know before it is played."""
        reviews = len(self.calls[REVIEW])
        there = f"{plural(self.iterations, 'iteration')}, {plural(reviews, 'review') if reviews else 'no review'}"
        found = [Warned(f"Run {self.run} is played: {there}. Nothing is paid, and waits end at once.", _REAL)]
        if settings.verification.auto_verify and not reviews:
            text = "The recording has no review, so a review gives no verdict."
            found.append(Warned(text, "Try it with --no-verify."))
        if self.hung:
            cut = f"{plural(self.hung, 'recorded call')} did not end by itself: the run waits until it cuts it."
            found.append(Warned(cut, "To cut it sooner: CLAUDE_ITERATE_TIMEOUTS__IDLE=5s before the command."))
        return found

    def insert(self, plan: RunSpec) -> None:
        """Put it into the copy that the dry run works on, in place of the agent's files of today."""
        layout, watch = plan.layout, plan.settings.notification.status_watch
        for path in (layout.todo, layout.status, layout.plan):
            untrusted_files.unlink(path, missing_ok=True)
        if untrusted_files.is_folder(layout.impl):
            untrusted_files.remove_folder(layout.impl)
        if self.plan:
            untrusted_files.write_text(layout.plan, self.plan)
        place = _place(layout)
        untrusted_files.make_folder(place.parent)
        # A report that is not watched for is noticed at the end of the call.
        patience = watch.debounce_ms / 1000 + _PATIENCE if watch.enabled else 0.0
        script = {**self.calls, "journal": str(layout.journal(plan.run)), "patience": patience}
        untrusted_files.write_json(place, script)


def _place(layout: Layout) -> Path:
    return layout.agent_folder / ".cassette" / "cassette.json"


def choose_cassette(layout: Layout, wanted: str, mode: str) -> Cassette:
    """The run of this workspace that the user names; `mode` is that of the run to come."""
    another = f"Choose another run: claude-iterate logs {layout.name} --list"
    run = run_view.find_run(layout, wanted)
    started = recorded_beginning(layout, run)
    journal = JournalFollower(layout.journal(run))
    recorded = RecordedCalls(journal.entries())
    if journal.damage is not None:
        raise WorkspaceProblem(f"Run {run} cannot be played: it is {describe_damage(journal.damage)}.", another)
    if started.purpose != Purpose.RUN:
        raise WorkspaceProblem(f"Run {run} is a `{started.purpose}`: it has no iterations to play.", another)
    if not recorded.iterations:
        raise WorkspaceProblem(f"Run {run} ended before its first iteration: there is nothing to play.", another)
    if started.mode != mode:
        there = f"claude-iterate {started.mode} {layout.name} --dry-run --cassette {run_view.short_id(run)}"
        hint = there if started.mode in {"plan", "build"} else another
        raise WorkspaceProblem(f"Run {run} was in {started.mode} mode, and this one is in {mode} mode.", hint)
    calls: dict[str, list[list[Step]]] = {ITERATION: [], REVIEW: []}
    for call in recorded.calls:
        output = full_texts(layout, run, call.name)
        if output.missing:
            raise WorkspaceProblem(f"Run {run} cannot be played. {output.missing}", another)
        size = output.path.stat().st_size
        if call.size not in {None, size, size + 1}:
            why = f"what Claude printed in its call {call.name} was cut or replaced: {output.path}"
            raise WorkspaceProblem(f"Run {run} cannot be played: {why}", another)
        calls[call.kind].append(call.steps(output.path))
    hung = sum(call.hung for call in recorded.calls)
    return Cassette(run, recorded.iterations, calls, hung, recorded.plan)
