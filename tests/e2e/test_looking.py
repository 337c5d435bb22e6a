"""What a person sees and what is kept: levels, the log, status updates, secrets."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until
from tests.e2e.terminal import Open

FIXTURES = Path(__file__).parents[1] / "fixtures"
WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def test_verbose_shows_tools_as_they_happen(loop: Loop) -> None:
    """While Claude still runs, its words and tools are on the screen."""
    loop.make()
    tool = {"tool": {"name": "Read", "input": {"file_path": "/x"}, "result": "1\tno error here\n"}}
    loop.script([{"init": {}}, {"say": "hello there"}, tool, {"wait_for": "go"}, *WORK[1:]])
    process = loop.start("run", "my-task", "--output", "verbose")
    assert process.stderr is not None
    seen = ""
    while "✓ File read successfully" not in seen:
        seen += process.stderr.readline().decode()
    assert "hello there" in seen
    assert "🔧 Read tool" in seen
    assert "❌" not in seen
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


def test_a_live_run_is_read_from_another_terminal(loop: Loop) -> None:
    """`show`, `list` and `history` say what Claude does at this moment; afterwards they tell of a run that is over."""
    loop.make()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    tool = json.dumps({"type": "assistant", "message": {"content": [call]}})
    loop.script([{"init": {}}, {"raw": tool + "\n"}, {"wait_for": "go"}, *WORK[1:]])
    process = loop.start("run", "my-task")
    until(lambda: loop.events("ToolCalled"))
    shown = loop.call("show", "my-task").out
    assert re.search(r"^Now: iteration 1, Bash pytest -q for \d+s, last sign of life \d+s ago$", shown, re.MULTILINE)
    assert "\nThis run: " in shown
    assert re.search(r"^my-task +running +\d+ +loop", loop.call("list").out, re.MULTILINE)
    (run,) = json.loads(loop.call("history", "my-task", "--json").out)["runs"]
    assert run["iterations"][0]["tools"] == 1
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    shown = loop.call("show", "my-task").out
    assert ("Now:" in shown, "\nLast run: " in shown) == (False, True)


def test_a_recording_of_every_tool_is_shown_whole(loop: Loop) -> None:
    """Every text and tool of the recording is on the screen, from the real pipeline."""
    loop.make()
    loop.script([{"fixture": str(FIXTURES / "claude-2.1.327" / "a4-all-tools.ndjson")}, {"status": {"complete": True}}])
    shown = loop.run("--output", "verbose").err
    for name in ("Read", "Edit", "Write", "Bash", "TaskCreate"):
        assert f"🔧 {name} tool" in shown
    assert "❌ Edit failed: String not found in file" in shown


def test_the_log_has_the_documented_structure(loop: Loop) -> None:
    """Static parts once, a section per iteration, the reason at the end; the name tells the time."""
    loop.make("- one\n- two\n")
    loop.run()
    log = loop.log()
    assert all(re.fullmatch(r"iterate-\d{8}-\d{6}(-\d+)?\.log", path.name) for path in loop.workspace.glob("*.log"))
    titles = re.findall(r"^={80}\n(.+)\n", log, re.MULTILINE)
    for title in ("CLAUDE ITERATE - EXECUTION LOG", "RUN METADATA", "INSTRUCTIONS", "SYSTEM PROMPT"):
        assert titles.count(title) == 1
    assert [title for title in titles if title.startswith("ITERATION ")] == ["ITERATION 1", "ITERATION 2"]
    assert log.count("STATUS: success") == 2
    assert "Remaining: 1" in log
    assert "Reason: completed" in log


def test_the_log_of_a_flood_has_every_line_once_in_order(loop: Loop) -> None:
    """Twenty thousand events: nothing lost, nothing twice, nothing exchanged; and the raw file is the stream."""
    loop.make()
    lines = [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": f"line {n:06d}"}]}}
        for n in range(20_000)
    ]
    stream = loop.folder / "stream.ndjson"
    stream.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loop.script([{"fixture": str(stream)}, *WORK[1:]])
    assert loop.run().code == 0
    assert re.findall(r"^line (\d{6})$", loop.log(), re.MULTILINE) == [f"{n:06d}" for n in range(20_000)]
    numbers = [entry["seq"] for entry in loop.journal()]
    assert numbers == list(range(1, len(numbers) + 1))
    (raw,) = loop.workspace.glob("runs/*/raw/0001.ndjson")
    assert raw.read_bytes().startswith(stream.read_bytes())


@pytest.mark.parametrize("in_place", [True, False])
def test_status_changes_are_told_while_claude_works(loop: Loop, in_place: bool) -> None:
    """A first write, further ones in place or by replacement: each is told with its delta, once it is quiet."""
    loop.make()
    loop.env["CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"] = "500"

    def report(done: int) -> dict[str, Any]:
        text = json.dumps({"complete": False, "progress": {"completed": done, "total": 9}, "lastUpdated": str(done)})
        return {"write": {"path": ".status.json", "text": text, "in_place": in_place}}

    loop.script([{"init": {}}, report(2), {"wait_for": "one"}, report(5), {"wait_for": "two"}, *WORK[1:]])
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("StatusChanged")) == 1)
    (loop.workspace / "one").touch()
    until(lambda: len(loop.events("StatusChanged")) == 2)
    (loop.workspace / "two").touch()
    done = loop.finish(process)
    assert [line.strip() for line in done.lines if "↳" in line] == [
        "↳ 2/9 items (+2)",
        "↳ 5/9 items (+3)",
        "↳ ✅ Complete!",
    ]


def test_a_burst_of_changes_is_one_update(loop: Loop) -> None:
    """Only the state after the quiet is told; and the last change before the end is never lost."""
    loop.make()
    loop.env["CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"] = "10000"
    writes = [{"status": {"complete": False, "progress": {"completed": n, "total": 9}}} for n in range(8)]
    loop.script([{"init": {}}, *writes, {"result": {}}])
    loop.run("-m", "1")
    assert [event["status"]["completed"] for event in loop.events("StatusChanged")] == [7]


def test_secrets_do_not_reach_log_or_journal(loop: Loop) -> None:
    """Values of secret-looking variables and known shapes are masked; the raw stream keeps what was printed."""
    loop.make()
    loop.env["DEPLOY_TOKEN"] = "hunter2-hunter2"
    said = "the token is hunter2-hunter2 and ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    loop.script([{"init": {}}, {"say": said}, {"stderr": said + "\n"}, *WORK[1:]])
    loop.run()
    kept = loop.log() + json.dumps(loop.journal())
    assert "hunter2" not in kept
    assert "ghp_" not in kept
    assert "[redacted]" in kept


def test_a_variable_that_holds_a_word_of_ours_changes_nothing(loop: Loop) -> None:
    """The name of its variable speaks of secrets; the run means the same all the same."""
    loop.make()
    loop.env |= {"AUTH_STATE": "completed", "OAUTH_FLOW": "loop-loop", "MY_KEY": "my-task-"}
    loop.script(WORK)
    done = loop.run()
    assert (done.code, done.err.count("redacted")) == (0, 0)
    assert [event["reason"] for event in loop.events("RunFinished")] == ["completed"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("broken", [("stdout",), ("stderr",), ("stdout", "stderr")])
@pytest.mark.parametrize("how", ["full", "gone"])
def test_a_broken_console_does_not_change_the_end_of_a_run(loop: Loop, broken: tuple[str, ...], how: str) -> None:
    """Nobody can read what is said, on a full disk or at the end of a pipe: the exit code is that of the run."""
    loop.make()
    loop.script(WORK)
    if how == "full":
        place = os.open("/dev/full", os.O_WRONLY)
    else:
        gone, place = os.pipe()
        os.close(gone)
    done = loop.start("run", "my-task", **dict.fromkeys(broken, place))
    os.close(place)
    said = [pipe.read().decode() for pipe in (done.stdout, done.stderr) if pipe is not None]
    assert done.wait() == 0
    assert not any("Error" in text for text in said)
    assert [event["reason"] for event in loop.events("RunFinished")] == ["completed"]


def test_a_full_disk_costs_a_warning_not_the_run(loop: Loop) -> None:
    """Log and journal cannot grow any more: one warning each, one for what is lost, and the task is completed."""
    loop.make()
    loop.script([{"init": {}}, {"flood": {"stream": "stderr", "lines": 3000, "bytes": 100}}, *WORK[1:]])

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = loop.run(preexec_fn=small_files)
    assert done.code == 0
    assert "nothing has proven it" in done.out
    warnings = [line for line in done.lines if line.startswith("⚠")]
    assert len(warnings) == len(set(warnings)) <= 4
    assert "of the journal are lost" in warnings[-1]


def test_an_unwatchable_workspace_is_still_read(loop: Loop) -> None:
    """With watching off the report is read at the end of the iteration."""
    loop.make()
    loop.env["CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__ENABLED"] = "false"
    loop.script(WORK)
    assert "nothing has proven it (after 1 iteration)" in loop.run().out


def test_denied_tools_end_the_run_with_the_rule_to_add(loop: Loop) -> None:
    """Claude was twice not allowed to write its report: the message has the command that allows it."""
    loop.make()
    loop.script([{"fixture": str(FIXTURES / "claude-2.1.327" / "e1-permission-denied-default.ndjson")}])
    done = loop.run("--detailed-exit-code")
    assert done.code == 6
    assert "claude-iterate config -w my-task claude.allowed_tools --add " in done.err


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("claude-2.1.197/d57-not-logged-in", 6, "claude setup-token"),
        ("claude-2.1.197/d13-400-credit-balance", 6, "Credit balance is too low"),
        ("claude-2.1.197/d10-404-model", 6, "claude.model"),
        ("claude-2.1.197/d52-oauth-429-usage-limit", 7, "resets 1:44am (UTC)"),
        ("claude-2.1.327/d52-oauth-429-usage-limit", 7, "resets 6:55pm (UTC)"),
    ],
)
def test_a_failure_ends_the_run_with_claudes_words_and_what_to_do(loop: Loop, name: str, code: int, words: str) -> None:
    """One call is enough to know; the reason has its own exit code."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__ON_USAGE_LIMIT"] = "stop"
    loop.script([{"fixture": str(FIXTURES / f"{name}.ndjson")}, {"exit": 1}])
    done = loop.run("--detailed-exit-code")
    assert (done.code, words in done.err) == (code, True)
    assert len(loop.events("IterationFinished")) == 1


def test_a_name_left_out_is_asked_for(loop: Loop, terminal: Open) -> None:
    """On a terminal the only workspace is taken, and said; of several one is picked, by number or name. A script, where
    it may be an empty variable, gets an error with the names."""
    loop.make()
    first = terminal("show")
    assert first.finish() == 0
    first.await_text("my-task is the only workspace here.")
    first.await_text("my-task  (loop mode)")
    for words in (("clean", "--force", "--no-archive"), ("archive", "save", "--force")):  # what deletes has to be named
        screen = terminal(*words)
        screen.await_text("Missing argument 'NAME'")
        assert (screen.finish(), loop.layout.instructions.exists()) == (2, True)
    assert loop.call("init", "other").code == 0
    screen = terminal("show")
    screen.await_text("Which workspace?")
    screen.await_text("2  other")
    screen.type("3\n")
    screen.await_text("'3' is neither a number of the list nor a name.")
    screen.type("2\n")
    screen.await_text("other  (loop mode)")
    assert screen.finish() == 0
    refused = loop.call("show")
    assert (refused.code, "Missing argument 'NAME'" in refused.err) == (2, True)
    assert "Workspaces here: my-task, other" in refused.err
