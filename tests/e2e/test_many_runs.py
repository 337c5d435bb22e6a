"""Several workspaces run from one command: one limit holds all back, one stop ends all, nothing is left."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from claude_iterate.selftest.harness.script_steps import usage_limit
from claude_iterate.workspace.layout import Layout
from tests.e2e.conftest import DONE, HANGING, PATIENT, UNDONE, Done, Loop, until


def workspaces(loop: Loop, scripts: dict[str, list[list[dict[str, Any]]]]) -> dict[str, Layout]:
    """Workspaces, each with a Claude of its own script."""
    found = {}
    for name, calls in scripts.items():
        folder = loop.root / "claude-iterate" / "workspaces" / name
        folder.mkdir(parents=True)
        (folder / "INSTRUCTIONS.md").write_text("- one\n")
        script = loop.folder / f"{name}.json"
        script.write_text(json.dumps({"calls": calls, "after": "repeat"}))
        env = {"CLAUDE_ITERATE_FAKE_SCRIPT": str(script), "CLAUDE_ITERATE_FAKE_STATE": str(loop.folder / f"of-{name}")}
        document = {"format": 3, "name": name, "mode": "loop", "config": {"claude": {"env": env}}}
        (folder / ".metadata.json").write_text(json.dumps(document))
        found[name] = Layout(loop.root, folder)
    return found


def entries(layout: Layout, kind: str) -> list[dict[str, Any]]:
    """The entries of one kind in the newest journal."""
    runs = layout.run_ids()
    if not runs or not layout.journal(runs[-1]).exists():
        return []
    lines = layout.journal(runs[-1]).read_bytes().split(b"\n")[:-1]
    return [entry for entry in map(json.loads, lines) if entry["event"]["event"] == kind]


def marked(loop: Loop) -> list[int]:
    """Living processes with the folder of this project in their environment, but those that the test started."""
    ours = {process.pid for process in loop.started}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            there = str(loop.home).encode() in (path / "environ").read_bytes()
            alive = (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (OSError, IndexError):
            continue
        if there and alive and int(path.name) not in ours:
            found.append(int(path.name))
    return found


def test_a_limit_that_one_meets_holds_the_others_back(loop: Loop) -> None:
    """Five runs: one meets a usage limit. The other four, which are in an iteration at that moment, make no call before
    the reset, and say whose limit it is; then all go on to their end."""
    loop.env["CLAUDE_ITERATE_LIMITS__RESET_MARGIN"] = "0"
    others = {name: [PATIENT, DONE] for name in ("two", "three", "four", "five")}
    first = [{"wait_for": "go"}, *usage_limit("You've hit your session limit", 25)]
    found = workspaces(loop, {"one": [first, DONE], **others})
    started = loop.start("run", *found)
    for name in others:
        until((found[name].folder / "ready").exists)
    (found["one"].folder / "go").touch()
    for name in others:
        until(functools.partial(entries, found[name], "HeldBack"))
        (found[name].folder / "go").touch()
    done = loop.finish(started)
    assert done.code == 0, done
    reset = entries(found["one"], "WaitStarted")[0]["event"]["until"]
    for name in others:
        calls = [entry["at"] for entry in entries(found[name], "AgentStarted")]
        held = entries(found[name], "WaitStarted")[0]["event"]
        assert calls[0] < reset <= calls[1]
        assert held["detail"].startswith("one met the usage limit")
    assert [line.split()[:2] for line in done.out.splitlines()[1:]] == [[name, "completed"] for name in found]
    assert done.out.count("completed (not proven)") == len(found)
    said = "one, two, three and 2 more work in one folder at the same time"
    assert done.err.index(said) < done.err.index("iteration 1"), "before they begin"


def test_a_completed_task_shares_no_folder(loop: Loop) -> None:
    """It is left as it is, so the other one works alone, and nobody is warned; with `--again` both work."""
    workspaces(loop, {"one": [DONE], "two": [UNDONE]})
    assert loop.call("run", "one").code == 0
    done = loop.call("run", "--all", "-m", "1")
    assert "one: was completed before (not proven)\n" in done.err
    assert "one   was completed before (not proven)" in done.out
    assert "in one folder" not in done.err
    assert "one, two work in one folder" in loop.call("run", "--all", "-m", "1", "--again").err


def test_where_the_end_of_a_limit_is_not_known_they_do_not_try_at_once(loop: Loop) -> None:
    """The one that met it tries first, so that one call finds out for all."""
    names = ("two", "three", "four")
    others = {name: [PATIENT] for name in names}
    found = workspaces(loop, {"one": [usage_limit("You've hit your session limit", None)], **others})
    process = loop.start("run", "one", *names, "--no-delay")
    for name in names:
        until(functools.partial(entries, found[name], "HeldBack"))
    (wait, *_) = entries(found["one"], "WaitStarted")
    held = [entries(found[name], "HeldBack")[0]["event"]["until"] for name in names]
    assert wait["event"]["until"] + 1 < min(held)
    process.send_signal(signal.SIGTERM)
    assert loop.finish(process).code == 143


def test_ctrl_c_lets_iterations_finish_and_the_second_ends_them(loop: Loop) -> None:
    """All runs stop in order, what waits for its turn never begins, and the exit code is that of Ctrl-C."""
    found = workspaces(loop, {"one": [PATIENT], "two": [HANGING], "three": [DONE]})
    started = loop.start("run", *found, "--parallel", "2", "-m", "7")
    until(lambda: all((found[name].folder / "ready").exists() for name in ("one", "two")))
    started.send_signal(signal.SIGINT)
    until(lambda: all(entries(found[name], "StopRequested") for name in ("one", "two")))
    (found["one"].folder / "go").touch()
    until(lambda: entries(found["one"], "RunFinished"))
    assert entries(found["two"], "RunFinished") == []
    started.send_signal(signal.SIGINT)
    done = loop.finish(started)
    assert done.code == 130
    assert [entries(found[name], "RunFinished")[0]["event"]["reason"] for name in ("one", "two")] == ["interrupted"] * 2
    assert found["three"].run_ids() == []
    assert re.search(r"^three +not started$", done.out, flags=re.MULTILINE)
    assert "It was not started.\n  claude-iterate run three --max-iterations 7\n" in done.err
    until(lambda: not marked(loop))


def test_no_process_survives_the_death_of_the_command(loop: Loop) -> None:
    """After `kill -9` of the command every run ends by itself and records it, and no process is left."""
    found = workspaces(loop, {name: [HANGING] for name in ("one", "two", "three")})
    started = loop.start("run", *found, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: all((layout.folder / "ready").exists() for layout in found.values()))
    os.kill(started.pid, signal.SIGKILL)
    loop.finish(started)
    until(lambda: not marked(loop))
    assert {entries(layout, "RunFinished")[0]["event"]["reason"] for layout in found.values()} == {"terminated"}


def test_a_damaged_workspace_does_not_stop_the_others(loop: Loop) -> None:
    """It is named with its next step, the rest runs, and the exit code is 1; a completed task is left alone."""
    found = workspaces(loop, {"bad": [DONE], "good": [DONE]})
    (found["bad"].folder / ".metadata.json").write_text("{")
    done = loop.call("run", "--all", "--json")
    document = json.loads(done.out)
    assert (done.code, document["exitCode"]) == (1, 1)
    assert [(run["workspace"], run["reason"]) for run in document["runs"]] == [("good", "completed")]
    assert [(one["workspace"], "init bad --force" in one["hint"]) for one in document["refused"]] == [("bad", True)]
    again = loop.call("run", "good", "bad")
    assert len(found["good"].run_ids()) == 1
    assert "was completed before" in again.out


def test_bad_words_start_nothing(loop: Loop) -> None:
    """A wrong name, a name twice, names beside --all, attended mode: refused before anything begins."""
    found = workspaces(loop, {"one": [DONE], "two": [DONE]})
    for words in (("one", "zwei"), ("one", "one"), ("one", "--all"), ("one", "two", "--attended")):
        done = loop.call("run", *words)
        assert (done.code in {1, 2}, done.out) == (True, ""), words
        assert "Error: " in done.err
    assert all(layout.run_ids() == [] for layout in found.values())


def test_quiet_tells_of_what_failed_only(loop: Loop) -> None:
    """Like `--quiet` of one run: not a byte when all ended well, the table when one did not."""
    workspaces(loop, {"a": [DONE], "b": [UNDONE]})
    assert loop.call("run", "a", "b", "-m", "1", "-q") == Done(0, "", "")
    workspaces(loop, {"c": [[{"init": {}}, {"status": {"blocked": "which?", "complete": False}}, {"result": {}}]]})
    done = loop.call("run", "b", "c", "-m", "1", "-q")
    assert (done.code, "blocked" in done.out) == (1, True)
