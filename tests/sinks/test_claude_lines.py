"""How the other events of Claude's stream are shown."""

from __future__ import annotations

import typing

import msgspec
import pytest

from claude_iterate.core import events
from claude_iterate.core.events import (
    AgentNoted,
    ApiRetried,
    AssistantText,
    Denial,
    ErrorPrinted,
    LimitReported,
    PromptSent,
    ResultReported,
    SessionOpened,
    StreamEvent,
    TaskEnded,
    TaskStarted,
    Thought,
    Tokens,
    ToolCalled,
    ToolResult,
    UnparsedLine,
)
from claude_iterate.text.claude_lines import Transcript, lines


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (AssistantText("two\nlines"), ["two", "lines"]),
        (AssistantText("Not logged in", error="authentication_failed"), ["❌ Not logged in"]),
        (Thought("hm\nwell"), ["💭 hm", "well"]),
        (PromptSent("[Request interrupted]"), ["→ [Request interrupted]"]),
        (TaskStarted("t1", "local_bash", "sleep 3"), ["▶ Task started (local_bash): sleep 3"]),
        (TaskEnded("t1", "failed"), ["■ Task failed: t1"]),
        (ApiRetried(3, 10, 4.0, 529, "overloaded"), ["↻ API error 529 overloaded: retry 3 of 10 in 4.0s"]),
        (LimitReported("allowed", "five_hour"), []),
        (
            LimitReported("rejected", "five_hour", 1760538225.0, 0.92),
            ["⚠ Usage limit five_hour: rejected, 92% used, resets 2025-10-15T14:23:45.000Z"],
        ),
        (LimitReported("rejected", "", 1e30), ["⚠ Usage limit: rejected, resets 1e+30"]),
        (AgentNoted("compact_boundary"), ["· compact_boundary"]),
        (AgentNoted("hook", "a\nb"), ["· hook: a", "   b"]),
        (AgentNoted("thinking_tokens", "estimated_tokens=16"), []),
        (UnparsedLine("warning: x", 10), ["? warning: x"]),
        (UnparsedLine("{", 5001), ["? { ... (5000 more bytes)"]),
        (ErrorPrinted("oops"), ["stderr: oops"]),
        (
            SessionOpened("s", "opus", "2.1.197", problems=("MCP x: failed",)),
            ["Session opened · model opus · Claude Code 2.1.197", "   ⚠ MCP x: failed"],
        ),
        (
            ResultReported("success", turns=16, cost_usd=0.42, tokens=Tokens(1500, 300, 20)),
            ["■ Result: success · 16 turns · $0.42 · 1,520 tokens in, 300 out"],
        ),
        (
            ResultReported("success", True, "API Error: 529", api_error_status=529, denials=(Denial("Bash", "ls"),)),
            [
                "❌ Result: error (HTTP 529) · 0 turns · $0.00 · 0 tokens in, 0 out",
                "   API Error: 529",
                "   ⚠ Denied: Bash ls",
            ],
        ),
    ],
)
def test_formats(event: StreamEvent, expected: list[str]) -> None:
    """Each kind of event has its lines."""
    assert "\n".join(lines(event, whole=False)) == "\n".join(expected)


@pytest.mark.parametrize("event", [AssistantText("a\n\nb", "p"), ToolCalled("1", "Bash", {"command": "ls"}, "p")])
def test_sub_agents_are_indented(event: StreamEvent) -> None:
    """What a sub-agent does stands one level to the right."""
    assert [line.startswith("    ") for line in "\n".join(lines(event, whole=True)).split("\n") if line] == [True, True]


def test_every_stream_event_shows_something() -> None:
    """Even with nothing but its required fields, no event of the stream is invisible, but for sums, which the end of
    the call tells, and for what the next event tells again."""
    filled = {str: "x", int: 1}
    silent = {events.UsageReported, events.TasksListed, events.ToolDenied}
    for kind in set(typing.get_args(events.StreamEvent)) - silent:
        hints = typing.get_type_hints(kind)
        required = [filled[hints[name]] for name in kind.__struct_fields__[: _required(kind)]]
        assert lines(kind(*required), whole=False), kind
        assert lines(kind(*required), whole=True), kind


def _required(kind: type[msgspec.Struct]) -> int:
    return len(kind.__struct_fields__) - len(kind.__struct_defaults__)


def test_events_of_the_run_are_not_claudes() -> None:
    """`lines` is for the stream alone."""
    assert lines(events.AgentStarted(1), whole=False) == []


def test_paragraphs() -> None:
    """An empty line before each call and where talk begins, none within."""
    transcript = Transcript(whole=False)
    block = [
        line
        for event in (
            SessionOpened(model="m"),
            AssistantText("a"),
            AssistantText("b"),
            ToolCalled("1", "Bash", {"command": "ls"}),
            ToolResult("1", "Bash", "x"),
            AssistantText("c"),
        )
        for line in transcript.lines(event)
    ]
    assert block == [
        "Session opened · model m",
        "",
        "a",
        "b",
        "",
        "🔧 Bash tool",
        "   Command: ls",
        "✓ Command finished",
        "   Exit code: 0",
        "   x",
        "",
        "c",
    ]


def test_results_of_parallel_calls_name_their_call() -> None:
    """A result that does not stand under its call says which call it answers, found by the id."""
    transcript = Transcript(whole=False)
    transcript.lines(ToolCalled("1", "Bash", {"command": "first"}))
    transcript.lines(ToolCalled("2", "Bash", {"command": "second"}))
    assert transcript.lines(ToolResult("1", "Bash", "x"))[0] == "✓ Command finished  ← Bash first"
    assert transcript.lines(ToolResult("2", "Bash", "x"))[0] == "✓ Command finished  ← Bash second"
