"""What a person sees and what is kept: levels, the log, status updates, the morning report."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.selftest.harness.script_steps import finish, proceed
from claude_iterate.system.processes import LINUX
from tests.e2e.conftest import DONE, Loop, until
from tests.e2e.terminal import Open

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_verbose_shows_tools_as_they_happen(loop: Loop) -> None:
    """While Claude still runs, its words and tools are on the screen."""
    loop.make()
    tool = {"tool": {"name": "Read", "input": {"file_path": "/x"}, "result": "1\tno error here\n"}}
    loop.script([{"init": {}}, {"say": "hello there"}, tool, {"wait_for": "go"}, *DONE[1:]])
    process = loop.start("run", "my-task", "--output", "verbose")
    assert process.stderr is not None
    seen = ""
    while "✓ File read successfully" not in seen:
        seen += process.stderr.readline().decode()
    assert "hello there" in seen
    assert "🔧 Read tool" in seen
    assert "❌" not in seen
    loop.go()
    assert loop.finish(process).code == 0


def test_a_live_run_is_read_from_another_terminal(loop: Loop) -> None:
    """`show`, `list` and `history` say what Claude does at this moment; afterwards they tell of a run that is over."""
    loop.make()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    tool = json.dumps({"type": "assistant", "message": {"content": [call]}})
    loop.script([{"init": {}}, {"raw": tool + "\n"}, {"wait_for": "go"}, *DONE[1:]])
    process = loop.start("run", "my-task")
    until(lambda: loop.events("ToolCalled"))
    shown = loop.call("show", "my-task").out
    assert re.search(r"^Now: iteration 1, Bash pytest -q for \d+s, last sign of life \d+s ago$", shown, re.MULTILINE)
    assert "\nThis run: " in shown
    assert re.search(r"^my-task +running +\d+ +loop", loop.call("list").out, re.MULTILINE)
    (run,) = loop.document("history", "my-task")["runs"]
    assert run["iterations"][0]["tools"] == 1
    loop.go()
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
    loop.script([{"fixture": str(stream)}, *DONE[1:]])
    assert loop.run().code == 0
    assert re.findall(r"^line (\d{6})$", loop.log(), re.MULTILINE) == [f"{n:06d}" for n in range(20_000)]
    numbers = [entry["seq"] for entry in loop.journal()]
    assert numbers == list(range(1, len(numbers) + 1))
    (raw,) = loop.workspace.glob("runs/*/raw/0001.ndjson")
    assert raw.read_bytes().startswith(stream.read_bytes())


def test_secrets_reach_neither_screen_nor_log_nor_journal(loop: Loop) -> None:
    """Whether they are known by their form, by the name of their variable or by their setting, and whoever prints them;
    the raw output keeps what was printed."""
    loop.make()
    loop.env["DEPLOY_TOKEN"] = "hunter2-hunter2"
    loop.set(claude__env={"MY_TOKEN": "swordfish-swordfish"}, notify__secret="open-sesame-sesame")
    loop.checks("echo open-sesame-sesame; exit 1")
    said = "the words are hunter2-hunter2, swordfish-swordfish and ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    loop.script([{"init": {}}, {"say": said}, {"stderr": said + "\n"}, *DONE[1:]])
    done = loop.run("-v")
    kept = done.out + done.err + loop.log() + json.dumps(loop.journal())
    assert [word for word in ("hunter2", "swordfish", "sesame", "ghp_") if word in kept] == []
    assert "[redacted]" in loop.log()


@pytest.mark.parametrize("in_place", [True, False])
def test_changes_of_the_status_are_shown_while_claude_works(loop: Loop, in_place: bool) -> None:
    """A first write and later ones, in place or by replacement: each is shown with its difference, once it is quiet."""
    loop.make()
    loop.set(notification__status_watch__debounce_ms=500)

    def report(done: int) -> dict[str, Any]:
        text = json.dumps({"complete": False, "progress": {"completed": done, "total": 9}, "lastUpdated": str(done)})
        return {"write": {"path": ".status.json", "text": text, "in_place": in_place}}

    loop.script([{"init": {}}, report(2), {"wait_for": "one"}, report(5), {"wait_for": "two"}, *DONE[1:]])
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("StatusChanged")) == 1)
    (loop.workspace / "one").touch()
    until(lambda: len(loop.events("StatusChanged")) == 2)
    (loop.workspace / "two").touch()
    done = loop.finish(process)
    shown = [line.partition("↳")[2].strip() for line in done.err.splitlines() if "↳" in line]
    assert shown == ["2/9 items (+2)", "5/9 items (+3)", "✅ Complete!"]


def test_a_variable_that_holds_a_word_of_ours_changes_nothing(loop: Loop) -> None:
    """The name of its variable speaks of secrets; the run means the same all the same."""
    loop.make()
    loop.env |= {"AUTH_STATE": "completed", "OAUTH_FLOW": "loop-loop", "MY_KEY": "my-task-"}
    loop.script(DONE)
    done = loop.run()
    assert (done.code, done.err.count("redacted")) == (0, 0)
    assert [event["reason"] for event in loop.events("RunFinished")] == ["completed"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("broken", "how"), [(("stdout",), "full"), (("stderr",), "gone"), (("stdout", "stderr"), "gone")]
)
def test_a_broken_console_does_not_change_the_end_of_a_run(loop: Loop, broken: tuple[str, ...], how: str) -> None:
    """Nobody can read what is said, on a full disk or at the end of a pipe: the exit code is that of the run."""
    loop.make()
    loop.script(DONE)
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


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("claude-2.1.197/d57-not-logged-in", 6, "claude setup-token"),
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
    screen.await_text("'3' is not one of")
    screen.type("2\n")
    screen.await_text("other  (loop mode)")
    assert screen.finish() == 0
    refused = loop.call("show")
    assert (refused.code, "Missing argument 'NAME'" in refused.err) == (2, True)
    assert "Workspaces here: my-task, other" in refused.err


FIRST = "printf 'a\\nb\\n' > one; printf '\\0' > picture; echo x > x.tmp"
SECOND = "printf 'a\\nc\\nd\\n' > one; rm old"


@pytest.mark.needs_git
@pytest.mark.parametrize("in_git", [True, False])
def test_files_and_lines_of_each_iteration_and_of_the_run(loop: Loop, in_git: bool) -> None:
    """By the snapshots in the repository, or in the store of a project without one. Our own files and ignored ones do
    not count. Where a snapshot is gone, the report says that it is not known."""
    loop.make()
    (loop.root / "old").write_text("1\n2\n3\n")
    if in_git:
        loop.git("init", "-q")
    loop.env["CLAUDE_ITERATE_PROGRESS__IGNORE"] = "*.tmp"
    loop.script(proceed({"shell": FIRST}), finish({"shell": SECOND}))
    assert loop.run("--no-delay").code == 0
    report = loop.document("report", "my-task")
    sums = [(stat["changed"], stat["added"], stat["removed"]) for stat in report["diffstats"]]
    assert sums == [(2, 2, 0), (2, 2, 4)]
    files = {file["path"]: (file["added"], file["removed"]) for file in report["diffstat"]["files"]}
    assert files == {"old": (0, 3), "one": (3, 0), "picture": (None, None)}
    page = loop.call("report", "my-task", "-o", "-").out
    assert "3 files, +3 -3 lines" in page
    history = loop.document("history", "my-task")
    rows = history["runs"][-1]["iterations"]
    assert report["iterations"] == rows
    assert rows[0]["treeAfter"] == rows[1]["treeBefore"] != ""
    kept = loop.root / (".git" if in_git else "claude-iterate/snapshots.git")
    kept.rename(loop.root / "elsewhere")
    lost = loop.document("report", "my-task")
    assert (lost["diffstat"], lost["diffstats"]) == (None, [None, None])
    assert "Not known: there is no snapshot" in loop.call("report", "my-task", "-o", "-").out


DEBOUNCE = "CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"


def is_watching(pid: int) -> bool:
    """True when the system tells the process of changes in a folder. Only Linux shows it."""
    for handle in Path(f"/proc/{pid}/fd").iterdir() if LINUX else ():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            if os.readlink(handle) == "anon_inode:inotify":
                return True
    return not LINUX


def test_a_report_is_noticed_in_mid_call(loop: Loop) -> None:
    """Each of two reports is an event before the call ends, and the watcher is there before the first."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    first, second = ({"status": {"complete": False, "summary": text}} for text in ("first", "second"))
    go, end = (loop.folder / name for name in ("go", "end"))
    begin = loop.folder / "begin"
    reporting: list[dict[str, Any]] = [
        {"wait_for": str(begin)},
        first,
        {"wait_for": str(go)},
        second,
        {"wait_for": str(end)},
    ]
    loop.script([{"init": {}}, *reporting, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "1")
    until(lambda: is_watching(process.pid))
    begin.touch()
    until(lambda: len(loop.events("StatusChanged")) == 1)
    go.touch()
    until(lambda: len(loop.events("StatusChanged")) == 2)
    assert loop.events("AgentExited") == []
    end.touch()
    assert loop.finish(process).code == 0
    assert [event["status"]["summary"] for event in loop.events("StatusChanged")] == ["first", "second"]


def test_a_report_is_noticed_in_a_workspace_that_was_made_again(loop: Loop) -> None:
    """Claude deleted the folder that was watched."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    end = str(loop.folder / "end")
    sweep: list[dict[str, Any]] = [{"init": {}}, {"shell": "rm -rf $WORKSPACE"}, {"result": {}}]
    loop.script(sweep, [{"init": {}}, {"status": {"complete": True}}, {"wait_for": end}, {"result": {}}])
    process = loop.start("run", "my-task", "--no-delay")
    until(lambda: bool(loop.workspace.exists() and loop.events("StatusChanged")))
    assert len(loop.events("AgentExited")) == 1
    (loop.folder / "end").touch()
    assert loop.finish(process).code == 0
