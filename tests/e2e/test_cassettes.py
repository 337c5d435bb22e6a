"""A recorded run serves as Claude: a dry run plays its output and its reports again, and the events are the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop
from tests.e2e.played import copied_run, sequence
from tests.e2e.test_dry_runs import files, told

DONE: list[dict[str, Any]] = [{"init": {}}, {"say": "All done."}, {"status": {"complete": True}}, {"result": {}}]
JUDGED = {"summary": "Looked.", "findings": [], "requirements": []}


def judged(status: str) -> list[dict[str, Any]]:
    entries = [
        {"number": number, "status": status, "shown_by": "read", "file": "a.txt", "evidence": "seen"}
        for number in (1, 2)
    ]
    return [{"init": {}}, {"structured": {**JUDGED, "requirements": entries}}, {"result": {}}]


def play(loop: Loop, *flags: str) -> Any:
    """Play the first run again."""
    return loop.run("--dry-run", "--cassette", "1", "-q", *flags)


def test_a_night_is_played_again(loop: Loop) -> None:
    """A crash, a usage limit, junk, standard error, reports in the middle and at the end, a claim that its review
    refutes and one that it confirms: the same events in the same order. Waits end at once. No trace is left."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_DELAY": "1ms", "CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS": "500"}
    loop.env |= {"CLAUDE_ITERATE_LIMITS__RESET_MARGIN": "0"}
    rejected = {"rejected": {"window": "five_hour", "seconds": 1}}
    limit = {"is_error": True, "result": "You've hit your session limit", "api_error_status": 429}
    half = {"complete": False, "progress": {"completed": 1, "total": 2}, "summary": "half"}
    news = {"shell": 'until grep -q StatusChanged "$WORKSPACE"/runs/*/events.ndjson; do sleep 0.05; done'}
    loop.script(
        [{"init": {}}, {"say": "x" * 400}, {"status": half}, news, {"raw": "junk\n"}, {"say": "more"}, {"result": {}}],
        [{"init": {}}, rejected, {"result": limit}],
        [{"stderr": "no memory\n"}, {"exit": 3}],
        DONE,
        judged("not_met"),
        DONE,
        judged("met"),
    )
    assert loop.run("--verify").code == 0
    kept, said = files(loop), told(loop)
    done = play(loop, "--verify")
    assert done.code == 0, done.err
    recorded, played = loop.journals()
    assert sequence(played) == sequence(recorded)
    assert [entry["event"]["event"] for entry in played].count("WaitEnded") == 2
    assert (files(loop), told(loop)) == (kept, said)


def test_a_call_that_was_cut_is_cut_again(loop: Loop) -> None:
    """By the time-out of now, at the same place; what Claude said when it was ended comes after that."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "6s"
    loop.script([{"init": {}}, {"say": "I wait."}, {"hang": True}], DONE)
    assert loop.run("-q").code == 0
    played = play(loop)
    assert (played.code, played.err) == (0, "")
    assert "1 recorded call did not end by itself" in loop.log()
    recorded, again = loop.journals()
    assert sequence(again) == sequence(recorded)
    assert loop.outcomes() == 2 * ["idle", "ok"]


@pytest.mark.parametrize("mode", ["iterative", "build"])
def test_any_run_of_the_stand_in_can_be_played(loop: Loop, mode: str) -> None:
    """In each mode; plans and boxes are as they were."""
    loop.make("- [ ] a\n- [ ] b\n", mode)
    if mode == "build":
        (loop.workspace / "IMPLEMENTATION_PLAN.md").write_text("- [ ] a (refs: x)\n- [ ] b\n- [ ] c\n")
    first = loop.call("run", "my-task", "-q")
    assert first.code == 0, first.err
    if mode == "build":
        (loop.workspace / "IMPLEMENTATION_PLAN.md").write_text("- [ ] a (refs: x)\n- [ ] b\n- [ ] c\n")
    done = play(loop)
    assert done.code == 0, done.err
    recorded, played = loop.journals()
    assert sequence(played) == sequence(recorded)


def test_checks_hooks_and_scripts_are_tried(loop: Loop) -> None:
    """They run for real in the project as it is; a check that is red now refutes the recorded claim, and the run ends
    with the recording."""
    loop.make()
    loop.script(DONE)
    assert loop.run("-q").code == 0
    hook = loop.workspace / "hooks" / "iteration_finished"
    hook.parent.mkdir()
    hook.write_text('#!/bin/sh\necho "$CLAUDE_ITERATE_HOOK_ITERATION" >> hooked\n')
    hook.chmod(0o755)
    loop.checks("test -e made")
    loop.env["CLAUDE_ITERATE_STOP__SCRIPTS"] = json.dumps(["touch scripted; false"])
    red = loop.run("--dry-run", "--cassette", "1")
    assert "Played 1 iteration of run 000001-" in red.out + red.err
    assert "the recorded work is not put there" in red.err
    (loop.root / "made").touch()
    green = loop.run("--dry-run", "--cassette", "1")
    assert (green.code, "it proves nothing" in green.out) == (0, True), green
    assert [event["code"] for event in loop.events("CheckFinished")] == [1, 0]
    assert (loop.root / "hooked").read_text() == "1\n1\n"
    assert (loop.root / "scripted").exists()


def test_its_raw_output_is_kept_for_it(loop: Loop) -> None:
    """The run that is played is not tidied away by the dry run that plays it."""
    loop.make()
    loop.env["CLAUDE_ITERATE_KEEP_RAW_RUNS"] = "1"
    loop.script(DONE)
    assert loop.run("-q").code == 0
    assert [play(loop).code for _ in range(2)] == [0, 0]


def newer(path: Path) -> None:
    path.write_text(path.read_text().replace('"event":"RunStarted"', '"event":"RunStarted","format":99', 1))


@pytest.mark.parametrize(
    ("spoil", "flags", "said"),
    [
        (None, ("--cassette", "1"), "--cassette is for a dry run"),
        (None, ("--dry-run", "--cassette", "7"), "my-task has no run '7'"),
        ("raw", ("--dry-run", "--cassette", "1"), "There is no raw output of the call 0001"),
        ("cut", ("--dry-run", "--cassette", "1"), "what Claude printed in its call 0001 was cut or replaced"),
        ("foreign", ("--dry-run", "--cassette", "1"), "what Claude printed in its call 0001 was cut or replaced"),
        ("journal", ("--dry-run", "--cassette", "1"), "cannot be played: it is damaged: 1 line, from"),
        ("newer", ("--dry-run", "--cassette", "1"), "written by a newer claude-iterate: it has format 99"),
        ("other", ("--dry-run", "--cassette", "{run}"), "my-task has no run"),
        ("mode", ("--dry-run", "--cassette", "1"), "was in loop mode, and this one is in iterative mode"),
    ],
)
def test_what_cannot_be_played_is_refused(loop: Loop, spoil: str | None, flags: tuple[str, ...], said: str) -> None:
    """With a clear word and the next step, before anything is written."""
    loop.make()
    copied_run(loop)
    [run] = loop.layout.run_ids()
    raw = Path(loop.layout.raw(run, "0001"))
    match spoil:
        case "raw":
            raw.unlink()
        case "cut":
            raw.write_bytes(raw.read_bytes()[:-10])
        case "foreign":
            raw.write_text('{"type": "system"}\n')
        case "journal":
            rows = loop.layout.journal(run).read_bytes().splitlines(keepends=True)
            loop.layout.journal(run).write_bytes(b"".join([*rows[:3], *rows[4:]]))
        case "newer":
            newer(loop.layout.journal(run))
        case "other":
            shutil.copytree(loop.workspace, loop.workspace.with_name("other"))
            shutil.rmtree(loop.layout.runs)
        case "mode":
            about = json.loads(loop.layout.metadata.read_text())
            loop.layout.metadata.write_text(json.dumps({**about, "mode": "iterative"}))
    before = {path: path.read_bytes() for path in loop.root.rglob("*") if path.is_file()}
    refused = loop.run(*(flag.format(run=run) for flag in flags))
    assert refused.code in {1, 2}
    assert said in refused.err
    assert len(refused.err.splitlines()) == 2, refused.err
    assert {path: path.read_bytes() for path in loop.root.rglob("*") if path.is_file()} == before


def test_a_run_without_an_iteration_cannot_be_played(loop: Loop) -> None:
    """A verify, and a run that ended before its first call."""
    loop.make()
    loop.script([{"init": {}}, {"result": {}}])
    loop.call("verify", "my-task", "-q")
    assert "is a `verify`: it has no iterations to play" in play(loop).err
    hook = loop.workspace / "hooks" / "started"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 2\n")
    hook.chmod(0o755)
    loop.run("-q")
    assert "ended before its first iteration" in loop.run("--dry-run", "--cassette", "2").err
