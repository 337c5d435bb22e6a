"""Entries and streams for the tests of the sinks."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from claude_iterate.core.events import Entry, Event, RunStarted
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.fanout import Sink

BEGAN = 1760538225.0  # 2025-10-15T14:23:45Z


class Fed:
    """A sink as the recorder feeds it: each entry comes with the state of the run after it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._state = RunState()
        self.tick, self.flush, self.close = sink.tick, sink.flush, sink.close

    def __call__(self, entry: Entry) -> None:
        self._state = reduce(self._state, entry)
        self._sink(entry, self._state)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


_NUMBERS = itertools.count(1)


def entry(event: Event, elapsed: float = 0.0) -> Entry:
    """An entry: the wall clock in step with `elapsed`."""
    return Entry(next(_NUMBERS), BEGAN + elapsed, elapsed, event)


def started(**changes: Any) -> RunStarted:
    """The beginning of a run."""
    command = ("claude", "--model", "a b")
    usual = RunStarted("r1", "my-task", "loop", 50, 1, "here", "0.1.0", command, log="/w/iterate-1.log")
    return msgspec.structs.replace(usual, **changes)


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the local time zone, in the form that needs no data of the machine."""

    def put(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()
