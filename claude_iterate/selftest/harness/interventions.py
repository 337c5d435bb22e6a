"""What happens to a run while it is going on: signals, requests, a second run, a kill, a full disk."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from claude_iterate.selftest.harness.fault import FaultProject, Intervention
from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, NAME, Done
from claude_iterate.system import processes, signals


def go(project: FaultProject) -> None:
    """Let Claude continue."""
    (project.workspace / "go").touch()


def during(
    act: Callable[[FaultProject, subprocess.Popen[bytes]], object] = lambda _project, _process: None, once: str = ""
) -> Intervention:
    """Act during a run: once this event is in the journal, or else as soon as Claude has touched `ready`. Then Claude
    continues, and the run ends."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        process = project.start_run(*flags)
        ready = project.workspace / "ready"
        project.until(lambda: project.events(once) if once else ready.exists(), once or "the file `ready`")
        act(project, process)
        go(project)
        return project.finish(process)

    return intervene


def send_signals(*signals: signal.Signals) -> Intervention:
    """Send signals as soon as Claude is working; the run has recorded each one before the next is sent."""

    def act(project: FaultProject, process: subprocess.Popen[bytes]) -> None:
        for count, number in enumerate(signals, 1):
            process.send_signal(number)
            project.until(
                lambda expected=count: len(project.events("StopRequested")) >= expected or process.poll() is not None,  # type: ignore[misc]
                "the record of the signal",
            )

    return during(act)


def suspend(seconds: float) -> Intervention:
    """Suspend the runner, as Ctrl-Z does, for longer than Claude may be silent. Claude says a word meanwhile, and
    continues after the runner."""

    def act(project: FaultProject, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGSTOP)
        (project.workspace / "talk").touch()
        project.until((project.workspace / "talked").exists, "the file `talked`")
        time.sleep(seconds)  # the fault is that time passes
        process.send_signal(signal.SIGCONT)
        project.request("resume")

    return during(act)


second_run = during(lambda project, _process: project.others.append(project.run()))
"""Start a second run while the first is working; then let the first continue."""


def kill(event: str, count: int = 1, mess: bool = False, guardian: bool = False) -> Intervention:
    """kill -9 once the journal holds so many of this event, then run again; with `mess`: as after a power failure;
    with `guardian`: together with the process that would clean up."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        process = project.start_run(*flags)
        project.until(lambda: len(project.events(event)) >= count, f"event {count} of {event}")
        if guardian:
            _kill_guardian(process.pid)
        process.kill()
        process.wait()
        if not guardian:
            project.gone()
        if mess:
            _make_mess(project)
        go(project)
        return project.run(*flags)

    return intervene


def _kill_guardian(runner: int) -> None:
    """It is the only child of the runner that is a shell."""
    for pid in processes.descendants({runner}):
        if processes.describe(pid).startswith("/bin/sh"):
            signals.send(pid, signal.SIGKILL)


def not_on_linux() -> str:
    """Only Linux lists the children of a process, hands orphans over, and lets one process limit another."""
    return "" if processes.LINUX else "only Linux can do this"


def _make_mess(project: FaultProject) -> None:
    """Half a line at the end of the journal, and a run folder without a journal."""
    (run,) = project.layout.run_ids()
    with project.layout.journal(run).open("ab") as journal:
        journal.write(b'{"seq":99,"at":17')
    (project.layout.runs / "000002-20260101-000000-abcdef" / "raw").mkdir(parents=True)


def request(verb: str, *words: str, once: str = "") -> Intervention:
    """Send a request from another terminal, once this event is in the journal or as soon as Claude is working."""
    return during(lambda project, _process: project.request(verb, *words), once)


@during
def pause(project: FaultProject, _process: subprocess.Popen[bytes]) -> None:
    """`pause` while Claude works; `resume` after the run had time to start another iteration in spite of that."""
    project.request("pause")
    go(project)
    project.until(lambda: project.events("IterationFinished"), "the end of the iteration")
    project.request("pause")
    project.request("resume")


def on_a_stopped_terminal(project: FaultProject, flags: tuple[str, ...]) -> Done:
    """The run prints on a terminal that never takes more than it holds."""
    ours, theirs = pty.openpty()
    project.closing.callback(os.close, ours)
    try:
        return project.finish(project.start("run", NAME, *flags, stdout=theirs, stderr=theirs))
    finally:
        os.close(theirs)


def with_small_files(project: FaultProject, flags: tuple[str, ...]) -> Done:
    """No file of the run can grow beyond 32 blocks of 512 bytes: the disk is full, and stays full."""
    # Python 3.11 keeps a compiled module that it could not write to its end, and cannot load it later (gh-126606).
    shell = ("/bin/sh", "-c", 'ulimit -f 32; export PYTHONDONTWRITEBYTECODE=1; exec "$@"', "sh")
    return project.run(*flags, program=(*shell, *COMMAND_LINE))


@during
def full_for_a_while(project: FaultProject, process: subprocess.Popen[bytes]) -> None:
    """The runner cannot write from `ready` to `go`; then there is room again."""
    before = _file_limit(process, 0)
    (project.workspace / "talk").touch()
    project.until((project.workspace / "talked").exists, "the file `talked`")
    _file_limit(process, before)


def _file_limit(process: subprocess.Popen[bytes], soft: int) -> int:
    before, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    return before


def may_write_anywhere() -> str:
    """Nothing is read-only for root, unless root has lost that right."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        return "this user may write anywhere" if os.access(folder, os.W_OK) else ""


def receiver(listens: bool = True, answers: bool = False) -> Callable[[FaultProject], None]:
    """Notifications go to one that refuses them, to one that listens and never answers, or to an address where nothing
    listens."""

    def prepare(project: FaultProject) -> None:
        server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)  # it knows no POST
        project.env["CLAUDE_ITERATE_NOTIFY__URL"] = f"http://127.0.0.1:{server.server_port}/"
        project.env["CLAUDE_ITERATE_NOTIFY__EVENTS"] = "all"
        if answers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            project.closing.callback(server.shutdown)
        project.closing.callback(server.server_close) if listens else server.server_close()

    return prepare
