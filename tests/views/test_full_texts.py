"""Whole texts come from the raw output; where it is gone, that is said."""

from __future__ import annotations

import json
from pathlib import Path

from claude_iterate.core import events
from claude_iterate.core.abridgement import abridge
from claude_iterate.core.events import Entry
from claude_iterate.core.redact import Redactor
from claude_iterate.views.full_texts import full_texts, restore_texts
from claude_iterate.workspace.layout import Layout

RUN = "000001-20261117-000000-abcdef"
LONG = "word " * 1000
SECRET = "hunter2-hunter2-hunter2"
CLEAN = Redactor({"MY_TOKEN": SECRET})


def message(*blocks: dict[str, object]) -> bytes:
    return json.dumps({"type": "assistant", "message": {"content": list(blocks)}}).encode() + b"\n"


def answer(identity: str, text: str) -> bytes:
    block = {"type": "tool_result", "tool_use_id": identity, "content": text}
    return json.dumps({"type": "user", "message": {"content": [block]}}).encode() + b"\n"


def raw(tmp_path: Path, call: str, *lines: bytes) -> Layout:
    layout = Layout(tmp_path, tmp_path)
    path = Path(layout.raw(RUN, call))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return layout


def test_texts_are_whole_and_clean(tmp_path: Path) -> None:
    """Every character but the secrets."""
    layout = raw(tmp_path, "0001", message({"type": "text", "text": f"{LONG}{SECRET}"}), b"junk\n", answer("t", LONG))
    found = full_texts(layout, RUN, "0001")
    said, junk, answered = found.events(CLEAN)
    assert isinstance(said, events.AssistantText)
    assert (said.text.startswith(LONG), SECRET in said.text) == (True, False)
    assert isinstance(junk, events.UnparsedLine)
    assert isinstance(answered, events.ToolResult)
    assert (answered.text, found.missing) == (LONG, "")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """A run whose raw output was deleted, and a call that has none."""
    layout = raw(tmp_path, "0003.retry-1")
    assert full_texts(layout, RUN, "0003.retry-1").missing == ""
    assert "no raw output of the call 0004" in full_texts(layout, RUN, "0004").missing
    gone = full_texts(layout, "000009-x", "0001")
    assert ("keep_raw_runs" in gone.missing, list(gone.events(CLEAN))) == (True, [])


def test_entries_get_their_whole_texts_back(tmp_path: Path) -> None:
    """In their places, with their times; what does not fit stays as the journal has it."""
    printed = (
        message({"type": "text", "text": LONG}),
        answer("t1", LONG + "!"),
        message({"type": "text", "text": "two"}),
    )
    layout = raw(tmp_path, "0001", *printed)
    whole: list[events.Event] = [
        events.AssistantText(LONG),
        events.AgentNoted("status"),
        events.ToolResult("t1", "", LONG + "!"),
        events.AssistantText("another"),
        events.AssistantText("no more"),
    ]
    short = [abridge(Entry(number, 5.0, 1.0, event)) for number, event in enumerate(whole, 1)]
    found = list(restore_texts(short, full_texts(layout, RUN, "0001").events(CLEAN)))
    assert [entry.seq for entry in found] == [1, 2, 3, 4, 5]
    assert [entry.event for entry in found] == whole
