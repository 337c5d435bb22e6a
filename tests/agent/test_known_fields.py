"""Only what is read of a line is built from it. That changes no event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.agent.protocol.known_fields import known_fields
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import StreamEvent, ToolAnswered
from claude_iterate.text import claude_blocks
from claude_iterate.text.line_blocks import CONSOLE, WHOLE

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "claude-2.1.197").glob("*.ndjson"))
SPARE = {"assistant": "usage", "user": "usage", "result": "message", "system": "message"}
"""A field that lines of this kind do not use. With a list in it they have an unusual shape and are read whole."""


def documents(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def told(translator: Translator, document: object) -> tuple[list[StreamEvent], list[list[str]]]:
    """The events without the facts that no reader asks for, and their lines, which show the others."""
    events = translator.translate(json.dumps(document).encode())
    lines = [claude_blocks.lines(event, limits) for event in events for limits in (WHOLE, CONSOLE)]
    return [replace(event, facts={}) if isinstance(event, ToolAnswered) else event for event in events], lines


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_line_says_the_same_in_part_and_whole(path: Path) -> None:
    """Every line of every recording gives the same events and texts when all of it is read."""
    quick, thorough = Translator(), Translator()
    for document in documents(path):
        spare = SPARE.get(document["type"], "message")
        whole = {**document, spare: []}
        assert known_fields(json.dumps(whole).encode()) == {}
        if document["type"] in SPARE and spare not in document:
            assert told(quick, document) == told(thorough, whole)
        else:
            quick.translate(json.dumps(document).encode())
            thorough.translate(json.dumps(document).encode())


FIELDS = (
    "message",
    "content",
    "usage",
    "subtype",
    "tool_use_result",
    "file",
    "parent_tool_use_id",
    "error",
    "is_error",
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
ODD = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner))


def changed(value: Any, name: str, odd: object) -> Any:
    """The document with another value in each field of this name."""
    if isinstance(value, list):
        return [changed(item, name, odd) for item in value]
    if isinstance(value, dict):
        return {key: odd if key == name else changed(item, name, odd) for key, item in value.items()}
    return value


@given(st.sampled_from(RECORDINGS), st.integers(0, 200), st.sampled_from(FIELDS), ODD)
def test_an_odd_field_costs_nothing_else(path: Path, place: int, name: str, odd: object) -> None:
    """Whatever stands in a field: the line gives the same events as when all of it is read."""
    lines = documents(path)
    document = changed(lines[place % len(lines)], name, odd)
    spare = SPARE.get(document["type"], "")
    if spare and spare not in document:
        assert told(Translator(), document) == told(Translator(), {**document, spare: []})


def test_a_long_result_is_not_built_twice() -> None:
    """A file that a tool read is in the line twice; only the text that the model got is kept."""
    file = {"filePath": "/a", "content": "x" * 1000, "numLines": 3}
    block = {"type": "tool_result", "tool_use_id": "1", "content": "1\tx"}
    line = {"type": "user", "message": {"content": [block]}, "tool_use_result": {"type": "text", "file": file}}
    (event,) = Translator().translate(json.dumps(line).encode())
    assert isinstance(event, ToolAnswered)
    assert event.facts == {"type": "text", "file": {"numLines": 3}}
