"""The most common lines are checked while they are decoded. That changes no event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.agent.protocol.common_lines import AssistantLine, UserLine, common_line
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import Said, StreamEvent, ToolCalled, UsageReported

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "claude-2.1.197").glob("*.ndjson"))
Told = tuple[list[StreamEvent], UsageReported | None]


def documents(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def compact(document: object) -> bytes:
    """As Claude Code prints it."""
    return json.dumps(document, separators=(",", ":")).encode()


def spacious(document: object) -> bytes:
    """The same with spaces: it does not begin as common lines do, and is read field by field."""
    line = json.dumps(document).encode()
    assert common_line(line) is None
    return line


def told(translator: Translator, line: bytes) -> Told:
    return translator.translate(line), translator.usage()


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_common_line_says_the_same_as_field_by_field(path: Path) -> None:
    """Every line of every recording gives the same events and the same usage in both ways."""
    quick, thorough = Translator(), Translator()
    for document in documents(path):
        assert told(quick, compact(document)) == told(thorough, spacious(document))


def test_most_of_what_is_said_and_answered_is_common() -> None:
    """Else all this would be of no use."""
    kinds = {"assistant": AssistantLine, "user": UserLine}
    lines = [each for path in RECORDINGS for each in documents(path) if each["type"] in kinds]
    common = [each for each in lines if isinstance(common_line(compact(each)), kinds[each["type"]])]
    assert len(common) > 0.9 * len(lines)


FIELDS = (
    *("message", "content", "usage", "input_tokens", "id", "model", "name", "input", "text", "thinking", "type"),
    *("tool_use_id", "tool_use_result", "file", "parent_tool_use_id", "error", "is_error"),
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
ODD = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner))


def changed(value: Any, name: str, odd: object) -> Any:
    """The document with another value in each field of this name, but for the kind of the line."""
    if isinstance(value, list):
        return [changed(item, name, odd) for item in value]
    if isinstance(value, dict):
        return {key: odd if key == name else changed(item, name, odd) for key, item in value.items()}
    return value


@given(st.sampled_from(RECORDINGS), st.integers(0, 200), st.sampled_from(FIELDS), ODD, st.booleans())
def test_an_odd_or_missing_field_changes_nothing_else(
    path: Path, place: int, name: str, odd: object, missing: bool
) -> None:
    """Whatever stands in a field, or if it is not there: both ways give the same events and usage."""
    lines = [each for each in documents(path) if each["type"] in {"assistant", "user"}] or documents(path)
    before = lines[place % len(lines)]
    document = without(before, name) if missing else changed(before, name, odd)
    document = {"type": before["type"], **{key: value for key, value in document.items() if key != "type"}}
    assert told(Translator(), compact(document)) == told(Translator(), spacious(document))


def without(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [without(item, name) for item in value]
    if isinstance(value, dict):
        return {key: without(item, name) for key, item in value.items() if key != name}
    return value


def test_a_kind_that_is_named_twice_is_the_last_one() -> None:
    """JSON allows a name twice; the last value counts, whatever the line begins with."""
    text = b'"message":{"content":[{"type":"text","text":"x"}]}'
    line = b'{"type":"assistant",' + text + b',"type":"user"}'
    assert common_line(line) is None
    assert Translator().translate(line) == Translator().translate(line.replace(b'"type":"assistant",', b""))


def test_a_block_of_a_new_kind_costs_no_other() -> None:
    """A block that we do not know makes the line uncommon, and all of its blocks are there."""
    blocks = [{"type": "text", "text": "a"}, {"type": "new"}, {"type": "tool_use", "id": "1", "name": "B", "input": {}}]
    line = compact({"type": "assistant", "message": {"content": blocks}})
    assert common_line(line) is None
    said, _, called = Translator().translate(line)
    assert said == Said("a")
    assert called == ToolCalled("1", "B")


def test_a_block_without_a_kind_is_no_answer() -> None:
    """Only the kind says what a block is, however much it looks like the answer of a tool."""
    line = compact({"type": "user", "message": {"content": [{"tool_use_id": "1", "content": "x"}]}})
    assert common_line(line) is None
    (event,) = Translator().translate(line)
    assert type(event).__name__ == "Told"


def test_a_deep_input_is_not_kept() -> None:
    """What is nested too deeply is shown as that, in a common line, too."""
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"a": deep}
    block = {"type": "tool_use", "id": "1", "name": "B", "input": deep}
    line = compact({"type": "assistant", "message": {"content": [block]}})
    assert common_line(line) is not None
    assert Translator().translate(line) == [ToolCalled("1", "B", {"input": "(nested too deeply to show)"})]
