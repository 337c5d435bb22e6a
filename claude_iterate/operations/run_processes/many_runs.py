"""Several workspaces run from one command: each in a process of its own, followed by its journal.

A usage limit that one of them meets holds the others back. Signals are passed on in order. When this process dies,
however it dies, the runs notice and end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from claude_iterate.core.events import HeldBack, WaitStarted
from claude_iterate.core.events.vocabulary import Kind, Why
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import fold_from
from claude_iterate.errors import ExpectedError
from claude_iterate.operations.run_processes.run_process import Began, Ended, Refused, RunProcess
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.system import signals
from claude_iterate.workspace.journal.follower import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import control

_LOOK = 0.1
_PROBE = 30.0
"""Seconds that the others wait longer where the end of a limit is not known: one run finds out for all."""
_APART = 5.0
"""Seconds between the others, if that one has not told by then: the first of them finds out for the rest."""


class OneRun:
    """One of the runs. `state` is what its journal says so far; `ended` how its process ended, once it has."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.name = layout.name
        self.process: RunProcess | None = None
        self.run = ""
        self.state = RunState()
        self.ended: Ended | Refused | None = None
        self.waits_until = 0.0
        self.told: HeldBack | None = None
        self._journal: JournalFollower | None = None

    def look(self) -> bool:
        """Take in what is new; True when something is."""
        if self.process is None or self.ended is not None:
            return False
        ended = self.process.ended()  # asked before reading, so that the last entries are not missed
        for answer in self.process.hear():
            self.run = answer.run if isinstance(answer, Began) else self.run
        self.run = self.run or next((said.run for said in self.process.answers if isinstance(said, Began)), "")
        news = self._read() if self.run else False
        self.ended = ended
        return news or ended is not None

    def _read(self) -> bool:
        self._journal = self._journal or JournalFollower(self.layout.journal(self.run))
        new = list(self._journal.entries())
        self.state = fold_from(self.state, new)
        return bool(new)

    def met_limit(self) -> WaitStarted | None:
        """The wait for a usage limit that this run met itself, once for each."""
        wait, outcome = self.state.wait, self.state.last_outcome
        if wait is None or wait.why != Why.USAGE_LIMIT or wait.until == self.waits_until:
            return None
        self.waits_until = wait.until
        return wait if outcome is not None and outcome.kind == Kind.USAGE_LIMIT else None


class ManyRuns:
    """Runs the workspaces, at most `parallel` at a time (0: all). `show` is called after each look, with those that
    have news."""

    def __init__(
        self,
        project: Project,
        layouts: Sequence[Layout],
        request: RunRequest,
        parallel: int,
        show: Callable[[list[OneRun]], None],
    ) -> None:
        self._project = project
        self._request = request
        self._parallel = parallel or len(layouts)
        self._show = show
        self._signals: list[str] = []
        self._stopping = ""
        self._held: HeldBack | None = None
        self._apart = 0.0
        self.runs = [OneRun(layout) for layout in layouts]

    @property
    def stopped_by(self) -> str:
        """The first signal that came, if any."""
        return self._stopping

    def run(self) -> None:
        """Until all are over. Whatever happens, no run is left."""
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(self._let_go)
            afterwards.callback(signals.on_stop_signals(self._signals.append))
            while not self._is_over():
                self._pass_on()
                self._start_more()
                news = [run for run in self.runs if run.look()]
                for run in news:
                    if (wait := run.met_limit()) is not None:
                        self._hold_others(run, wait)
                self._tell_others()
                self._show(news)
                time.sleep(_LOOK)

    def _is_over(self) -> bool:
        waiting = any(run.process is None and run.ended is None for run in self.runs)
        return not self._live() and (not waiting or bool(self._stopping))

    def _live(self) -> list[OneRun]:
        return [run for run in self.runs if run.process is not None and run.ended is None]

    def _start_more(self) -> None:
        free = self._parallel - len(self._live())
        waiting = [run for run in self.runs if run.process is None and run.ended is None]
        for run in waiting[:free] if not self._stopping else ():
            asked, run.told = replace(self._request, held=self._held), self._held
            try:
                run.process = RunProcess(self._project, run.name, asked)
            except (OSError, ExpectedError) as error:
                run.ended = Refused(f"It could not be started: {error}", f"claude-iterate run {run.name}")

    def _pass_on(self) -> None:
        """A signal is for all: the first Ctrl-C lets iterations finish, the second ends them."""
        while self._signals:
            name = self._signals.pop(0)
            self._stopping = self._stopping or name
            for run in self._live():
                if run.process is not None:
                    run.process.send(name)

    def _hold_others(self, met: OneRun, wait: WaitStarted) -> None:
        outcome = met.state.last_outcome
        known = outcome is not None and outcome.resets_at is not None
        met.told = self._held = HeldBack(met.name, wait.until + (0.0 if known else _PROBE), wait.detail)
        self._apart = 0.0 if known else _APART

    def _tell_others(self) -> None:
        """Runs that do not know of the limit yet; one that has just begun is told as soon as it has a name."""
        held = self._held
        for place, run in enumerate(self.runs):
            if held is None or run.told is held or not run.run or run.ended is not None:
                continue
            run.told, until = held, held.until + self._apart * place
            with contextlib.suppress(ExpectedError):  # its folder is gone, and it ends by itself
                control.post(run.layout, run.run, control.HOLD, by=held.by, until=until, detail=held.detail)

    def _let_go(self) -> None:
        for run in self._live():
            if run.process is not None:
                run.process.close()
                run.process.send("SIGTERM")
        for run in self._live():
            if run.process is not None:
                run.process.wait()
