"""What the messages of a call used: counted once each, never more than the result names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.agent.protocol import usage
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import ResultReported, Tokens, UsageReported

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures").glob("claude-*/*.ndjson"))
OPUS = "claude-opus-4-8"


def message(identity: Any, usage: Any, model: Any = OPUS, parent: str | None = None) -> dict[str, Any]:
    said = {"id": identity, "model": model, "usage": usage, "content": [{"type": "text", "text": "hello"}]}
    return {"type": "assistant", "message": said, "parent_tool_use_id": parent}


def tokens(given: int = 0, output: int = 0, read: int = 0, write: int = 0) -> dict[str, int]:
    kinds = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return dict(zip(kinds, (given, output, read, write), strict=True))


def used(*documents: dict[str, Any]) -> UsageReported | None:
    """What the usage of messages that came together adds up to."""
    return news(Translator(), *[json.dumps(document).encode() for document in documents])


def news(translator: Translator, *lines: bytes) -> UsageReported | None:
    *_, last = [None, *translator.read("stdout", [*lines])]
    return last if isinstance(last, UsageReported) else None


def test_a_message_of_several_blocks_counts_once() -> None:
    """Each block is a line with the same id; those of a sub-agent, with its own model, may stand between them."""
    first = message("a", tokens(1000, 1, 2000, 3000))
    sub_agent = message("b", tokens(4000, 1), "claude-haiku-4-5-20251001", "toolu_1")
    found = used(first, sub_agent, first, sub_agent)
    assert found is not None
    assert found.tokens == Tokens(5000, 2, 2000, 3000)
    opus, haiku = 5 * (1000 + 5 * 1 + 0.1 * 2000 + 1.25 * 3000), 4000 + 5 * 1
    assert found.cost_usd == pytest.approx((opus + haiku) / 1e6)


def test_a_model_without_a_price_adds_tokens_alone() -> None:
    """Its tokens are told."""
    assert used(message("a", tokens(1000, 1), "mine")) == UsageReported(Tokens(1000, 1), 0.0)
    both = used(message("a", tokens(1000, 1), "mine"), message("b", tokens(1_000_000)))
    assert both == UsageReported(Tokens(1_001_000, 1), 5.0)


def test_only_news_is_reported() -> None:
    """After it was asked for, until another message comes; nothing when nothing was used."""
    translator = Translator()
    for identity, expected in (("a", 10), ("a", None), ("b", 20)):
        found = news(translator, json.dumps(message(identity, tokens(10))).encode())
        assert (found.tokens.input if found else None) == expected
    assert news(translator) is None
    assert used(message("a", tokens())) is None


def test_a_result_settles_it() -> None:
    """What comes after it counts from nothing; a result that names no cost settles nothing."""
    result = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.5}
    assert used(message("a", tokens(10)), result) is None
    later = used(message("a", tokens(10)), result, message("b", tokens(20)))
    assert later == UsageReported(Tokens(20), 0.0001)
    untold = used(message("a", tokens(10)), {**result, "total_cost_usd": None}, message("b", tokens(20)))
    assert untold == UsageReported(Tokens(30), 0.00015)


@pytest.mark.parametrize("odd", [None, [], "many", {"input_tokens": "many"}, {"input_tokens": -5}, tokens(10**12)])
def test_odd_figures_count_for_nothing(odd: Any) -> None:
    """Nor do they make anything else fail; what can be read of them counts."""
    assert used(message("a", odd)) is None
    assert used(message(["a"], tokens(10)), message({}, tokens(10)), message(None, tokens(10))) is None
    partly = used(message("a", {**tokens(10, 1), "output_tokens": True, "cache_read_input_tokens": 2.0}, ["m"]))
    assert partly == UsageReported(Tokens(10, 0, 2), 0.0)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only recent messages are remembered; the lines of one message are close together."""
    monkeypatch.setattr(usage, "_REMEMBERED", 6)
    counted = usage.CallUsage(usage.Used())
    for number in range(100):
        for _ in range(3):
            counted.count({"id": str(number), "usage": tokens(1)})
    found = counted.news()
    assert found is not None
    assert found.tokens.input == 100
    assert len(vars(counted)["_known"]) <= 6


def test_an_answer_that_was_interrupted_is_not_in_the_result() -> None:
    """Claude Code names the cost without it; its request was paid all the same. One that was complete is in it."""
    result: dict[str, Any] = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "total_cost_usd": 0.006,
    }
    result["modelUsage"] = {OPUS: {"inputTokens": 1000, "outputTokens": 40}}
    assert used(message("a", tokens(1000)), result) is None
    left = used(message("a", tokens(1000)), message("b", tokens(800)), result)
    assert left is not None
    assert left.cost_usd == pytest.approx(0.005 + 0.004 - 0.006)
    assert left.tokens == Tokens(800)
    again = used(message("a", tokens(1000)), message("b", tokens(800)), result, {**result, "total_cost_usd": 0.1})
    assert again is None


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_nothing_is_left_after_a_result(path: Path) -> None:
    """In every recording: what the last result names is all, but where an answer was interrupted in its middle."""
    translator, named, left = Translator(), False, 0.0
    for line in path.read_bytes().split(b"\n"):
        events = translator.read("stdout", [line])
        said = any(isinstance(event, ResultReported) for event in events)
        named = named or said
        used = [event for event in events if isinstance(event, UsageReported)]
        left = used[0].cost_usd if used else 0.0 if said else left
    if named:
        interrupted = path.stem == "g-sigint-stream" and "2.1.197" in path.parent.name  # newer ones name it
        assert left == (0.000525 if interrupted else 0.0)
