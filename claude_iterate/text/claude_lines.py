"""What Claude prints as lines: the verbose console and the log show the same, with different limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_iterate.core import events
from claude_iterate.core.formats import (
    clip,
    duration,
    first_and_rest,
    indent,
    indent_head,
    indent_text,
    money,
    one_line,
    plural,
    precise_moment,
)
from claude_iterate.text.tool_lines import OUTPUT_LINES, call_lines, headline, name_from, result_lines

SUB_AGENT = "    "
_NOISE = frozenset({"thinking_tokens"})
"""Notes of Claude Code that come by the second and say nothing to a reader."""


def lines(event: events.Event, whole: bool) -> list[str]:
    """The lines of an event of Claude's stream; none for an event of the run itself. `whole`: nothing is shortened, as
    in the log."""
    kind = type(event)
    if kind in _LIMITED:
        block = _LIMITED[kind](event, whole)
    elif kind in _WRITERS:
        block = _WRITERS[kind](event)
    else:
        return []
    return [indent_text(text, SUB_AGENT) for text in block] if getattr(event, "parent", "") else block


def _assistant_text(event: events.AssistantText) -> list[str]:
    if event.error:
        first, rest = first_and_rest(event.text)
        return [f"❌ {first or event.error}", *indent(rest), *_cut_mark(event.cut)]
    text = event.text or "(empty message)"
    return [text, *_cut_mark(event.cut)] if event.cut else [text]


def _prompt_sent(event: events.PromptSent, whole: bool) -> list[str]:
    text, *more = indent_head(event.text or "(empty message to the model)", None if whole else OUTPUT_LINES, "  ")
    first, feed, rest = text.partition("\n")
    return [f"→ {first.lstrip()}{feed}{rest}", *more, *_cut_mark(event.cut)]


def _limit(event: events.LimitReported) -> list[str]:
    if event.status == "allowed":
        return []
    parts = [f"⚠ Usage limit{' ' + event.window if event.window else ''}: {event.status}"]
    if event.utilization is not None:
        parts.append(f"{event.utilization * 100:.0f}% used")
    if event.resets_at is not None:
        parts.append(f"resets {precise_moment(event.resets_at)}")
    return [", ".join(parts)]


def _agent_note(event: events.AgentNoted) -> list[str]:
    if event.kind in _NOISE:
        return []
    first, rest = first_and_rest(event.text)
    return [f"· {event.kind}: {first}" if first else f"· {event.kind}", *indent(rest)]


def _unparsed_line(event: events.UnparsedLine) -> list[str]:
    more = event.bytes - len(event.text.encode("utf-8", "replace"))
    missing = f" ... ({plural(more, 'more byte')})" if more > 1 else ""
    return [f"? {event.text}{missing}"]


def _session(event: events.SessionOpened) -> list[str]:
    model = f" · model {event.model}" if event.model else ""
    version = f" · Claude Code {event.version}" if event.version else ""
    mode = f" · permissions {event.permission_mode}" if event.permission_mode else ""
    return [f"Session opened{model}{version}{mode}", *[f"   ⚠ {one_line(problem)}" for problem in event.problems]]


def _result(event: events.ResultReported) -> list[str]:
    tokens = event.tokens
    read = tokens.input + tokens.cache_read + tokens.cache_creation
    # An API error comes with the subtype `success`.
    kind = event.subtype if event.subtype.startswith("error") else "error"
    status = f" (HTTP {event.api_error_status})" if event.api_error_status else ""
    what = f"❌ Result: {kind}{status}" if event.is_error else f"■ Result: {event.subtype or 'unknown'}"
    took = [duration(event.duration_ms / 1000)] if event.duration_ms else []
    figures = [plural(event.turns, "turn"), *took, money(event.cost_usd), f"{read:,} tokens in, {tokens.output:,} out"]
    block = [" · ".join([what, *figures])]
    if event.is_error:
        # A success repeats the last message, which has been shown; an error may be said nowhere else.
        for text in (*event.errors, event.text):
            block += [indent_text(text.strip())] if text.strip() else []
    block += [f"   ⚠ Denied: {denial.tool} {one_line(denial.detail)}".rstrip() for denial in event.denials]
    return block


def _cut_mark(characters: int) -> list[str]:
    return [f"... ({plural(characters, 'more character')} in the raw output)"] if characters else []


_LIMITED: dict[type, Callable[[Any, bool], list[str]]] = {
    events.ToolCalled: call_lines,
    events.ToolResult: result_lines,
    events.PromptSent: _prompt_sent,
}
"""Events of which the log may show more than the console. All others have the same lines in both."""
_WRITERS: dict[type, Callable[[Any], list[str]]] = {
    events.AssistantText: _assistant_text,
    # Some models send thinking without its text.
    events.Thought: lambda event: [f"💭 {event.text or '(thinking, text not shown)'}", *_cut_mark(event.cut)],
    events.TaskStarted: lambda event: [
        f"▶ Task started{f' ({event.kind})' if event.kind else ''}: {one_line(event.description) or event.id}"
    ],
    events.TaskEnded: lambda event: [f"■ Task {event.status or 'ended'}: {one_line(event.summary) or event.id}"],
    events.ApiRetried: lambda event: [
        (
            f"↻ API error {' '.join(str(part) for part in (event.status, event.error) if part) or 'unknown'}:"
            f" retry {event.attempt} of {event.max_retries} in {event.delay:.1f}s"
        )
    ],
    events.LimitReported: _limit,
    events.ContextCompacted: lambda event: [
        f"· Context compacted{f' ({event.trigger})' if event.trigger else ''}"
        + (f": there were {plural(event.tokens, 'token')}" if event.tokens else "")
    ],
    events.AgentNoted: _agent_note,
    events.ResultReported: _result,
    events.UnparsedLine: _unparsed_line,
    events.ErrorPrinted: lambda event: [f"stderr: {event.text}"],
    events.SessionOpened: _session,
}


PARAGRAPHS = frozenset({events.AssistantText, events.Thought, events.PromptSent, events.ResultReported})
ABOUT_COLUMNS = 80
MOST_OPEN = 1000


class Transcript:
    """Claude's events one after another: empty lines where a reader needs them, each result tied to its call."""

    def __init__(self, whole: bool) -> None:
        self._whole = whole
        self._before: type | None = None
        self._open: dict[str, str] = {}
        """The headline of each call that has no answer yet; its input can be large."""
        self._latest = ""
        self._folder = ""
        """Where Claude works: the console names files from there, the log names them whole."""

    def lines(self, event: events.Event) -> list[str]:
        """The lines of the next event, with an empty one ahead where a new paragraph begins."""
        if isinstance(event, events.SessionOpened):
            self._folder = event.cwd
        if isinstance(event, events.ToolCalled) and self._folder and not self._whole:
            event = name_from(self._folder, event)
        block = lines(event, self._whole)
        if not block:
            return block
        kind, before = type(event), self._before
        self._before = kind
        if isinstance(event, events.ToolCalled):
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            self._open[event.id], self._latest = headline(event), event.id
            return ["", *block]
        if isinstance(event, events.ToolResult):
            return [block[0] + self._about(event), *block[1:]]
        return ["", *block] if kind is not before and kind in PARAGRAPHS else block

    def break_paragraph(self) -> None:
        """Something else was written in between."""
        self._before = None

    def _about(self, event: events.ToolResult) -> str:
        """Which call this answers; nothing when the call stands right above."""
        call, latest = self._open.pop(event.id, ""), self._latest
        self._latest = ""
        return f"  ← {clip(call, ABOUT_COLUMNS)}" if call and event.id != latest else ""
