"""What the journal keeps: everything that decides or counts. Long texts are shortened, floods of lines are counted.

`raw/` has all that Claude printed, so the journal can stay small; `cut` says how much is missing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from claude_iterate.core import events

_Text = (
    events.AssistantText
    | events.Thought
    | events.PromptSent
    | events.ToolResult
    | events.ResultReported
    | events.OneOffCallFinished
)
TEXT = 300
VALUE = 160


def abridge(entry: events.Entry) -> events.Entry:
    """The same entry, or one whose event is shortened."""
    event = _shorten(entry.event)
    return entry if event is entry.event else replace(entry, event=event)


def _shorten(event: events.Event) -> events.Event:
    match event:
        case events.AssistantText() | events.Thought() | events.PromptSent():
            return _shorten_text(event)
        case events.ResultReported() | events.OneOffCallFinished():
            return _shorten_text(event if event.structured is None else replace(event, structured=None))
        case events.ToolCalled():
            return replace(event, input={key: _shorten_value(value) for key, value in event.input.items()})
        case events.ToolResult():
            return replace(_shorten_text(event), facts={})
        case events.IterationStarted():
            return replace(event, instructions="", status_instructions="", system_prompt="")
        case _:
            return event


def _shorten_text(event: _Text) -> _Text:
    over = len(event.text) - TEXT
    return replace(event, text=event.text[:TEXT], cut=over) if over > 0 else event


def _shorten_value(value: Any) -> Any:
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= VALUE else f"{text[:VALUE]}…"


FLOODS: dict[type, int] = {events.UnparsedLine: 100, events.ErrorPrinted: 1000, events.AgentExited: 0}
"""How many of a kind are kept in a call; the exit of Claude is its end."""


class Floods:
    """Counts what was left out since the call began."""

    def __init__(self) -> None:
        self._seen: dict[type, int] = {}
        self._last: dict[type, events.Entry] = {}
        self._bytes = 0

    def thin_out(self, entry: events.Entry) -> list[events.Entry]:
        """What to keep in place of an entry of such a kind."""
        event, kind = entry.event, type(entry.event)
        if kind is events.AgentExited:
            return [*self.rest(), entry]
        self._seen[kind] = self._seen.get(kind, 0) + 1
        if self._seen[kind] <= FLOODS[kind]:
            return [entry]
        self._last[kind] = entry
        self._bytes += event.bytes if isinstance(event, events.UnparsedLine) else 0
        return []

    def rest(self) -> list[events.Entry]:
        """One entry for everything of a kind that was left out, in the place of the last."""
        summaries = [
            events.Entry(last.seq, last.at, last.elapsed, self._summary(kind, self._seen[kind] - FLOODS[kind]))
            for kind, last in self._last.items()
        ]
        self._seen, self._last, self._bytes = {}, {}, 0
        return summaries

    def _summary(self, kind: type, more: int) -> events.Event:
        text = f"({more} more such lines; the journal leaves them out)"
        return events.UnparsedLine(text, self._bytes) if kind is events.UnparsedLine else events.ErrorPrinted(text)
