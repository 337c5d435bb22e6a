"""The most common lines are checked while they are decoded. That changes no event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.agent.protocol.common_lines import (
    AssistantLine,
    PieceLine,
    ResultLine,
    RetryLine,
    SessionLine,
    UserLine,
    common_line,
)
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import GarbageSeen, Said, Told, ToolCalled

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "claude-2.1.197").glob("*.ndjson"))
KINDS = {
    ("assistant", None): AssistantLine,
    ("user", None): UserLine,
    ("system", "init"): SessionLine,
    ("system", "api_retry"): RetryLine,
    ("stream_event", None): PieceLine,
}


def kind(document: dict[str, Any]) -> type | None:
    """What such a document should be decoded as."""
    return ResultLine if document["type"] == "result" else KINDS.get((document["type"], document.get("subtype")))


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


def told(translator: Translator, line: bytes) -> str:
    """The events and the usage as text, because to Python 1, 1.0 and True are the same."""
    return repr((translator.translate(line), translator.usage()))


def begun() -> Translator:
    """One that knows how large a request was."""
    translator = Translator()
    usage = {"input_tokens": 100, "cache_read_input_tokens": 20}
    translator.translate(compact({"type": "assistant", "message": {"id": "m", "content": [], "usage": usage}}))
    return translator


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_common_line_says_the_same_as_field_by_field(path: Path) -> None:
    """Every line of every recording gives the same events and the same usage in both ways."""
    quick, thorough = Translator(), Translator()
    for document in documents(path):
        assert told(quick, compact(document)) == told(thorough, spacious(document))


def test_most_lines_are_common() -> None:
    """Else all this would be of no use."""
    lines = [each for path in RECORDINGS for each in documents(path)]
    for sort in {*KINDS.values(), ResultLine}:
        all_of_it = [each for each in lines if kind(each) is sort]
        common = [each for each in all_of_it if type(common_line(compact(each))) is sort]
        assert len(common) > 0.95 * len(all_of_it) > 0
    assert len([each for each in lines if kind(each)]) > 0.9 * len(lines)


FIELDS = (
    *("message", "content", "usage", "input_tokens", "id", "model", "name", "input", "text", "thinking", "type"),
    *("tool_use_id", "tool_use_result", "file", "parent_tool_use_id", "error", "is_error"),
    *("subtype", "session_id", "claude_code_version", "permissionMode", "mcp_servers", "plugin_errors", "tools", "cwd"),
    *("attempt", "max_retries", "retry_delay_ms", "error_status"),
    *("result", "errors", "api_error_status", "num_turns", "total_cost_usd", "modelUsage", "permission_denials"),
    *("structured_output", "inputTokens", "cacheReadInputTokens", "contextWindow", "costUSD", "tool_name", "event"),
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
@settings(max_examples=400)
def test_an_odd_or_missing_field_changes_nothing_else(
    path: Path, place: int, name: str, odd: object, missing: bool
) -> None:
    """Whatever stands in a field, or if it is not there: both ways give the same events and usage."""
    lines = documents(path)
    before = lines[place % len(lines)]
    document = without(before, name) if missing else changed(before, name, odd)
    document = {"type": before["type"], **{key: value for key, value in document.items() if key != "type"}}
    assert told(begun(), compact(document)) == told(begun(), spacious(document))


def without(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [without(item, name) for item in value]
    if isinstance(value, dict):
        return {key: without(item, name) for key, item in value.items() if key != name}
    return value


NUMBERS = ("0", "-0.0", "-1", "7", "7.0", "7.5", "1e3", "1e300", "1e400", "NaN", "true", '"7"', "9" * 19, "9" * 400)
RESULT = '{"type":"result","is_error":false,"modelUsage":{"a":{"costUSD":1,"inputTokens":2},"b":{"contextWindow":9}}}'
WITH_NUMBERS = {
    '{"type":"system","subtype":"api_retry"}': ("attempt", "max_retries", "retry_delay_ms", "error_status"),
    RESULT: ("total_cost_usd", "num_turns", "api_error_status"),
    '{"type":"result","is_error":true,"usage":{}}': ("input_tokens", "output_tokens"),
    '{"type":"result","is_error":true,"modelUsage":{"a":{}}}': ("costUSD", "contextWindow", "cacheReadInputTokens"),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_the_same_in_both_ways(number: str) -> None:
    """However it is written, and whether it makes sense or not."""
    for line, names in WITH_NUMBERS.items():
        for name in names:
            place = line.rindex("{}") + 1 if "{}" in line else len(line) - 1
            comma = "" if "{}" in line else ","
            quick = f'{line[:place]}{comma}"{name}":{number}{line[place:]}'
            assert told(begun(), quick.encode()) == told(begun(), f" {quick}".encode())


@pytest.mark.parametrize("path", RECORDINGS[::6], ids=lambda path: path.stem)
def test_a_name_that_stands_twice_has_its_last_value(path: Path) -> None:
    """JSON allows that; whatever the line begins with, another kind at its end is its kind."""
    for document in documents(path):
        for name, last in (("type", "user"), ("type", "result"), ("type", 1), ("subtype", "init"), ("subtype", "x")):
            line = compact(document)[:-1] + b"," + compact({name: last})[1:]
            assert told(begun(), line) == told(begun(), b" " + line)


@pytest.mark.parametrize(
    "end", [b"", b"}}", b',"x":tru}', b',"x":"\x01"}', b',"x":"\xff"}', b',"x":"\\ud800"}', b"} x"]
)
def test_a_piece_that_is_no_json_is_garbage(end: bytes) -> None:
    """Of a piece of a message nothing is built, but all of it is read: a line that was cut is shown."""
    line = b'{"type":"stream_event","event":{"type":"x"}' + end
    assert told(Translator(), line) == told(Translator(), b" " + line).replace(" {", "{").replace(
        f"bytes={len(line) + 1}", f"bytes={len(line)}"
    )
    assert all(isinstance(event, GarbageSeen) for event in Translator().translate(line))


def test_what_is_told_to_the_model_is_common() -> None:
    """A text among the answers of tools, too."""
    line = compact({"type": "user", "message": {"content": [{"type": "text", "text": "x"}]}, "parent_tool_use_id": "p"})
    assert common_line(line) is not None
    assert Translator().translate(line) == [Told("x", "p")]


def test_more_tools_than_a_journal_needs() -> None:
    """The first of them are kept, and one with an endless name is cut; the schema's tool counts wherever it stands."""
    for tools in (["Bash"] * 60 + ["StructuredOutput"], ["Bash", "x" * 81], ["Bash", 7]):
        document = {"type": "system", "subtype": "init", "tools": tools}
        assert told(Translator(), compact(document)) == told(Translator(), spacious(document))


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
