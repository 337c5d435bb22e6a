"""Measures what each iteration did: a look at the project after it, compared with the one before; and its tests.

The first look is made while the run prepares, and is over before Claude is called. What we run ourselves in between
(checks, tests) and what a user does while the run is paused is not Claude's work: then the project is looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from claude_iterate.core.events import Changes, Event, SnapshotTaken, TestCounts, WorkMeasured
from claude_iterate.core.events.enums import Point, Purpose
from claude_iterate.core.formats import join_names, one_line, shorten
from claude_iterate.core.rules.verdicts import Ask, Begin, Finish, ProofStep, RunHook, RunStopScripts, Verdict
from claude_iterate.core.state.work import find_contradiction, find_progress
from claude_iterate.engine.shell_command import run_program, shell_program
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_work import Look, Work
from claude_iterate.project.snapshots import Place
from claude_iterate.project.suite_results import JunitProblem, find_junit_files, read_junit_files, read_summary
from claude_iterate.system import processes
from claude_iterate.workspace.layout import Layout

_NAMES = 50
_LONGEST = 300
_TAIL = 2_000_000
"""Characters of the end of a test command's output that summaries are looked for in."""
_COARSE = 50_000_000
"""Nanoseconds by which the clock of a file system may be behind."""


def start_measuring(supervisor: Supervisor) -> Measuring | None:
    """The first look at the project has begun: it takes place while the rest is prepared. None where no iteration can
    do work: a dry run works on a copy."""
    spec = supervisor.spec
    if spec.request.purpose != Purpose.RUN or spec.request.dry_run or spec.settings.progress.measure == "off":
        return None
    return Measuring(supervisor)


class Measuring:
    """The looks of one run. All are made in another thread, so signals and requests are heeded meanwhile."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._recorder = supervisor.recorder
        self._spec = spec = supervisor.spec
        settings = spec.settings.progress
        store = spec.layout.root / "claude-iterate" / "snapshots.git"
        place, filters = place_of(spec.layout, spec.run, settings.ignore), spec.sandbox is None
        self._work = Work(place, spec.own_environ, settings.measure, store, filters)
        before = spec.before.resumed.work.snapshot if spec.before.resumed is not None else None
        self._since = (before.tree, before.head) if before is not None else None
        self._taken_over = spec.before.resumed.iterations if spec.before.resumed is not None else 0
        self._stale = False
        self._first: Callable[[], Look | None] | None = supervisor.start_in_background(
            lambda: self._work.begin(self._taken_over, self._since), self._work.give_up
        )

    def prepares(self, verdict: Verdict) -> bool:
        """Before Claude is called, the look that its work is compared with is made; True when that took time. What a
        user may do while the run waits, and what checks leave, is not Claude's work."""
        if isinstance(verdict, ProofStep | RunHook | RunStopScripts | Ask) or self._recorder.state.paused:
            self._stale = True
        begins, number = isinstance(verdict, Begin), self._recorder.state.iterations
        # What the first look has started would be taken for something that a program of ours left behind.
        if not begins and not self._starts_a_program(verdict):
            return False
        first, found = self._first is not None, self._finish_first()
        if begins:
            # A second try of an iteration goes on with what the first one left.
            retries = bool(self._recorder.state.streaks.retries)
            if not first and self._stale and not retries:
                found = self._now(lambda: self._work.look(number, self._since, again=True))
            self._stale = self._stale and retries
        if found is not None:
            self._record([], number, found)
        return first or found is not None

    def _starts_a_program(self, verdict: Verdict) -> bool:
        """A check or a hook; the run may end with one."""
        if isinstance(verdict, Finish):
            return Point.FINISHED in self._recorder.state.run.hooks
        return isinstance(verdict, ProofStep | RunHook | RunStopScripts)

    def measure(self, number: int) -> None:
        """After an iteration, to `WorkMeasured`. If the run is to end now, there is none."""
        first = self._finish_first()
        # Of an iteration that a killed run made, only a snapshot of that run can tell what it changed.
        unknown = number <= self._taken_over and self._since is None
        look = Look() if unknown else self._now(lambda: self._work.look(number, self._since))
        if look is None:
            return
        if first is not None and unknown:
            look = replace(first, changes=None)
        tests = self._run_tests()
        changes = _changes(look)
        progress = find_progress(self._recorder.state, changes, tests)
        self._record([WorkMeasured(number, changes, tests, progress)], number, look)
        if odd := find_contradiction(self._recorder.state):
            hint = "The report is the agent's word; this is measured."
            self._recorder.warn_once(f"Iteration {number}: {odd}", hint, about="claim")

    def _now(self, look: Callable[[], Look]) -> Look | None:
        return self._supervisor.start_in_background(look, self._work.give_up)()

    def _finish_first(self) -> Look | None:
        begun, self._first = self._first, None
        return begun() if begun is not None else None

    def _run_tests(self) -> TestCounts | None:
        settings, command = self._spec.settings, self._spec.settings.commands.test
        wanted = settings.progress.tests or settings.stop.test_failures > 0
        if not wanted or not command or self._recorder.state.stop is not None:
            return None
        self._stale = True  # a test command may write reports and caches
        counts, why = count_tests(self._supervisor, command)
        if why and self._recorder.state.stop is None:
            said, hint = f"The tests were not counted: {why}.", "See the setting `commands.test`."
            self._recorder.warn_once(said, hint, about="tests")
        return counts

    def _record(self, measured: list[Event], number: int, look: Look) -> None:
        """All in one write: a kill comes before or after it."""
        taken = SnapshotTaken(number, look.tree, look.ref, look.head, _as_text(look.branch))
        self._recorder.record_printed([*([taken] if look.tree else []), *measured])
        if look.problem:
            text = f"What an iteration changes cannot be measured: {look.problem}"
            hint = "The run continues; rules about progress do not apply until it can be."
            self._recorder.warn_once(text, hint, about="measuring")
        if look.left_out:
            names = join_names([f"{_as_text(path)} ({why})" for path, why in look.left_out])
            hint = "Their changes are seen, but their content is not kept. What is in .gitignore is not named."
            self._recorder.warn_once(f"Not in the snapshots of the project: {names}", hint, about="left out")


def place_of(layout: Layout, run: str, ignore: tuple[str, ...]) -> Place:
    """The project of a workspace, without what claude-iterate writes in it."""
    root = layout.root
    own = [*layout.own_folders(), root / "claude-iterate" / "snapshots.git"]
    inside = [f"{path.relative_to(root)}/" for path in own if path != root and path.is_relative_to(root)]
    kept = [str(path.relative_to(root)) for path in (layout.instructions, layout.todo) if path.is_relative_to(root)]
    printed = [str(path.relative_to(root)) for path in processes.own_output_files(root)]
    return Place(root, layout.name, run, (*inside, *printed), tuple(kept), ignore)


def _changes(look: Look) -> Changes | None:
    if look.changes is None:
        return None
    hows = list(look.changes.values())
    names = [_as_text(path)[:_LONGEST] for path in sorted(look.changes)[:_NAMES]]
    counts = hows.count("A"), hows.count("M"), hows.count("D")
    return Changes(*counts, look.commits, look.how, tuple(names))


def _as_text(name: str) -> str:
    """A name that can be written as JSON, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def count_tests(supervisor: Supervisor, command: str) -> tuple[TestCounts | None, str]:
    """Run the project's test command: the counts; or None, and why they are not known. What cannot be read is never a
    success, and never "no failures"."""
    began = time.time_ns() - _COARSE
    ended = run_program(supervisor, shell_program(command, "test", tail=_TAIL))
    if ended.code is None:
        return None, f"`{command}` {ended.how}"
    root = supervisor.spec.layout.root
    try:
        # JUnit files are exact; what is printed is for people.
        found = supervisor.meanwhile(
            lambda: read_junit_files(find_junit_files(command, root, began)) or read_summary(ended.output)
        )
    except JunitProblem as problem:
        return None, f"`{command}` {ended.how}, and its JUnit file cannot be used: {problem}"
    if found is None:
        return None, f"`{command}` {ended.how}, and no counts of tests are in its output"
    red = tuple(shorten(one_line(name), _LONGEST) for name in found.red)
    if ended.code and not found.is_red:
        # All that was counted is green, and the command says that something is not.
        return replace(found, errors=1, red=(f"`{command}` {ended.how}",)), ""
    return replace(found, red=red), ""
