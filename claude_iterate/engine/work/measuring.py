"""Measures what each iteration did: a look at the project after it, compared with the one before.

The first look is made while the run prepares, and is over before Claude is called. What we run ourselves in between
(checks, tests) and what a user does while the run is paused is not Claude's work: then the project is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from claude_iterate.core.events import Changes, Event, SnapshotTaken, TestCounts, Warned, WorkMeasured
from claude_iterate.core.events.enums import Point, Purpose
from claude_iterate.core.formats import join_names
from claude_iterate.core.rules.verdicts import Ask, Begin, Finish, ProofStep, RunHook, RunStopScripts, Verdict
from claude_iterate.core.state.work_steps import contradiction, moved
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.shell_command import ShellCommand
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.engine.work.suite_run import count_tests
from claude_iterate.project.project_work import Look, Work
from claude_iterate.project.snapshots import Place
from claude_iterate.system import processes
from claude_iterate.workspace.layout import Layout

_NAMES = 50
_LONGEST = 300


def start_measuring(plan: RunSpec, recorder: Recorder, supervisor: Supervisor) -> Measuring | None:
    """The first look at the project has begun: it takes place while the rest is prepared. None where no iteration can
    do work: a dry run works on a copy."""
    if plan.purpose != Purpose.RUN or plan.dry_run or plan.settings.progress.measure == "off":
        return None
    measuring = Measuring(plan, recorder, supervisor)
    measuring.begin()
    return measuring


class Measuring:
    """The looks of one run. All are made in another thread, so signals and requests are heeded meanwhile."""

    def __init__(self, plan: RunSpec, recorder: Recorder, supervisor: Supervisor) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        settings = plan.settings.progress
        store = plan.layout.root / "claude-iterate" / "snapshots.git"
        place, filters = place_of(plan.layout, plan.run, settings.ignore), plan.sandbox is None
        self._work = Work(place, plan.own_environ, settings.measure, store, filters)
        before = plan.resumed.work.snapshot if plan.resumed is not None else None
        self._since = (before.tree, before.head) if before is not None else None
        self._taken_over = plan.resumed.iterations if plan.resumed is not None else 0
        self._first: Callable[[], Look | None] | None = None
        self._stale = False
        self._forgot = False
        self._told: set[str] = set()

    def begin(self) -> None:
        """Start the first look."""
        first = lambda: self._work.begin(self._taken_over, self._since)  # noqa: E731
        self._first = self._supervisor.start_in_background(first, self._work.give_up)

    def prepares(self, verdict: Verdict) -> bool:
        """Before Claude is called, the look that its work is compared with is made; True when that took time. What a
        user may do while the run waits, and what checks leave, is not Claude's work."""
        if isinstance(verdict, ProofStep | RunHook | RunStopScripts | Ask) or self._recorder.state.paused:
            self._stale = True
        if self._starts_a_program(verdict) and self._first is not None:
            # What the look has started would be taken for something that the program left behind.
            if (found := self._finish_first()) is not None:
                self._record([], self._recorder.state.iterations, found)
            return True
        if not isinstance(verdict, Begin):
            return False
        number, first = verdict.number - 1, self._first is not None
        found = self._finish_first()
        # A second try of an iteration goes on with what the first one left.
        if not first and self._stale and not self._recorder.state.streaks.retries:
            found = self._now(lambda: self._work.look(number, self._since, again=True))
        self._stale = self._stale and bool(self._recorder.state.streaks.retries)
        if found is not None:
            self._record([], number, found)
        return first or found is not None

    def _starts_a_program(self, verdict: Verdict) -> bool:
        """A check or a hook; the run may end with one."""
        started = self._recorder.state.started
        ends_with_hook = started is not None and Point.FINISHED in started.hooks
        return isinstance(verdict, ProofStep | RunHook | RunStopScripts) or (
            isinstance(verdict, Finish) and ends_with_hook
        )

    def measure(self, number: int) -> None:
        """After an iteration, to `WorkMeasured`. If the run is to end now, there is none."""
        first = self._finish_first()
        # Of an iteration that a killed run made, only a snapshot of that run can tell what it changed.
        unknown = number <= self._taken_over and self._since is None
        look = Look() if unknown else self._now(lambda: self._look(number))
        if look is None:
            return
        if first is not None and unknown:
            look = msgspec.structs.replace(first, changes=None)
        tests = self._run_tests()
        changes = _changes(look)
        progress = moved(self._recorder.state, changes, tests)
        self._record([WorkMeasured(number, changes, tests, progress, notes=look.notes)], number, look)
        if odd := contradiction(self._recorder.state):
            self._warn_once("claim", f"Iteration {number}: {odd}", "The report is the agent's word; this is measured.")

    def _now(self, look: Callable[[], Look]) -> Look | None:
        return self._supervisor.start_in_background(look, self._work.give_up)()

    def _finish_first(self) -> Look | None:
        begun, self._first = self._first, None
        return begun() if begun is not None else None

    def _look(self, number: int) -> Look:
        found = self._work.look(number, self._since)
        if not self._forgot:
            self._forgot = True
            self._work.forget_old_runs()
        return found

    @property
    def _counts_tests(self) -> bool:
        settings = self._plan.settings
        wanted = settings.progress.tests or settings.stop.test_failures > 0
        return wanted and bool(settings.commands.test)

    def _run_tests(self) -> TestCounts | None:
        settings = self._plan.settings
        if not self._counts_tests or self._recorder.state.stop is not None:
            return None
        self._stale = True  # a test command may write reports and caches
        shell = ShellCommand(self._plan, self._recorder, self._supervisor)
        counts, why = count_tests(shell, self._supervisor, self._plan.layout.root, settings.commands.test or "")
        if why and self._recorder.state.stop is None:
            self._warn_once("tests", f"The tests were not counted: {why}.", "See the setting `commands.test`.")
        return counts

    def _record(self, measured: list[Event], number: int, look: Look) -> None:
        """All in one write: a kill comes before or after it."""
        taken = SnapshotTaken(number, look.tree, look.ref, look.head, _shown(look.branch), look.how)
        self._recorder.record_printed([*([taken] if look.tree else []), *measured])
        if look.problem:
            text = f"What an iteration changes cannot be measured: {look.problem}"
            self._warn_once("problem", text, "The run goes on; rules about progress do not apply until it can be.")
        if look.left_out:
            names = join_names([f"{_shown(path)} ({why})" for path, why in look.left_out])
            hint = "Their changes are seen, but their content is not kept. What is in .gitignore is not named."
            self._warn_once("left out", f"Not in the snapshots of the project: {names}", hint)

    def _warn_once(self, about: str, text: str, hint: str) -> None:
        if about not in self._told:
            self._told.add(about)
            self._recorder.record(Warned(text, hint))


def place_of(layout: Layout, run: str, ignore: tuple[str, ...]) -> Place:
    """The project of a workspace, without what claude-iterate writes in it."""
    root = layout.root
    own = [*layout.own_folders(), root / "claude-iterate" / "snapshots.git"]
    inside = [f"{path.relative_to(root)}/" for path in own if path != root and path.is_relative_to(root)]
    kept = [str(path.relative_to(root)) for path in (layout.instructions, layout.todo) if path.is_relative_to(root)]
    notes = tuple(map(str, (layout.todo, layout.working, layout.plan, layout.impl)))
    printed = [str(path.relative_to(root)) for path in processes.own_output_files(root)]
    return Place(root, layout.name, run, (*inside, *printed), tuple(kept), ignore, notes)


def _changes(look: Look) -> Changes | None:
    if look.changes is None:
        return None
    hows = list(look.changes.values())
    names = [_shown(path)[:_LONGEST] for path in sorted(look.changes)[:_NAMES]]
    counts = hows.count("A"), hows.count("M"), hows.count("D")
    return Changes(*counts, look.commits, look.head, look.how, tuple(names))


def _shown(name: str) -> str:
    """A name that can be written as JSON, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
