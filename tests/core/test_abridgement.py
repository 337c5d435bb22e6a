"""What the journal keeps of long texts: their beginning, and how much is missing."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.abridgement import TEXT, VALUE, abridge
from claude_iterate.core.events import (
    AssistantText,
    Entry,
    IterationStarted,
    OneOffCallFinished,
    Outcome,
    PromptSent,
    ResultReported,
    Thought,
    ToolCalled,
    ToolResult,
)
from claude_iterate.core.events.enums import Kind, Purpose

LONG = "a" * (TEXT + 7)
TEXTS: dict[str, Any] = {
    "said": AssistantText,
    "thought": Thought,
    "told": PromptSent,
    "result": lambda text: ResultReported("success", text=text),
    "one-off call": lambda text: OneOffCallFinished(Purpose.SETUP, Outcome(Kind.OK), text),
    "answer": lambda text: ToolResult("t", "Bash", text),
}


def kept(event: Any) -> Any:
    return abridge(Entry(3, 2.0, 1.0, event)).event


@pytest.mark.parametrize("kind", TEXTS)
def test_a_long_text_is_shortened_and_says_by_how_much(kind: str) -> None:
    """Every kind of text that Claude can make long."""
    event = kept(TEXTS[kind](LONG))
    assert (event.text, event.cut) == (LONG[:TEXT], 7)
    short = TEXTS[kind](LONG[:TEXT])
    assert (kept(short).text, kept(short).cut) == (LONG[:TEXT], 0)


@pytest.mark.parametrize(
    "event",
    [ResultReported(structured={"a": 1}), OneOffCallFinished(Purpose.SETUP, Outcome(Kind.OK), structured={"a": 1})],
)
def test_a_structured_answer_is_left_out(event: Any) -> None:
    """It was judged when it came, and it can be as long as Claude likes."""
    assert kept(event).structured is None


def test_an_entry_keeps_its_place() -> None:
    """Its number and its times are those of the whole."""
    entry = abridge(Entry(3, 2.0, 1.0, AssistantText(LONG)))
    assert (entry.seq, entry.at, entry.elapsed) == (3, 2.0, 1.0)


def test_the_input_of_a_tool_is_shortened_value_by_value() -> None:
    """Numbers stay, long texts and long lists are cut."""
    given = {"long": "b" * (VALUE + 1), "just": "c" * VALUE, "number": 7, "list": [1, 2], "many": list(range(99))}
    given["full"] = ["d" * (VALUE - len("['']"))]
    values = kept(ToolCalled("t", "Bash", given, "p")).input
    assert values["long"] == "b" * VALUE + "…"
    assert (values["just"], values["number"], values["list"]) == ("c" * VALUE, 7, [1, 2])
    assert values["full"] == given["full"]
    assert values["many"] == repr(list(range(99)))[:VALUE] + "…"


def test_the_prompts_of_an_iteration_are_left_out() -> None:
    """The log has them."""
    event = kept(IterationStarted(1, instructions="i", status_instructions="s", system_prompt="p"))
    assert (event.instructions, event.status_instructions, event.system_prompt) == ("", "", "")
