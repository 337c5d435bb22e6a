"""What a sink is, and one sink made of many: an error in one reaches neither the others nor the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from claude_iterate.core.events import Entry
from claude_iterate.core.state.run_state import RunState


class Sink(Protocol):
    """A reader of entries, called from one thread, in order. Times are elapsed seconds of the run."""

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Take note of what happened; `state` is that of the run right after it. It is in the journal already."""

    def tick(self, now: float) -> None:
        """Time passes: about once a second, busy or not. `now` is on the clock of `Entry.elapsed`."""

    def flush(self) -> None:
        """Put everything noted so far where it belongs: a signal came, or an iteration ended."""

    def close(self) -> None:
        """The run is over; nothing comes after this."""


class Fanout:
    """Hands everything to each sink in the order given. One that raises is left out from then on, and reported once.

    `on_failure` gets the sink's class name and the error, after the other sinks have had their turn; it may itself
    send an entry through the fanout.
    """

    def __init__(self, sinks: Sequence[Sink], on_failure: Callable[[str, Exception], None]) -> None:
        self._all = tuple(sinks)
        self._working = tuple(sinks)
        self._on_failure = on_failure

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Hand on an entry."""
        self._each(lambda sink: sink(entry, state))

    def tick(self, now: float) -> None:
        """Hand on the time."""
        self._each(lambda sink: sink.tick(now))

    def flush(self) -> None:
        """Flush every sink that still works."""
        self._each(lambda sink: sink.flush())

    def close(self) -> None:
        """Close all, the last one first. A sink that failed before is closed too, and not reported again."""
        everyone, self._all = self._all, ()
        working, self._working = self._working, ()
        for sink in reversed(everyone):
            try:
                sink.close()
            except Exception as error:  # noqa: BLE001 -- whatever it is, the next one must be closed
                if sink in working:
                    self._report(sink, error)

    def _each(self, act: Callable[[Sink], None]) -> None:
        failures: list[tuple[Sink, Exception]] = []
        for sink in self._working:
            try:
                act(sink)
            except Exception as error:  # noqa: BLE001 -- an error in a sink must not reach the run
                failures.append((sink, error))
        broken = [sink for sink, _ in failures]
        self._working = tuple(sink for sink in self._working if sink not in broken)
        for sink, failure in failures:
            self._report(sink, failure)

    def _report(self, sink: Sink, error: Exception) -> None:
        with suppress(Exception):
            self._on_failure(type(sink).__name__, error)
