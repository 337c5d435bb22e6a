"""Lines become events: every recording, every block, and any bytes at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import (
    AgentNoted,
    ApiRetried,
    AssistantText,
    ContextCompacted,
    Event,
    LimitReported,
    PromptSent,
    ResultReported,
    SessionOpened,
    TaskEnded,
    TasksListed,
    TaskStarted,
    Thought,
    Tokens,
    ToolCalled,
    ToolDenied,
    ToolResult,
    UnparsedLine,
)
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.text import claude_lines
from tests.core.building import evidence

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures").glob("claude-*/*.ndjson"))


def events_of(data: bytes) -> list[Event]:
    translator = Translator()
    return [event for line in data.split(b"\n") for event in translator.translate(line)]


def one(document: object) -> Event:
    (event,) = Translator().translate(json.dumps(document).encode())
    return event


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_block_of_every_recording_is_shown(path: Path) -> None:
    """Text, thinking, tool calls and tool results: as many as the recording has, and each gives lines."""
    wanted = {"text": 0, "thinking": 0, "tool_use": 0, "tool_result": 0}
    for line in path.read_bytes().split(b"\n"):
        try:
            document = json.loads(line)
        except ValueError:
            continue
        message = document.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ([{"type": "text"}] if isinstance(content, str) else []):
            wanted[block["type"]] += 1
    events = events_of(path.read_bytes())
    count = {
        kind: sum(isinstance(event, kind) for event in events)
        for kind in (AssistantText, PromptSent, Thought, ToolCalled, ToolResult)
    }
    assert count[AssistantText] + count[PromptSent] == wanted["text"]
    assert (count[Thought], count[ToolCalled], count[ToolResult]) == (
        wanted["thinking"],
        wanted["tool_use"],
        wanted["tool_result"],
    )
    for event in events:
        unsaid = (
            (isinstance(event, LimitReported) and event.status == "allowed")
            or (isinstance(event, AgentNoted) and event.kind == "thinking_tokens")
            or isinstance(event, TasksListed | ToolDenied)  # other events tell it to readers
        )
        if not unsaid and not (isinstance(event, AssistantText) and not event.text):
            assert claude_lines.lines(event, whole=False), event


def test_a_result_knows_its_tool() -> None:
    """Results are joined to their tools by id, also when two run at once."""
    events = events_of(RECORDINGS[[path.stem for path in RECORDINGS].index("a4-all-tools")].read_bytes())
    calls = {event.id: event.name for event in events if isinstance(event, ToolCalled)}
    answers = [event for event in events if isinstance(event, ToolResult)]
    assert answers
    assert all(event.name == calls[event.id] for event in answers)


def test_the_word_error_in_a_result_is_no_error() -> None:
    """Only `is_error` is."""
    answer = {"type": "tool_result", "tool_use_id": "1", "content": "no errors found; nothing failed"}
    event = one({"type": "user", "message": {"content": [answer]}})
    assert isinstance(event, ToolResult)
    assert not event.is_error


def test_a_denial_comes_with_the_words_of_its_refusal() -> None:
    """The result names the tool call; what Claude Code said stands in the answer to that call."""
    paths = [
        path for path in RECORDINGS if path.stem in {"e1-permission-denied-default", "q03-permission-prompts-none"}
    ]
    assert len(paths) == 3
    for path in paths:
        (result,) = [event for event in events_of(path.read_bytes()) if isinstance(event, ResultReported)]
        assert [denial.tool for denial in result.denials] == ["Bash", "Write", "Read"]
        for denial, words in zip(
            result.denials, ("touch in '", "permissions to write", "permissions to read"), strict=True
        ):
            assert denial.said.removeprefix("Claude requested ").startswith(words)


def test_a_result_that_does_not_say_whether_it_is_an_error_is_one() -> None:
    """Also when all else in it speaks of success."""
    for odd in ({"is_error": 1}, {"is_error": "false"}, {"is_error": None}, {}):
        event = one({"type": "result", "subtype": "success", "result": "Done.", "total_cost_usd": 0.5} | odd)
        assert isinstance(event, ResultReported)
        assert (event.is_error, event.malformed, event.cost_usd) == (True, True, 0.5)
        outcome = classify(evidence(event, wrote_status=True))
        assert outcome.kind == "crash"
        assert "malformed result" in outcome.message


def test_a_result_tells_how_long_it_took() -> None:
    """In all, and waiting for the API."""
    event = one({"type": "result", "is_error": False, "duration_ms": 1200, "total_cost_usd": 0})
    assert isinstance(event, ResultReported)
    assert event.duration_ms == 1200
    assert " · 1.2s · " in claude_lines.lines(event, whole=False)[0]


def test_the_sorts_of_events() -> None:
    """Each documented line becomes the event that stands for it."""
    system = {"type": "system"}
    assert one(system | {"subtype": "init", "session_id": "s", "model": "m"}) == SessionOpened("s", "m")
    assert one(system | {"subtype": "init", "cwd": "/p", "tools": ["Bash", 7]}) == SessionOpened(cwd="/p")
    assert one(system | {"subtype": "task_started", "task_id": "t", "description": "d"}) == TaskStarted("t", "", "d")
    assert one(system | {"subtype": "task_updated", "task_id": "t", "patch": {"status": "killed"}}) == TaskEnded(
        "t", "killed"
    )
    assert one(
        system | {"subtype": "api_retry", "attempt": 2, "max_retries": 10, "retry_delay_ms": 500.5, "error_status": 529}
    ) == ApiRetried(2, 10, 0.5005, 529)
    denied = {"subtype": "permission_denied", "tool_use_id": "t", "decision_reason_type": "mode" * 99}
    assert one(system | denied) == ToolDenied("t", why=("mode" * 99)[:80])
    compacted = {"subtype": "compact_boundary", "compact_metadata": {"trigger": "auto", "pre_tokens": 121}}
    assert one(system | compacted) == ContextCompacted("auto", 121)
    assert one(system | compacted | {"compact_metadata": ["?"]}) == ContextCompacted()
    assert one(system | {"subtype": "hook_started", "hook_name": "x"}) == AgentNoted("hook_started", "hook_name=x")
    assert one({"type": "brand_new", "word": "w"}) == AgentNoted("brand_new", "word=w")
    assert one({"type": "user", "message": {"content": "plain"}}) == PromptSent("plain")
    assert one(
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}, "error": "rate_limit"}
    ) == AssistantText("x", "", "rate_limit")
    info = {"status": "rejected", "resetsAt": 5, "rateLimitType": "five_hour", "utilization": 1}
    assert one({"type": "rate_limit_event", "rate_limit_info": info}) == LimitReported(
        "rejected", "five_hour", 5.0, 1.0
    )


def test_a_task_ends_once() -> None:
    """Claude reports it twice."""
    update = {"type": "system", "subtype": "task_updated", "task_id": "t", "patch": {"status": "completed"}}
    notice = {"type": "system", "subtype": "task_notification", "task_id": "t", "status": "completed"}
    assert len(events_of(json.dumps(update).encode() + b"\n" + json.dumps(notice).encode())) == 1


def test_money_and_tokens_come_from_the_complete_figures() -> None:
    """`modelUsage` counts sub-agents, `usage` does not."""
    models = {"a": {"inputTokens": 1, "outputTokens": 2}, "b": {"inputTokens": 3, "cacheReadInputTokens": 5}}
    event = one(
        {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.5, "modelUsage": models}
    )
    assert event == ResultReported("success", False, cost_usd=0.5, tokens=Tokens(4, 2, 5, 0))


@pytest.mark.parametrize("cost", [-1, "dear", None, True, float("nan"), float("inf"), "inf", [], 10**400, 1e9])
def test_an_odd_cost_is_not_told(cost: object) -> None:
    """Negative, words, not a number, beyond all reason: none of them means that it was free."""
    document = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": cost}
    event = one(document)
    assert isinstance(event, ResultReported)
    assert (event.cost_usd, event.untold) == (0.0, True)
    summed = one(document | {"modelUsage": {"a": {"costUSD": 0.25}, "b": {"costUSD": 0.5}, "c": {"costUSD": "x"}}})
    assert isinstance(summed, ResultReported)
    assert (summed.cost_usd, summed.untold) == (0.75, False)


def test_a_cost_in_a_string_counts() -> None:
    """Money must not be overlooked."""
    event = one({"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": "0.50"})
    assert isinstance(event, ResultReported)
    assert (event.cost_usd, event.untold) == (0.5, False)


@pytest.mark.parametrize(("turns", "kept"), [(3, 3), (-4, 0), (1e300, 0), ("3", 0), (10**30, 0)])
def test_odd_turns_are_none(turns: object, kept: int) -> None:
    """They would only spoil the sums."""
    event = one({"type": "result", "subtype": "success", "is_error": False, "num_turns": turns, "total_cost_usd": 0})
    assert isinstance(event, ResultReported)
    assert event.turns == kept


def limits_of(**info: object) -> list[LimitReported]:
    line = json.dumps({"type": "rate_limit_event", "rate_limit_info": info}).encode()
    return [event for event in events_of(line) if isinstance(event, LimitReported)]


def test_a_window_is_told_wherever_its_figures_stand() -> None:
    """Newer releases tell the use of the window in question only among all windows."""
    windows = {"five_hour": {"utilization": 0.95, "resetsAt": 7}, "seven_day": {"utilization": 1, "resetsAt": 9000}}
    assert limits_of(status="allowed_warning", rateLimitType="five_hour", unifiedWindows=windows) == [
        LimitReported("allowed", "seven_day", 9000.0, 1.0),
        LimitReported("allowed_warning", "five_hour", 7.0, 0.95),
    ]
    own = limits_of(status="rejected", rateLimitType="five_hour", resetsAt=8, utilization=1, unifiedWindows=windows)
    assert own[-1] == LimitReported("rejected", "five_hour", 8.0, 1.0)


@pytest.mark.parametrize(
    "line", [b"hello", b"null", b"[]", b"12", b'"x"', b"\xff\xfe\x00", b"{", b'{"type"', b"[" * 100_000]
)
def test_what_is_no_event_is_kept_as_garbage(line: bytes) -> None:
    """Shown, with its size; never fatal."""
    (event,) = Translator().translate(line)
    assert isinstance(event, UnparsedLine)
    assert event.bytes == len(line)


def test_broken_characters_cost_only_themselves() -> None:
    """Invalid UTF-8 and lone surrogates within a line leave the rest readable, and the text can be encoded again."""
    for line in (
        b'{"type":"user","message":{"content":"a\xffb"}}',
        b'{"type":"user","message":{"content":"a\\ud800b"}}',
    ):
        (event,) = Translator().translate(line)
        assert isinstance(event, PromptSent)
        assert event.text.encode("utf-8")[:1] == b"a"


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(line: bytes) -> None:
    """Translating never raises."""
    Translator().translate(line)


KEYS = st.sampled_from(
    [
        *("type", "subtype", "message", "content", "text", "tool_use_id", "result", "modelUsage", "permission_denials"),
        *("rate_limit_info", "resetsAt", "usage", "mcp_servers", "patch", "errors", "is_error", "input", "name", "id"),
    ]
)
VALUES = st.sampled_from(
    ["system", "assistant", "user", "result", "rate_limit_event", "init", "api_retry", "tool_result"]
)


@given(
    st.recursive(
        VALUES | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.dictionaries(KEYS, inner, max_size=6) | st.lists(inner, max_size=3),
        max_leaves=15,
    )
)
def test_any_json_is_survived(document: object) -> None:
    """Whatever types stand where others were expected; and what comes out can be shown."""
    for event in Translator().translate(json.dumps(document).encode()):
        claude_lines.lines(event, whole=False)


def test_the_context_is_as_full_as_the_last_request_was_large() -> None:
    """Cached tokens count, sub-agents and small helper models do not."""
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 200,
        "output_tokens": 9,
    }
    translator = Translator()
    for parent in (None, "toolu_1"):
        used = usage if parent is None else {"input_tokens": 999}
        line = {"type": "assistant", "parent_tool_use_id": parent, "message": {"content": "hi", "usage": used}}
        translator.translate(json.dumps(line).encode())
    models = {"large": {"contextWindow": 1000}, "small": {"contextWindow": 700}}
    (result,) = translator.translate(json.dumps({"type": "result", "modelUsage": models}).encode())
    assert isinstance(result, ResultReported)
    assert result.context == 0.6


def test_a_recorded_compaction() -> None:
    """As the real Claude Code prints it, among everything else of that call."""
    paths = [path for path in RECORDINGS if path.stem == "m2-prompt-too-long-midway"]
    found = [event for path in paths for event in events_of(path.read_bytes()) if isinstance(event, ContextCompacted)]
    assert [event.trigger for event in found] == ["auto", "auto"]
