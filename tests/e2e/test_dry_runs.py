"""A dry run leaves no trace in the truth: neither in the files of the workspace nor in what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until

DONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {"total_cost_usd": 0.5}}]
UNDONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.25}}]
HANGS: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"touch": "ready"}, {"hang": True}]


def files(loop: Loop) -> dict[str, bytes]:
    """Every file of the workspace but the records of runs, which are told apart."""
    paths = [path for path in loop.workspace.rglob("*") if path.is_file()]
    names = {str(path.relative_to(loop.workspace)): path for path in paths}
    return {
        name: path.read_bytes()
        for name, path in names.items()
        if not name.startswith("runs/") and not name.endswith(".log") and name != ".lock"
    }


def told(loop: Loop) -> list[Any]:
    """What `list`, `show` and `history` say, as documents; the line of the dry run is left out."""
    looks = [["list"], ["show", "my-task"], ["history", "my-task", "--all"]]
    listed, shown, history = (loop.document(*words) for words in looks)
    shown.pop("lastDryRun")
    shown.pop("log")
    real = [run for run in history["runs"] if not run["dryRun"]]
    return [listed, shown, history["total"], real]


def copy_of(loop: Loop) -> Path:
    """Where the newest run, a dry run, works."""
    return loop.layout.dry_run_copy(loop.layout.run_ids()[-1])


@pytest.mark.parametrize("before", ["new", "completed"])
def test_every_dry_run_leaves_the_workspace_as_it_was(loop: Loop, before: str) -> None:
    """A task that never ran and one that is done: run, verify, validate, setup and edit change no file
    and nothing that is told, though a report, a note, a backup and scratch files are there."""
    loop.make("- [ ] a\n- [ ] b\n")
    loop.checks("true")
    if before != "new":
        loop.script(DONE)
        loop.run("-m", "1")
        del loop.env["CLAUDE_ITERATE_FAKE_SCRIPT"]
    for name in ("TODO.md", "verification-report.md", "validation-report.md", "INSTRUCTIONS.md.bak", "working/mine"):
        (loop.workspace / name).parent.mkdir(exist_ok=True)
        (loop.workspace / name).write_text(f"my own {name}\n")
    assert loop.call("note", "my-task", "use tabs").code == 0
    kept, said = files(loop), told(loop)
    for words in (
        ["run", "my-task", "--dry-run", "--verify", "-q"],
        ["run", "my-task", "--dry-run", "-m", "1", "-q"],
        ["verify", "my-task", "--dry-run", "-q", "--report-path", str(loop.folder / "made" / "report.md")],
        ["validate", "my-task", "--dry-run", "-q"],
        ["edit", "my-task", "--goal", "and c", "--dry-run"],
        ["setup", "my-task", "--goal", "another task", "--dry-run", "--force"],
    ):
        done = loop.call(*words)
        assert done.code == 0, done
        assert files(loop) == kept, words
    assert told(loop) == said
    assert not (loop.folder / "made").exists()


def test_a_dry_run_is_a_line_of_its_own(loop: Loop) -> None:
    """`show`, `history` and `logs --list` mark it."""
    loop.make()
    assert loop.run("--dry-run").code == 0
    run = loop.layout.run_ids()[-1]
    shown = loop.call("show", "my-task").out
    assert f"Last dry run: {run}, began " in shown
    assert ("Status: new\n" in shown, "Last run: never\n" in shown) == (True, True)
    assert "run, dry run" in loop.call("logs", "my-task", "--list").out
    assert "dry run" in loop.call("history", "my-task").out
    assert loop.run().code == 0
    assert "Last dry run" not in loop.call("show", "my-task").out


def test_killed_with_signal_9_it_leaves_nothing_to_put_back(loop: Loop) -> None:
    """Right after the kill the files are as before, with what `list` and `show` say; the next real run begins at 1."""
    loop.make()
    (loop.workspace / "TODO.md").write_text("my notes\n")
    kept, said = files(loop), told(loop)
    loop.script(HANGS, UNDONE)
    process = loop.start("run", "my-task", "--dry-run")
    until(lambda: loop.layout.run_ids() and (copy_of(loop) / "ready").exists())
    assert json.loads((copy_of(loop) / ".status.json").read_text())["complete"] is True
    loop.kill(process)
    assert files(loop) == kept
    assert told(loop) == said
    assert "cut off" in loop.call("show", "my-task").out
    assert "its last run was killed" not in loop.call("doctor").out
    assert loop.run("-m", "1").code == 0
    started = loop.events("RunStarted")[-1]
    assert ("resumed" in started, loop.events("IterationStarted")[-1]["number"]) == (False, 1)


def test_a_killed_real_run_goes_on_after_a_dry_run(loop: Loop) -> None:
    """The dry run begins at 1 and takes nothing from it; meanwhile `list` still says that it was interrupted."""
    loop.make()
    hangs: list[dict[str, Any]] = [{"init": {}}, {"touch": str(loop.folder / "ready")}, {"hang": True}]
    loop.script(UNDONE, hangs, hangs, DONE)
    process = loop.start("run", "my-task")
    until((loop.folder / "ready").exists)
    loop.kill(process)
    (loop.folder / "ready").unlink()
    tried = loop.start("run", "my-task", "--dry-run")
    until((loop.folder / "ready").exists)
    row = loop.document("list")["workspaces"][0]
    shown = loop.call("show", "my-task").out
    assert (row["status"], row["iterations"]) == ("interrupted", 1)
    assert ("Now (dry run): iteration 1" in shown, "Status: killed" in shown) == (True, True)
    loop.kill(tried)
    assert loop.run().code == 0
    first, dry, last = loop.events("RunStarted")
    assert ("resumed" in dry, last["resumed"]["run"]) == (False, first["run"])
    assert [event["number"] for event in loop.events("IterationStarted")] == [1, 2, 1, 2]
    assert loop.document("show", "my-task")["counters"]["costUsd"] == 0.75


def test_a_reset_is_not_undone(loop: Loop) -> None:
    """The report that it set aside does not come back with the next real run, whatever dry runs there were."""
    loop.make()
    claim = json.dumps({"complete": True, "summary": "old claim"})
    (loop.workspace / ".status.json").write_text(claim)
    loop.call("verify", "my-task", "--dry-run", "-q")
    assert loop.call("reset", "my-task").code == 0
    loop.run("--dry-run", "-m", "1", "-q")
    loop.script([{"init": {}}, {"result": {}}])
    loop.run("-m", "1")
    assert not (loop.workspace / ".status.json").exists()
    assert (loop.workspace / ".status.json.bak").read_text() == claim


def test_notes_are_shown_once_and_not_used_up(loop: Loop) -> None:
    """In the prompt of the first iteration, a new one in that of the next; the real run gets both."""
    loop.make("- a\n- b\n- c\n")
    assert loop.call("note", "my-task", "use tabs").code == 0
    loop.script([*UNDONE[:2], {"touch": "ready"}, {"wait_for": str(loop.folder / "go")}, *UNDONE[2:]], UNDONE, UNDONE)
    process = loop.start("run", "my-task", "--dry-run", "-m", "3")
    until(lambda: loop.layout.run_ids() and (copy_of(loop) / "ready").exists())
    assert loop.call("note", "my-task", "no spaces").code == 0
    (loop.folder / "go").touch()
    assert loop.finish(process).code == 0
    assert [event.get("notes", 0) for event in loop.events("IterationStarted")] == [1, 1, 0]
    assert len(list((loop.workspace / "notes").glob("*.md"))) == 2
    assert loop.run("-m", "2").code == 0
    assert [event.get("notes", 0) for event in loop.events("IterationStarted")[3:]] == [2, 0]


def test_checks_are_not_run(loop: Loop) -> None:
    """The stand-in does no work that they could look at. The dry run says so and is no failure."""
    loop.make()
    loop.checks("touch ran; false")
    done = loop.run("--dry-run", "--json", "--detailed-exit-code")
    assert (done.code, json.loads(done.out)["reason"], (loop.root / "ran").exists()) == (0, "completed", False)
    assert "⚠ This is a dry run: checks are not run." in done.err
    assert "✓ Dry run finished after 2 iterations: checks were not run, no work was done" in done.err
    assert loop.call("verify", "my-task", "--dry-run").code == 0
    assert not (loop.root / "ran").exists()


def test_a_verification_in_a_dry_run_is_no_evidence(loop: Loop) -> None:
    """It says so itself, as text and as JSON, and nothing else takes it for one, not after a real run either."""
    loop.make()
    done = loop.call("verify", "my-task", "--dry-run")
    assert (done.code, "It proves nothing" in done.out) == (0, True)
    assert not {"✓ Review", "✓ Verification passed", "✓ Verified"} & set(done.err.splitlines() + done.out.splitlines())
    document = loop.document("verify", "my-task", "--dry-run")
    assert (document["status"], document["passed"], document["dryRun"]) == ("not_run", None, True)
    assert json.loads(loop.run("--dry-run", "--verify", "--json").out)["proven"] is None
    loop.script([{"init": {}}, {"result": {}}])
    loop.run("-m", "1")
    assert "Proof" not in loop.call("show", "my-task").out
    assert "verification" not in json.loads((loop.workspace / ".metadata.json").read_text())


def test_its_money_is_in_no_sum(loop: Loop) -> None:
    """The fake names a cost; closing line, log, JSON and totals say that nothing was paid, and no limit counts it."""
    loop.make("- a\n- b\n")
    loop.env["CLAUDE_ITERATE_FAKE_PACE"] = "0"
    done = loop.run("--dry-run", "--max-cost", "0.001")
    assert (done.code, "Cost: nothing (dry run)" in done.out) == (0, True)
    assert "\nCost: nothing (dry run)\n" in loop.log()
    assert all(event.get("cost_usd", 0) == 0 for event in loop.events("ResultReported"))
    document = json.loads(loop.run("--dry-run", "--json").out)
    assert (document["costUsd"], document["totalCostUsd"], document["tokens"]["input"]) == (0, 0, 0)
    loop.script(DONE)
    assert loop.run().code == 0
    assert json.loads(loop.run("--dry-run", "--json").out)["totalCostUsd"] == 0.5
    assert loop.document("show", "my-task")["counters"]["costUsd"] == 0.5
    assert loop.document("history", "my-task", "--all")["total"]["costUsd"] == 0.5
