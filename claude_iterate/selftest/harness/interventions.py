"""What is done to a run while it is going on: signals, requests, a second run, a death, a disk that is full."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from claude_iterate.selftest.harness.fault import Act
from claude_iterate.selftest.harness.fault_project import Done, Scene
from claude_iterate.system import processes, signals


def go(scene: Scene) -> None:
    """Let Claude go on."""
    (scene.workspace / "go").touch()


def signalled(*signals: signal.Signals, then_go: bool = False) -> Act:
    """Send signals, one after the other, as soon as Claude is at work; each is seen before the next is sent."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        scene.until_ready()
        for count, number in enumerate(signals, 1):
            process.send_signal(number)
            scene.until(
                lambda expected=count: len(scene.events("StopRequested")) >= expected or process.poll() is not None,  # type: ignore[misc]
                "the runner's word that it was signalled",
            )
        if then_go:
            go(scene)
        return scene.finish(process)

    return act


def suspended(seconds: float) -> Act:
    """Stop the runner as Ctrl-Z does, for longer than Claude may be silent; Claude goes on once it has looked again."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        scene.until_ready()
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)  # that time passes is the fault
        process.send_signal(signal.SIGCONT)
        scene.say("resume")
        go(scene)
        return scene.finish(process)

    return act


def twice_at_once(scene: Scene, flags: tuple[str, ...]) -> Done:
    """A second run while the first is at work; the first then goes on."""
    process = scene.start(*flags)
    scene.until_ready()
    scene.others.append(scene.finish(scene.start(*flags)))
    go(scene)
    return scene.finish(process)


def killed(event: str, count: int = 1, mess: bool = False, guardian: bool = False) -> Act:
    """kill -9 once so many of this event are in the journal, then a second run; with `mess`: after a loss of power;
    with `guardian`: together with the one who would clean up."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        scene.until(lambda: len(scene.events(event)) >= count, f"event {count} of {event}")
        if guardian:
            _kill_guardian(process.pid)
        process.kill()
        process.wait()
        if not guardian:
            scene.until(lambda: not scene.processes(), "the end of all processes after kill -9", 10.0)
        if mess:
            _make_mess(scene)
        go(scene)
        return scene.finish(scene.start(*flags))

    return act


def _kill_guardian(runner: int) -> None:
    """It is the only child of the runner that is a shell."""
    for pid in processes.descendants({runner}):
        if processes.describe(pid).startswith("/bin/sh"):
            signals.send(pid, signal.SIGKILL)


def cannot_name_children() -> str:
    """Only Linux tells whose child a process is."""
    return "" if processes.LINUX else "this system does not tell whose child a process is"


def _make_mess(scene: Scene) -> None:
    """Half a line at the end of the journal, and a run folder that nobody filled."""
    (run,) = scene.layout.run_ids()
    with scene.layout.journal(run).open("ab") as journal:
        journal.write(b'{"seq":99,"at":17')
    (scene.layout.runs / "000002-20260101-000000-abcdef" / "raw").mkdir(parents=True)


def measured(event: str) -> Act:
    """Look at the memory that the runner has needed at most, once this event is in the journal; then let it go on."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        scene.until(lambda: scene.events(event), event)
        with contextlib.suppress(OSError):  # not Linux
            about = Path(f"/proc/{process.pid}/status").read_text()
            scene.peak = next(int(line.split()[1]) * 1024 for line in about.splitlines() if line.startswith("VmHWM:"))
        go(scene)
        return scene.finish(process)

    return act


def told(verb: str, *words: str, once: str = "") -> Act:
    """Say something from another terminal, once this event is in the journal or else as soon as Claude is at work."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        if once:
            scene.until(lambda: scene.events(once), once)
        else:
            scene.until_ready()
        scene.say(verb, *words)
        go(scene)
        return scene.finish(process)

    return act


def held(scene: Scene, flags: tuple[str, ...]) -> Done:
    """`pause` while Claude works; `resume` after the run has had time to begin another iteration against that."""
    process = scene.start(*flags)
    scene.until_ready()
    scene.say("pause")
    go(scene)
    scene.until(lambda: scene.events("IterationFinished"), "the end of the iteration")
    scene.say("pause")
    scene.say("resume")
    return scene.finish(process)


def with_small_files(blocks: int) -> Act:
    """No file of the run may grow beyond so many blocks of 512 bytes: the disk is full, and stays full."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        shell = ("/bin/sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh")
        return scene.finish(scene.start(*flags, before=shell))

    return act


def full_for_a_while(scene: Scene, flags: tuple[str, ...]) -> Done:
    """From `ready` to `go` the runner can write nothing; then there is room again."""
    process = scene.start(*flags)
    scene.until_ready()
    before = _file_limit(process, 0)
    (scene.workspace / "talk").touch()
    scene.until((scene.workspace / "talked").exists, "Claude's last word before the disk has room again")
    _file_limit(process, before)
    go(scene)
    return scene.finish(process)


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
    """Nothing is read-only for root, unless it was robbed of that right."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        return "this user may write anywhere" if os.access(folder, os.W_OK) else ""
