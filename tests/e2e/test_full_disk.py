"""A disk that is full, and files that may not grow: what is paid for is recorded, or it does not begin."""

from __future__ import annotations

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop

MORE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.01}}]


@pytest.fixture
def disk(loop: Loop) -> Iterator[Path]:
    """The folder `runs` on a disk of 128 KB."""
    loop.make()
    runs: Path = loop.workspace / "runs"
    runs.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", runs], check=False, stderr=subprocess.DEVNULL
    )
    if mount.returncode:
        pytest.skip("only root may mount a small disk: run the tests as root, for example in a container")
    try:
        yield runs
    finally:
        loop.close()
        subprocess.run(["umount", runs], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 512)


def test_no_iteration_begins_that_could_not_be_recorded(loop: Loop, disk: Path) -> None:
    """The one under way when the disk fills up is recorded, and so is the end; the next run goes on from there."""
    words = [{"say": f"{number} " + "x" * 250} for number in range(30)]  # more than the journal's last block holds
    loop.script([MORE[0], {"touch": "ready"}, {"wait_for": "go"}, *words, *MORE[1:]], MORE)
    process = loop.working("-m", "4")
    fill(disk)
    loop.go()
    done = loop.finish(process)
    assert done.code == 1
    assert "Nothing more can be recorded: No space left on device" in done.err
    assert "Free some space" in done.err
    assert "are lost" not in done.err
    assert len(loop.events("AssistantText")) == 30
    assert len(loop.events("IterationFinished")) == 1
    assert [event["reason"] for event in loop.events("RunFinished")] == ["agent_failed"]
    (disk / "filler").unlink()
    assert loop.run("-m", "2").code == 0
    assert len(list(loop.state.glob("call-*.json"))) == 3


def test_nothing_begins_on_a_full_disk(loop: Loop, disk: Path) -> None:
    """Not even the first iteration: Claude is not called."""
    loop.script(MORE)
    (disk / "room").write_bytes(b"x" * 16_384)
    fill(disk)
    (disk / "room").unlink()
    done = loop.run("-m", "4")
    assert done.code == 1
    assert "Nothing more can be recorded: No space left on device" in done.err
    assert not list(loop.state.glob("call-*.json"))
    assert [event["reason"] for event in loop.events("RunFinished")] == ["agent_failed"]


def no_file_may_grow() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "my-task"],
        ["run", "my-task", "--dry-run"],
        ["verify", "my-task"],
        ["validate", "my-task"],
        ["setup", "other", "--goal", "Write a poem."],
        ["edit", "my-task", "--goal", "Write a poem."],
        ["reset", "my-task"],
        ["doctor"],
        ["demo"],
        ["selftest", "--only", "hang-silent"],
    ],
    ids=" ".join,
)
def test_the_limit_is_named(loop: Loop, words: list[str]) -> None:
    """The message names the limit and says how to raise it; there is no stack trace, and Claude is not called."""
    loop.make()
    done = loop.call(*words, preexec_fn=no_file_may_grow)
    assert done.code == 1
    assert "ulimit -f" in done.out + done.err
    assert "Traceback" not in done.err
    assert "bug" not in done.err
    assert not loop.state.exists()
