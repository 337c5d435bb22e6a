"""What happens to a run while it is going on: signals, requests, a second run, a kill, a full disk."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from claude_iterate.selftest.harness.fault import FaultProject, Intervention
from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, Done
from claude_iterate.system import processes, signals


def _working(project: FaultProject, flags: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """A run whose Claude has touched `ready`."""
    process = project.start_run(*flags)
    project.until((project.workspace / "ready").exists, "the file `ready`")
    return process


def go(project: FaultProject) -> None:
    """Let Claude continue."""
    (project.workspace / "go").touch()


def signalled(*signals: signal.Signals, then_go: bool = False) -> Intervention:
    """Send signals as soon as Claude is working; the run has recorded each one before the next is sent."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        process = _working(project, flags)
        for count, number in enumerate(signals, 1):
            process.send_signal(number)
            project.until(
                lambda expected=count: len(project.events("StopRequested")) >= expected or process.poll() is not None,  # type: ignore[misc]
                "the record of the signal",
            )
        if then_go:
            go(project)
        return project.finish(process)

    return intervene


def suspended(seconds: float) -> Intervention:
    """Suspend the runner, as Ctrl-Z does, for longer than Claude may be silent. Claude continues after the runner."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        process = _working(project, flags)
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)  # the fault is that time passes
        process.send_signal(signal.SIGCONT)
        project.request("resume")
        go(project)
        return project.finish(process)

    return intervene


def second_run(project: FaultProject, flags: tuple[str, ...]) -> Done:
    """Start a second run while the first is working; then let the first continue."""
    process = _working(project, flags)
    project.others.append(project.run(*flags))
    go(project)
    return project.finish(process)


def killed(event: str, count: int = 1, mess: bool = False, guardian: bool = False) -> Intervention:
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


def cannot_list_children() -> str:
    """Only Linux lists the children of a process."""
    return "" if processes.LINUX else "this system does not list the children of a process"


def _make_mess(project: FaultProject) -> None:
    """Half a line at the end of the journal, and a run folder without a journal."""
    (run,) = project.layout.run_ids()
    with project.layout.journal(run).open("ab") as journal:
        journal.write(b'{"seq":99,"at":17')
    (project.layout.runs / "000002-20260101-000000-abcdef" / "raw").mkdir(parents=True)


def measured(event: str) -> Intervention:
    """Read the peak memory of the runner once this event is in the journal; then let Claude continue."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        process = project.start_run(*flags)
        project.until(lambda: project.events(event), event)
        with contextlib.suppress(OSError):  # not Linux
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            project.peak_memory = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
        go(project)
        return project.finish(process)

    return intervene


def requested(verb: str, *words: str, once: str = "") -> Intervention:
    """Send a request from another terminal, once this event is in the journal or as soon as Claude is working."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        if once:
            process = project.start_run(*flags)
            project.until(lambda: project.events(once), once)
        else:
            process = _working(project, flags)
        project.request(verb, *words)
        go(project)
        return project.finish(process)

    return intervene


def paused(project: FaultProject, flags: tuple[str, ...]) -> Done:
    """`pause` while Claude works; `resume` after the run had time to start another iteration in spite of that."""
    process = _working(project, flags)
    project.request("pause")
    go(project)
    project.until(lambda: project.events("IterationFinished"), "the end of the iteration")
    project.request("pause")
    project.request("resume")
    return project.finish(process)


def with_small_files(blocks: int) -> Intervention:
    """No file of the run can grow beyond so many blocks of 512 bytes: the disk is full, and stays full."""

    def intervene(project: FaultProject, flags: tuple[str, ...]) -> Done:
        shell = ("/bin/sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh")
        return project.run(*flags, program=(*shell, *COMMAND_LINE))

    return intervene


def full_for_a_while(project: FaultProject, flags: tuple[str, ...]) -> Done:
    """The runner cannot write from `ready` to `go`; then there is room again."""
    process = _working(project, flags)
    before = _file_limit(process, 0)
    (project.workspace / "talk").touch()
    project.until((project.workspace / "talked").exists, "the file `talked`")
    _file_limit(process, before)
    go(project)
    return project.finish(process)


def _file_limit(process: subprocess.Popen[bytes], soft: int) -> int:
    import resource

    before, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    return before


def cannot_limit_others() -> str:
    """Only Linux lets one process limit another."""
    import resource

    return "" if hasattr(resource, "prlimit") else "this system cannot limit the files of another process"


def may_write_anywhere() -> str:
    """Nothing is read-only for root, unless root has lost that right."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        return "this user may write anywhere" if os.access(folder, os.W_OK) else ""
