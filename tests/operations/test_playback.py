"""The console of a recorded run."""

from __future__ import annotations

import io

import msgspec

from claude_iterate.core.events import AssistantText, Entry, RunStarted
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import fold
from claude_iterate.operations.playback import recorded_console

STARTED = RunStarted("r1", "my-task", "loop", 50, 1, "here", "1", ("claude",), "a.log")


def test_the_console_has_the_settings_of_the_run() -> None:
    """The level and the colours of the run, unless others are wanted; what is not known counts as not set."""
    started = msgspec.structs.replace(STARTED, settings={"output": "quiet", "colors": False, "stop.no_progress": 9})
    found = recorded_settings(started)
    assert (found.output, found.colors, found.stop.no_progress) == ("quiet", False, 9)
    newer = msgspec.structs.replace(STARTED, settings={"output": "sung", "stop.later": 1, "notify.url": "***"})
    assert recorded_settings(newer).output == "progress"
    entries = [Entry(1, 100.0, 0.0, STARTED), Entry(2, 101.0, 1.0, AssistantText("words 2"))]
    for level, lines in (("", 0), ("verbose", 1)):
        err = io.StringIO()
        console = recorded_console(started, io.StringIO(), err, level)
        console(entries[1], fold(entries))
        assert ("words 2" in err.getvalue()) == bool(lines)
