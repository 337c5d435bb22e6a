"""What is done to a run while it is going on: signals, a second run, a death, a disk that is full for a while."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

from claude_iterate.selftest.scenario import Act
from claude_iterate.selftest.scene import Done, Scene


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


def twice_at_once(scene: Scene, flags: tuple[str, ...]) -> Done:
    """A second run while the first is at work; the first then goes on."""
    process = scene.start(*flags)
    scene.until_ready()
    scene.others.append(scene.finish(scene.start(*flags)))
    go(scene)
    return scene.finish(process)


def killed(event: str, count: int = 1, mess: bool = False) -> Act:
    """kill -9 once so many of this event are in the journal, then a second run; with `mess`: after a loss of power."""

    def act(scene: Scene, flags: tuple[str, ...]) -> Done:
        process = scene.start(*flags)
        scene.until(lambda: len(scene.events(event)) >= count, f"event {count} of {event}")
        process.kill()
        process.wait()
        scene.until(lambda: not scene.processes(), "the end of all processes after kill -9", 10.0)
        if mess:
            _make_mess(scene)
        go(scene)
        return scene.finish(scene.start(*flags))

    return act


def _make_mess(scene: Scene) -> None:
    """Half a line at the end of the journal, and a run folder that nobody filled."""
    (run,) = scene.layout.run_ids()
    with scene.layout.journal(run).open("ab") as journal:
        journal.write(b'{"seq":99,"at":17')
    (scene.layout.runs / "000002-20260101-000000-abcdef" / "raw").mkdir(parents=True)


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
