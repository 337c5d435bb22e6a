"""Runs in processes of their own, which another program starts, follows by their journals, and ends.

One JSON object per line. The first line on the process's standard input says which run to start. The input then stays
open: its end means that the program is gone. The process answers on its standard output.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import HeldBack, WaitStarted
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.settings.layers import layer_from_document
from claude_iterate.core.state.fold import fold_from
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import ExpectedError
from claude_iterate.operations import run_checks
from claude_iterate.operations.launch import launch
from claude_iterate.operations.user import User
from claude_iterate.system import crash_reports, signals
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import control

_POLL = 0.02
_INTERRUPTED = 130


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which workspace is run, and how. `project_settings` are those of the whole command. `outlives`: the run continues
    when the program that started it is gone."""

    root: str
    workspace: str
    request: RunRequest
    project_settings: dict[str, Any] = {}
    outlives: bool = False


class Began(msgspec.Struct, frozen=True, tag=True):
    """The run has its id and the lock of its workspace."""

    run: str


class Noted(msgspec.Struct, frozen=True, tag=True):
    """Something beside the result, for the user."""

    text: str
    warning: bool = False


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The run is over. Without a run: the task was completed, and was left as it is."""

    exit_code: int
    run: str = ""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """There was no run, or it broke off: an expected error, or a bug with its crash report."""

    message: str
    hint: str = ""
    exit_code: int = 1


Answer = Began | Noted | Ended | Refused


class RunProcess:
    """A process that runs one workspace. `answers` are all that it has said so far."""

    def __init__(self, project: Project, workspace: str, request: RunRequest, outlives: bool = False) -> None:
        """Start it, in a session of its own: a Ctrl-C at the terminal is for the program, which passes it on. It has no
        terminal, so it prints nothing."""
        flags = project.flags.values if project.flags is not None else {}
        start = Start(str(project.root), workspace, replace(request, silent=True), flags, outlives)
        packages = str(Path(__file__).parents[2])
        code = f"import sys; sys.path.insert(0, {packages!r}); from {__name__} import main; sys.exit(main())"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if outlives else None,  # it must not keep our pipes open
            cwd=project.root,
            env=dict(project.environ),
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.answers: list[Answer] = []
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()
        assert self._process.stdin is not None
        self._input = self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # it died at once, and `result` tells
            self._input.write(msgspec.json.encode(start) + b"\n")
            self._input.flush()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                self.answers.append(msgspec.json.decode(line, type=Answer))

    @property
    def run(self) -> str:
        """The id of the run; empty until it has one."""
        return next((answer.run for answer in self.answers if isinstance(answer, Began)), "")

    def await_beginning(self) -> Began | Ended | Refused:
        """The first answer that is more than a note: that the run began, or why not."""
        while True:
            is_over = not self._reader.is_alive()
            for answer in self.answers:
                if not isinstance(answer, Noted):
                    return answer
            if is_over:
                return self._describe_death()
            self._reader.join(_POLL)

    def result(self) -> Ended | Refused | None:
        """How it ended; None while it runs."""
        if self._process.poll() is None:
            return None
        self._reader.join()
        self.let_go()
        last = self.answers[-1] if self.answers else None
        return last if isinstance(last, Ended | Refused) else self._describe_death()

    def wait(self, timeout: float | None = None) -> Ended | Refused | None:
        """Wait for its end; None when it did not come within `timeout` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self.result()

    def send(self, name: str) -> None:
        """Signal the process."""
        if self._process.poll() is None:
            signals.send(self.pid, getattr(signal, name))

    def let_go(self) -> None:
        """End its input, so it ends unless it was ordered to outlive us."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()

    def _describe_death(self) -> Refused:
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = f"The process of the run (pid {self.pid}) {how} before it could say how the run ended."
        return Refused(
            said, "Run it again: it continues where it was.", exit_code=128 - code if code < 0 else code or 1
        )


class _NonInteractiveUser(User):
    """There is no user to ask, and what is said reaches the program. When that is gone, the run continues if it was
    asked to."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def say(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):
            os.write(self._handle, msgspec.json.encode(answer) + b"\n")

    def warn(self, text: str) -> None:
        self.say(Noted(text, warning=True))

    def note(self, text: str) -> None:
        self.say(Noted(text))

    @contextlib.contextmanager
    def steering(self, spec: RunSpec) -> Iterator[RunSpec]:
        self.say(Began(spec.run))
        yield spec


def main() -> int:
    """The process itself: run what the first line of standard input orders; returns the exit code."""
    source, user = os.dup(0), _NonInteractiveUser(os.dup(1))  # not inherited by what is started here
    with Path(os.devnull).open("r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    ended: Ended | Refused
    try:
        ended = _perform(os.fdopen(source, "rb", closefd=False).readline(), source, user)
    except ExpectedError as problem:
        ended = Refused(problem.message, problem.hint, problem.exit_code)
    except KeyboardInterrupt:
        ended = Refused("Interrupted before the run began.", exit_code=_INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - the boundary of this process
        ended = Refused(*crash_reports.report_crash(bug, sys.argv[1:]), exit_code=crash_reports.EXIT_CODE)
    user.say(ended)
    return ended.exit_code


def _perform(order: bytes, source: int, user: _NonInteractiveUser) -> Ended:
    if not order.endswith(b"\n"):
        raise KeyboardInterrupt  # the program is gone already
    start = msgspec.json.decode(order, type=Start)
    if not start.outlives:
        threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    flags = layer_from_document("flag", "command line", start.project_settings) if start.project_settings else None
    project = Project(Path(start.root), os.environ, flags)
    layout = project.layout(start.workspace)
    asked = run_checks.leave_completed(project, layout, start.request, user)
    if isinstance(asked, run_checks.CompletedTask):
        return Ended(asked.exit_code)
    done = launch(project, layout, asked, user)
    return Ended(done.exit_code, done.run)


def _end_with(source: int) -> None:
    """When the program that started the run is gone, however it died, the run ends as after SIGTERM."""
    with contextlib.suppress(OSError):
        while os.read(source, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


_LOOK = 0.1
_PROBE = 30.0
"""Seconds that the others wait longer where the end of a limit is not known: one run finds out for all."""


class OneRun:
    """One of the runs. `state` is what its journal says so far; `ended` how its process ended, once it has."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.name = layout.name
        self.process: RunProcess | None = None
        self.state = RunState()
        self.ended: Ended | Refused | None = None
        self.knows_of: HeldBack | None = None
        """The limit that holds it back, as far as it knows."""
        self._waits_until = 0.0
        self._journal: JournalFollower | None = None

    @property
    def run(self) -> str:
        """Its id; empty until it has one."""
        return self.process.run if self.process is not None else ""

    @property
    def is_waiting(self) -> bool:
        """It was not started yet."""
        return self.process is None and self.ended is None

    def look(self) -> bool:
        """Take in what is new; True when something is."""
        if self.process is None or self.ended is not None:
            return False
        ended = self.process.result()  # asked before reading, so that the last entries are not missed
        new = []
        if self.run:
            self._journal = self._journal or JournalFollower(self.layout.journal(self.run))
            new = list(self._journal.entries())
            self.state = fold_from(self.state, new)
        self.ended = ended
        return bool(new) or ended is not None

    def met_limit(self) -> WaitStarted | None:
        """The wait for a usage limit that this run met itself, once for each."""
        wait, outcome = self.state.wait, self.state.last_outcome
        if wait is None or wait.why != Why.USAGE_LIMIT or wait.until == self._waits_until:
            return None
        self._waits_until = wait.until
        return wait if outcome is not None and outcome.kind == Kind.USAGE_LIMIT else None


class ManyRuns:
    """Runs several workspaces, at most `parallel` at a time (0: all). A usage limit that one of them meets holds the
    others back. Signals are passed on in order. When this process dies, however it dies, the runs notice and end.
    `show` is called after each look, with those that have news."""

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
        self.stopped_by = ""
        """The first signal that came, if any."""
        self._held: HeldBack | None = None
        self.runs = [OneRun(layout) for layout in layouts]

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
        waiting = any(run.is_waiting for run in self.runs)
        return not self._live() and (not waiting or bool(self.stopped_by))

    def _live(self) -> list[RunProcess]:
        return [run.process for run in self.runs if run.process is not None and run.ended is None]

    def _start_more(self) -> None:
        free = self._parallel - len(self._live())
        waiting = [run for run in self.runs if run.is_waiting]
        for run in waiting[:free] if not self.stopped_by else ():
            asked, run.knows_of = replace(self._request, held=self._held), self._held
            try:
                run.process = RunProcess(self._project, run.name, asked)
            except (OSError, ExpectedError) as error:
                run.ended = Refused(f"It could not be started: {error}", f"claude-iterate run {run.name}")

    def _pass_on(self) -> None:
        """A signal is for all: the first Ctrl-C lets iterations finish, the second ends them."""
        while self._signals:
            name = self._signals.pop(0)
            self.stopped_by = self.stopped_by or name
            for process in self._live():
                process.send(name)

    def _hold_others(self, met: OneRun, wait: WaitStarted) -> None:
        outcome = met.state.last_outcome
        known = outcome is not None and outcome.resets_at is not None
        met.knows_of = self._held = HeldBack(met.name, wait.until + (0.0 if known else _PROBE), wait.detail)

    def _tell_others(self) -> None:
        """Tell the runs that do not know of the limit yet; one that has just begun, as soon as it has a name."""
        held = self._held
        for run in self.runs:
            if held is None or run.knows_of is held or not run.run or run.ended is not None:
                continue
            run.knows_of = held
            with contextlib.suppress(ExpectedError):  # its folder is gone, and it ends by itself
                control.post(run.layout, run.run, control.HOLD, by=held.by, until=held.until, detail=held.detail)

    def _let_go(self) -> None:
        for process in self._live():
            process.let_go()
            process.send("SIGTERM")
        for process in self._live():
            process.wait()
