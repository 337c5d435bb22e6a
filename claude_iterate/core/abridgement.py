"""What the journal keeps: everything that decides or counts. Long texts are shortened, floods of lines are counted.

`raw/` has all that Claude printed, so the journal can stay small; `cut` says how much is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from claude_iterate.core import events

_Text = events.Said | events.Thought | events.Told | events.ResultReported | events.OneOffCallFinished
TEXT = 300
VALUE = 160
_PLAIN = (bool, int, float, type(None))


def abridge(entry: events.Entry) -> events.Entry:
    """The same entry, or one whose event is shortened."""
    event = entry.event
    shorten = _SHORTENED.get(type(event))
    if shorten is None:
        return entry
    shorter = shorten(event)
    return entry if shorter is event else events.Entry(entry.seq, entry.at, entry.elapsed, shorter)


def _call(event: events.ToolCalled) -> events.Event:
    for value in event.input.values():
        if type(value) is not str or len(value) > VALUE:
            values = {key: _value(value) for key, value in event.input.items()}
            return events.ToolCalled(event.id, event.name, values, event.parent)
    return event


def _answer(event: events.ToolAnswered) -> events.Event:
    text = event.text[:TEXT]
    cut = len(event.text) - len(text)
    return events.ToolAnswered(event.id, event.name, text, event.is_error, {}, event.parent, cut)


def _text(event: _Text) -> events.Event:
    over = len(event.text) - TEXT
    return replace(event, text=event.text[:TEXT], cut=over) if over > 0 else event


def _result(event: events.ResultReported | events.OneOffCallFinished) -> events.Event:
    return _text(event if event.structured is None else replace(event, structured=None))


def _iteration(event: events.IterationStarted) -> events.Event:
    return replace(event, instructions="", status_instructions="", system_prompt="")


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= VALUE else f"{value[:VALUE]}…"
    if isinstance(value, _PLAIN):
        return value
    text = repr(value)
    return value if len(text) <= VALUE else f"{text[:VALUE]}…"


_SHORTENED: dict[type, Callable[[Any], events.Event]] = {
    events.Said: _text,
    events.Thought: _text,
    events.Told: _text,
    events.ResultReported: _result,
    events.OneOffCallFinished: _result,
    events.ToolCalled: _call,
    events.ToolAnswered: _answer,
    events.IterationStarted: _iteration,
}
FLOODS: dict[type, int] = {events.GarbageSeen: 100, events.ErrorPrinted: 1000, events.AgentExited: 0}
"""How many of a kind are kept in a call; the exit of Claude is its end."""


class Floods:
    """Counts what was left out since the call began."""

    def __init__(self) -> None:
        self._seen: dict[type, int] = {}
        self._last: dict[type, events.Entry] = {}
        self._bytes = 0

    def thinned(self, entry: events.Entry) -> list[events.Entry]:
        """What to keep in place of an entry of such a kind."""
        event, kind = entry.event, type(entry.event)
        if kind is events.AgentExited:
            return [*self.rest(), entry]
        self._seen[kind] = self._seen.get(kind, 0) + 1
        if self._seen[kind] <= FLOODS[kind]:
            return [entry]
        self._last[kind] = entry
        self._bytes += event.bytes if isinstance(event, events.GarbageSeen) else 0
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
        said = f"({more} more such lines; the journal leaves them out)"
        return events.GarbageSeen(said, self._bytes) if kind is events.GarbageSeen else events.ErrorPrinted(said)
