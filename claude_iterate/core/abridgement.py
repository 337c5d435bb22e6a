"""The form of an event that the journal keeps: everything that decides or counts, long texts shortened.

The whole of what Claude printed lies in `raw/`, so the journal can stay small; `cut` says how much is missing.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from claude_iterate.core.events import (
    Entry,
    ErrandFinished,
    Event,
    IterationStarted,
    ResultReported,
    Said,
    Thought,
    Told,
    ToolAnswered,
    ToolCalled,
)

TEXT = 300
VALUE = 160
_TEXTS = (Said, Thought, Told, ResultReported, ErrandFinished)
_PLAIN = (bool, int, float, type(None))


def abridged(entry: Entry) -> Entry:
    """The same entry, or one whose event is shortened."""
    event = entry.event
    shorter = _shorter(event)
    return entry if shorter is event else Entry(entry.seq, entry.at, entry.elapsed, shorter)


def _shorter(event: Event) -> Event:
    kind = type(event)
    if kind is ToolCalled:
        assert isinstance(event, ToolCalled)
        return ToolCalled(event.id, event.name, _values(event.input), event.parent)
    if kind is ToolAnswered:
        assert isinstance(event, ToolAnswered)
        text = event.text[:TEXT]
        cut = len(event.text) - len(text)
        return ToolAnswered(event.id, event.name, text, event.is_error, {}, event.parent, cut)
    if isinstance(event, _TEXTS):
        over = len(event.text) - TEXT
        return replace(event, text=event.text[:TEXT], cut=over) if over > 0 else event
    if kind is IterationStarted:
        return replace(event, instructions="", status_instructions="", system_prompt="")
    return event


def _values(values: dict[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in values.items()}


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= VALUE else f"{value[:VALUE]}…"
    if isinstance(value, _PLAIN):
        return value
    text = repr(value)
    return value if len(text) <= VALUE else f"{text[:VALUE]}…"
