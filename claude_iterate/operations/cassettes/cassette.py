"""A recorded run as Claude: its calls become steps for the built-in fake, which plays them in a dry run.

What Claude printed is played from `raw/` as it is; the fake gets the file and where to read, never a copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import Warned
from claude_iterate.core.formats import counted
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.plan import Plan
from claude_iterate.operations.cassettes.recorded_calls import REVIEW, Beside, RecordedCall
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.layout import Layout

VARIABLE = "CLAUDE_ITERATE_FAKE_CASSETTE"
_PATIENCE = 10.0
"""Seconds, beyond the quiet that a report needs, in which the run is expected to notice it."""
_REAL = "Checks, stop scripts and hooks run for real, in the project as it is now: the recorded work is not put there."
Step = dict[str, Any]


class Cassette(msgspec.Struct, frozen=True):
    """The recorded run `run`, ready to be played. `calls` are steps by kind of call; `plan` and `report` are what the
    agent's files were before; `hung` counts the calls that wait for the run to cut them."""

    run: str
    iterations: int
    calls: dict[str, list[list[Step]]]
    hung: int = 0
    plan: str = ""
    report: dict[str, Any] | None = None

    @property
    def reviews(self) -> int:
        """How many reviews there are."""
        return len(self.calls[REVIEW])

    def planned(self, plan: Plan) -> Plan:
        """The plan of a run that plays it: no iteration more than were recorded."""
        most = min(plan.max_iterations or self.iterations, self.iterations)
        environ = {**plan.environ, VARIABLE: str(_place(plan.layout))}
        return replace(plan, cassette=self.run, max_iterations=most, environ=environ)

    def warnings(self, settings: Settings) -> list[Warned]:
        """What the user should know before it is played."""
        reviews = counted(self.reviews, "review") if self.reviews else "no review"
        there = f"{counted(self.iterations, 'iteration')}, {reviews}"
        found = [Warned(f"Run {self.run} is played: {there}. Nothing is paid, and waits end at once.", _REAL)]
        if settings.verification.auto_verify and not self.reviews:
            found.append(
                Warned("The recording has no review, so a review gives no verdict.", "Try it with --no-verify.")
            )
        if self.hung:
            cut = f"{counted(self.hung, 'recorded call')} did not end by itself: the run waits until it cuts it."
            found.append(Warned(cut, "To cut it sooner: CLAUDE_ITERATE_TIMEOUTS__IDLE=5s before the command."))
        return found

    def insert(self, plan: Plan) -> None:
        """Put it into the copy that the dry run works on, in place of the agent's files of today."""
        layout, watch = plan.layout, plan.settings.notification.status_watch
        for path in (layout.todo, layout.status, layout.plan):
            path.unlink(missing_ok=True)
        if layout.impl.is_dir():
            shutil.rmtree(layout.impl)
        if self.plan:
            atomic.write_text(layout.plan, self.plan)
        if self.report is not None:
            atomic.write_json(layout.status, self.report)
        place = _place(layout)
        place.parent.mkdir()
        # A report that is not watched for is noticed at the end of the call.
        patience = watch.debounce_ms / 1000 + _PATIENCE if watch.enabled else 0.0
        atomic.write_json(place, {**self.calls, "journal": str(layout.journal(plan.run)), "patience": patience})


def _place(layout: Layout) -> Path:
    return layout.agent_folder / ".cassette" / "cassette.json"


def steps(call: RecordedCall, path: Path, named: str = "") -> list[Step]:
    """What the fake does for this call. `named` is the id that a review in prose was given."""
    return [*_printed(call, path, named), _ending(call)]


def _printed(call: RecordedCall, path: Path, named: str) -> Iterator[Step]:
    """The output in parts, and between them what came beside it."""
    waiting, start, size = list(call.beside), 0, path.stat().st_size
    for place, printed in _places(path) if any(one.after < float("inf") for one in waiting) else ():
        due = [one for one in waiting if one.after <= printed]
        if due:
            yield from _part(path, start, place, named)
            yield from map(_step, due)
            waiting, start = waiting[len(due) :], place
    yield from _part(path, start, size, named)
    yield from map(_step, waiting)


def _places(path: Path) -> Iterator[tuple[int, int]]:
    """Where each line ends, and how many events there were by then; first the beginning, where there are none."""
    translator, place, printed = Translator(), 0, 0
    yield place, printed
    with path.open("rb") as file:
        for line in file:
            place += len(line)
            printed += len(translator.translate(line.rstrip(b"\n")))
            yield place, printed


def _part(path: Path, start: int, end: int, named: str) -> Iterator[Step]:
    if end > start:
        yield {"part": {"path": str(path), "start": start, "end": end, **({"named": named} if named else {})}}


def _step(beside: Beside) -> Step:
    return {beside.verb: beside.value}


def _ending(call: RecordedCall) -> Step:
    """As it ended. A call whose end is not recorded died with its run."""
    code = 1 if call.exit_code is None else call.exit_code
    return {"exit": code} if code >= 0 else {"die": -code}
