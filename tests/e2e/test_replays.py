"""A recorded run is shown again as it was seen: the same lines, whole where the raw output is kept."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.operations.playback import recorded_console
from claude_iterate.workspace import journal_reader
from tests.e2e.conftest import DONE, UNDONE, Loop
from tests.screen import Screen

LONG = "word " * 200
TALK: list[dict[str, Any]] = [
    {"init": {}},
    {"say": LONG},
    {"tool": {"name": "Bash", "input": {"command": "ls " + "x" * 300}, "result": "\n".join(map(str, range(300)))}},
    *UNDONE[1:],
]


@pytest.fixture
def recorded(loop: Loop) -> tuple[Loop, str]:
    """A run of two iterations with long texts and a review, and what it printed."""
    loop.make()
    review: list[dict[str, Any]] = [{"init": {}}, {"say": f"R{LONG}"}, {"result": {}}]
    loop.script(TALK, DONE, review)
    done = loop.run("--output", "verbose", "--verify", "-m", "2")
    return loop, done.err + done.out


def test_the_same_lines_again_with_their_full_texts(recorded: tuple[Loop, str]) -> None:
    """Of iterations and reviews. Without the raw output texts are shortened, and that is said."""
    loop, printed = recorded
    shown = loop.call("replay", "my-task")
    assert (shown.code, shown.err) == (0, "")
    assert sorted(shown.out.splitlines()) == sorted(printed.splitlines())
    assert shown.out.count(LONG.strip()[:900]) >= 2
    one = loop.call("replay", "my-task", "--iteration", "1", "--speed", "max")
    assert "Running iteration 1..." in one.out
    assert "Running iteration 2..." not in one.out
    assert "Starting my-task" not in one.out
    run = loop.layout.run_ids()[0]
    Path(loop.layout.raw(run, "0001")).unlink()
    part = loop.call("replay", "my-task")
    assert f"There is no raw output of the call 0001 in run {run}." in part.err
    shutil.rmtree(loop.layout.runs / run / "raw")
    bare = loop.call("replay", "my-task")
    assert "is not kept any more, so long texts are shortened" in bare.err
    assert LONG.strip()[:900] not in bare.out


def test_a_secret_in_the_raw_output_is_not_shown(loop: Loop) -> None:
    """Raw output is not redacted; what is shown of it is."""
    loop.make()
    loop.env["MY_API_KEY"] = "hunter2hunter2hunter2"
    secret: list[dict[str, Any]] = [{"init": {}}, {"say": "x" * 400 + " hunter2hunter2hunter2 end"}, *DONE[1:]]
    loop.script(secret)
    assert loop.run("-q").code == 0
    shown = loop.call("replay", "my-task", "--output", "verbose")
    assert "hunter2" not in shown.out
    assert " end" in shown.out


def test_pictures_and_recordings(recorded: tuple[Loop, str], tmp_path: Path) -> None:
    """Both have what was shown; the recording, on a real terminal, ends with the closing lines and no live line."""
    loop, _ = recorded
    drawn, cast = tmp_path / "a.svg", tmp_path / "a.cast"
    for words in (("--svg", str(drawn)), ("--cast", str(cast))):
        done = loop.call("replay", "my-task", "--output", "progress", *words)
        assert (done.code, f"Wrote {words[1]}" in done.out + done.err) == (0, True), done
    assert "Running iteration 2..." in drawn.read_text()
    _header, *moments = [json.loads(line) for line in cast.read_text().splitlines()]
    rows = [row for row in Screen("".join(text for _at, _kind, text in moments)).rows if row]
    assert "Running iteration 1..." in rows
    assert rows[-1].startswith("  Next: claude-iterate run my-task")
    assert any(re.search(r"\[\d/2\] · ", text) for _at, _kind, text in moments)
    assert [at for at, *_ in moments] == sorted(at for at, *_ in moments)


def test_bad_input_has_a_next_step_and_writes_nothing(loop: Loop, tmp_path: Path) -> None:
    """No run yet, an unknown run or iteration, a bad speed, places where no file can be, a newer journal."""
    loop.make()
    assert "claude-iterate run my-task" in loop.call("replay", "my-task").err
    loop.script(DONE)
    loop.run("-q")
    (tmp_path / "link.svg").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for words, said in (
        (("--run", "9"), "has no run '9'"),
        (("--iteration", "4"), "has no iteration 4"),
        (("--speed", "fast"), "'fast' is not a number from 0 on"),
        (("--speed", "-1"), "is not a number from 0 on"),
        (("--speed", "nan"), "is not a number from 0 on"),
        (("--svg", str(tmp_path / "link.svg")), "is a symbolic link"),
        (("--svg", str(tmp_path / "folder")), "is a folder"),
        (("--cast", str(tmp_path / "pipe")), "is not a regular file"),
        (("--cast", str(tmp_path / "no" / "x.cast")), "There is no folder"),
        (("--svg", "a", "--cast", "b"), "Choose one of --svg and --cast"),
    ):
        refused = loop.call("replay", "my-task", *words)
        assert refused.code in {1, 2}
        assert said in refused.err
    assert not (tmp_path / "elsewhere").exists()
    journal = loop.layout.journal(loop.layout.run_ids()[-1])
    journal.write_text(journal.read_text().replace('"event":"RunStarted"', '"event":"RunStarted","format":99', 1))
    assert "written by a newer claude-iterate" in loop.call("replay", "my-task").err


TOOL: list[dict[str, Any]] = [
    {"init": {}},
    {"say": "I look first."},
    {"tool": {"name": "Bash", "input": {"command": "ls"}}},
    *UNDONE[1:],
]
FAILED: list[dict[str, Any]] = [{"init": {}}, {"exit": 3}]


@pytest.mark.parametrize("level", ["progress", "verbose", "quiet"])
def test_the_same_lines_on_both_streams(loop: Loop, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the clock before them, a failure that is held, and the closing message. Paths are those from where the
    reader is, so both are read at the same place."""
    monkeypatch.chdir(loop.root)
    loop.make()
    loop.script(TOOL, FAILED, DONE)
    done = loop.call("run", "my-task", "--output", level, "--max-iterations", "5")
    assert done.code == 0, done.err
    run = loop.layout.run_ids()[-1]
    journal = loop.layout.journal(run)
    started = journal_reader.beginning(journal)
    assert started is not None
    out, err = io.StringIO(), io.StringIO()
    console = recorded_console(started, out, err)
    state = RunState()
    for entry in journal_reader.read(journal):
        state = reduce(state, entry)
        console(entry, state)
    console.close()
    assert (out.getvalue(), err.getvalue()) == (done.out, done.err)
    assert ("failed" in done.err) == (level != "quiet")
