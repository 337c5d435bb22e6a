"""The fake's fault scripts: which act a call plays, what each verb does, and what is recorded."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
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


def test_asking_for_the_version_is_not_a_call(fake: FakeClaude) -> None:
    """A start-up check does not use up an act."""
    fake.script([{"raw": "one"}], [{"raw": "two"}])
    fake.run("--version")
    assert fake.run("-p").stdout == b"one"


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


def test_printing_verbs(fake: FakeClaude) -> None:
    """say, event, tool, init and result print events; a result with an error gives exit code 1."""
    done = fake.play(
        {"init": {"model": "m"}},
        {"say": "hello"},
        {"tool": {"name": "Bash", "input": {"command": "ls"}, "result": "Exit code 1", "is_error": True}},
        {"event": {"type": "surprise"}},
        {"result": {"subtype": "error_max_turns", "is_error": True}},
    )
    init, said, call, answer, surprise, result = printed(done)
    assert init["model"] == "m"
    assert said["message"]["content"] == [{"type": "text", "text": "hello"}]
    assert call["message"]["content"][0]["input"] == {"command": "ls"}
    assert answer["message"]["content"][0]["tool_use_id"] == call["message"]["content"][0]["id"]
    assert answer["tool_use_result"] == "Error: Exit code 1"
    assert surprise == {"type": "surprise"}
    assert result["subtype"] == "error_max_turns"
    assert done.returncode == 1


def test_a_used_up_window_opens_in_so_many_seconds(fake: FakeClaude) -> None:
    """rejected: the moment counts from the call, not from when the script was written."""
    before = time.time()
    (event,) = printed(fake.play({"rejected": {"window": "five_hour", "seconds": 100}}))
    assert event["type"] == "rate_limit_event"
    assert (event["rate_limit_info"]["status"], event["rate_limit_info"]["rateLimitType"]) == ("rejected", "five_hour")
    assert before + 99 <= event["rate_limit_info"]["resetsAt"] <= time.time() + 101


def test_bytes_are_printed_as_they_are(fake: FakeClaude) -> None:
    """raw, raw_base64 and fixture: not one byte is changed or added."""
    fake.script(
        [{"raw": "torn {"}, {"raw_base64": base64.b64encode(b"\xff\x00").decode()}, {"fixture": str(RECORDING)}]
    )
    assert fake.run("-p").stdout == b"torn {\xff\x00" + RECORDING.read_bytes()


def test_a_command_of_the_agent_is_run_to_its_end(fake: FakeClaude) -> None:
    """In the project, with the workspace at hand; one that fails is a mistake in the script."""
    fake.play({"shell": "echo one > $WORKSPACE/a && pwd > $WORKSPACE/b"})
    assert (fake.workspace / "a").read_text() == "one\n"
    assert (fake.workspace / "b").read_text() == f"{fake.folder}\n"
    assert b"exit code 3: bad" in fake.play({"shell": "echo bad >&2; exit 3"}).stderr


def test_file_verbs(fake: FakeClaude) -> None:
    """status, write, append, remove and touch change files of the workspace; in_place keeps the inode."""
    path = fake.workspace / "a.txt"
    path.write_text("old")
    before = path.stat().st_ino
    fake.play(
        {"status": {"complete": True}},
        {"write": {"path": "a.txt", "text": "new", "in_place": True}},
        {"append": {"path": "a.txt", "text": "er"}},
        {"write": {"path": "deep/b.bin", "base64": "/wA="}},
        {"touch": "c"},
        {"touch": "d"},
        {"remove": "d"},
    )
    assert fake.status() == {"complete": True}
    assert path.read_text() == "newer"
    assert path.stat().st_ino == before
    assert (fake.workspace / "deep" / "b.bin").read_bytes() == b"\xff\x00"
    assert (fake.workspace / "c").exists()
    assert not (fake.workspace / "d").exists()


def test_noise_verbs(fake: FakeClaude) -> None:
    """flood and long_line give exactly the promised number of lines and bytes."""
    done = fake.play(
        {"flood": {"stream": "stdout", "lines": 5000, "bytes": 99}},
        {"flood": {"stream": "stderr", "lines": 3, "bytes": 100_000}},
        {"stderr": "end"},
        {"long_line": 2_000_000},
    )
    *flood, last = done.stdout.splitlines()
    assert len(flood) == 5000
    assert set(flood) == {b"x" * 99}
    assert len(json.loads(last)["message"]["content"][0]["text"]) == 2_000_000
    assert done.stderr == (b"x" * 100_000 + b"\n") * 3 + b"end"


def test_handshake_and_ignored_signals(fake: FakeClaude) -> None:
    """wait_for holds the call until the file is there; an ignored SIGTERM and SIGINT do not end it."""
    go = fake.folder / "go"
    fake.script([{"ignore": ["SIGTERM", "SIGINT"]}, {"init": {}}, {"wait_for": str(go)}, {"raw": "went"}])
    with fake.start() as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        go.touch()
        assert process.stdout.read() == b"went"
    assert process.returncode == 0


def test_kill_self_ends_by_the_signal(fake: FakeClaude) -> None:
    """The exit status is that of a process killed from outside."""
    assert fake.play({"kill_self": "SIGKILL"}, {"raw": "never"}).returncode == -signal.SIGKILL


def test_close_stdout_ends_the_output_and_not_the_call(fake: FakeClaude) -> None:
    """The reader sees end-of-file while the process goes on and gives its exit code."""
    done = fake.play({"raw": "a"}, {"close_stdout": True}, {"raw": "b"}, {"touch": "later"}, {"exit": 5})
    assert (done.returncode, done.stdout) == (5, b"a")
    assert (fake.workspace / "later").exists()


def test_work_is_a_step_like_any_other(fake: FakeClaude) -> None:
    """A whole ordinary call, then a fault after its result."""
    done = fake.play({"work": True}, {"raw": "junk\n"}, {"exit": 4})
    *events, junk = done.stdout.splitlines()
    assert json.loads(events[-1])["type"] == "result"
    assert (junk, done.returncode) == (b"junk", 4)
    assert fake.status()["progress"]["completed"] == 1


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


def test_a_reader_that_goes_away_does_not_stop_it(fake: FakeClaude) -> None:
    """Like the real one it goes on when its stdout is closed at the other end."""
    fake.script([{"init": {}}, {"wait_for": "closed"}, {"say": "x"}, {"work": True}])
    process = fake.start()
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    (fake.workspace / "closed").touch()
    assert process.wait(120) == 0
    assert fake.status()["progress"]["completed"] == 1
