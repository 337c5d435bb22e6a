"""The fake's fault scripts: which act a call plays, what each verb does, and what is recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fake_claude.conftest import FakeClaude

RECORDING = Path(__file__).parents[1] / "fixtures" / "claude-2.1.197" / "d52-oauth-429-usage-limit.ndjson"


def printed(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_call_plays_the_next_act_and_the_last_one_repeats(fake: FakeClaude) -> None:
    """Call k plays calls[k]; past the end the last one again."""
    fake.script([{"raw": "one"}], [{"raw": "two"}])
    assert [fake.run("-p").stdout for _ in range(3)] == [b"one", b"two", b"two"]


def test_after_the_script_it_may_work(fake: FakeClaude) -> None:
    """`after: work` goes on as the ordinary fake."""
    fake.script([{"exit": 3}], after="work")
    assert fake.run("-p").returncode == 3
    fake.run("-p")
    assert fake.status()["progress"]["completed"] == 1


def test_records_what_arrived(fake: FakeClaude) -> None:
    """argv, stdin byte for byte, cwd, pid and environment are kept per call; values of secrets are not."""
    fake.env.update(CLAUDE_ITERATE_RUN="run-1", SOME_API_KEY="sk-123")
    fake.script([])
    prompt = b"caf\xc3\xa9 \xff\x00 {{ x }}\r\n" * 10_000
    fake.run("-p", "--model", "opus", stdin=prompt)
    record = fake.record(1)
    assert record["argv"] == ["-p", "--model", "opus"]
    assert Path(record["stdin"]).read_bytes() == prompt
    assert record["cwd"] == str(fake.folder)
    assert record["pid"] > 0
    assert record["env"]["CLAUDE_ITERATE_RUN"] == "run-1"
    assert record["env"]["SOME_API_KEY"] == "<secret, 6 characters>"


def test_calls_at_the_same_time_get_different_numbers(fake: FakeClaude) -> None:
    """The counter has no gaps and no doubles under concurrency."""
    fake.script(*[[{"raw": str(number)}] for number in range(8)])
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda _: fake.run("-p").stdout, range(8)))
    assert sorted(outputs) == [str(number).encode() for number in range(8)]


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([{"dance": True}], "unknown step 'dance'"),
        ([{"say": "x", "exit": 1}], "a step has exactly one verb"),
        ([{"write": {"text": "x"}}], "step 'write' failed: KeyError('path')"),
        ([{"ignore": ["SIGNONE"]}], "step 'ignore' failed"),
    ],
)
def test_a_wrong_step_is_a_clear_error(fake: FakeClaude, steps: list[dict[str, Any]], complaint: str) -> None:
    """Exit code 97 and the reason on stderr; a test never fails silently because of a typing error."""
    done = fake.play(*steps)
    assert done.returncode == 97
    assert complaint in done.stderr.decode()


@pytest.mark.parametrize(
    "script", [None, b"{bad", b"", b'{"calls": [["\xff"]]}', b"[]", b'{"calls": [], "after": "no"}']
)
def test_an_unreadable_script_is_a_clear_error(fake: FakeClaude, script: bytes | None) -> None:
    """A script that is missing, no JSON or no script is exit code 97, too."""
    fake.script()
    path = fake.folder / "script.json"
    path.unlink() if script is None else path.write_bytes(script)
    done = fake.run("-p")
    assert (done.returncode, done.stdout) == (97, b"")
    assert done.stderr.startswith(b"fake claude: ")


def test_bytes_are_printed_as_they_are(fake: FakeClaude) -> None:
    """raw, in which odd bytes are surrogates, and fixture: not one byte is changed or added."""
    odd = b"\xff\x00".decode("utf-8", "surrogateescape")
    fake.script([{"raw": "torn {"}, {"raw": odd}, {"fixture": str(RECORDING)}])
    assert fake.run("-p").stdout == b"torn {\xff\x00" + RECORDING.read_bytes()


def test_file_verbs(fake: FakeClaude) -> None:
    """status, write, append, remove and touch change files of the workspace; in_place keeps the inode."""
    path = fake.workspace / "a.txt"
    path.write_text("old")
    before = path.stat().st_ino
    fake.play(
        {"status": {"complete": True}},
        {"write": {"path": "a.txt", "text": "new", "in_place": True}},
        {"append": {"path": "a.txt", "text": "er"}},
        {"write": {"path": "deep/b", "text": "b"}},
        {"touch": "c"},
        {"touch": "d"},
        {"remove": "d"},
    )
    assert fake.status() == {"complete": True}
    assert path.read_text() == "newer"
    assert path.stat().st_ino == before
    assert (fake.workspace / "deep" / "b").read_text() == "b"
    assert (fake.workspace / "c").exists()
    assert not (fake.workspace / "d").exists()


@pytest.mark.parametrize("named", ["SIGKILL", 9, "SIGTERM", 15])
def test_kill_self_ends_by_the_signal(fake: FakeClaude, named: str | int) -> None:
    """By its name or its number; the exit status is that of a process killed from outside."""
    number = signal.Signals[named] if isinstance(named, str) else named
    assert fake.play({"kill_self": named}, {"raw": "never"}).returncode == -number


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_grandchild_outlives_the_call(fake: FakeClaude) -> None:
    """It lives on in a session of its own, holds stdout if the step says so, and can be without the run's id."""
    fake.env["CLAUDE_ITERATE_RUN"] = "run-1"
    child = {"seconds": 300, "own_session": True, "hold_stdout": True, "pidfile": "pid"}
    fake.script([{"grandchild": child}], [{"grandchild": {"pidfile": "pid-2", "clear_environment": True}}])
    with fake.start() as process:
        assert process.stdout is not None
        assert process.wait(120) == 0
        pid = int((fake.workspace / "pid").read_text())
        try:
            assert os.getsid(pid) == pid
            assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/self/fd/{process.stdout.fileno()}")
            assert b"CLAUDE_ITERATE_RUN=run-1" in Path(f"/proc/{pid}/environ").read_bytes()
        finally:
            os.kill(pid, signal.SIGKILL)
        assert process.stdout.read() == b""
    fake.run("-p")
    unmarked = int((fake.workspace / "pid-2").read_text())
    try:
        assert Path(f"/proc/{unmarked}/environ").read_bytes() == b""
    finally:
        os.kill(unmarked, signal.SIGKILL)
