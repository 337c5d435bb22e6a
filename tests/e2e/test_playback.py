"""A journal shown again by the console's own code gives what the run itself printed."""

from __future__ import annotations

import io
from typing import Any

import pytest

from claude_iterate.operations.playback import ConsolePlayback, recorded_console
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_reader import JournalFollower
from tests.e2e.conftest import Loop
from tests.e2e.test_steering import DONE, UNDONE

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
    ConsolePlayback(console).show(JournalFollower(journal).entries())
    console.close()
    assert (out.getvalue(), err.getvalue()) == (done.out, done.err)
    assert ("failed" in done.err) == (level != "quiet")
