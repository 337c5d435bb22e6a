"""The entries of a run on a console, as the run itself showed them: folded once, in the batches that were recorded.

`attach` follows a run that is under way and shows what is there at once; `replay` shows one that is over at the pace it
had. Both use it alike:

    journal = JournalFollower(layout.journal(run))      # or any other entries, such as those with their full texts
    playback = ConsolePlayback(recorded_console(...))   # a pace of your own comes second
    playback.show(journal.entries())                    # again, for what was added since
    playback.state, playback.last                       # what all of them came to
    playback.tick(now); playback.close()

Memory does not grow with the number of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice

from claude_iterate.core.events import Entry
from claude_iterate.core.state.run_state import Batch, RunState
from claude_iterate.core.state.steps import reduce
from claude_iterate.sinks.fanout import Sink

MOST = 1000
"""Entries in a batch. What a run recorded in one write has one time; a flood of that is shown in parts."""
Pace = Callable[[Entry, Callable[[float], None]], None]
"""Returns when the moment of an entry has come. Until then it may call the given function with moments in between, on
the clock of `Entry.elapsed`: that redraws the live line."""


def at_once(_entry: Entry, _tick: Callable[[float], None]) -> None:
    """The pace of those who want to see all of it now."""


class ConsolePlayback:
    """Shows entries on a sink."""

    def __init__(self, sink: Sink, pace: Pace = at_once) -> None:
        self._sink = sink
        self._pace = pace
        self.state = RunState()
        """What the entries came to so far."""
        self.last: Entry | None = None

    def show(self, entries: Iterable[Entry]) -> bool:
        """Show these, which come after those before. True if there were any."""
        before = self.last
        for batch in self._batches(entries):
            self._pace(batch[0][0], self._sink.tick)
            self._sink(batch)
        return self.last is not before

    def tick(self, now: float) -> None:
        """Nothing happens, and it is this time on the clock of `Entry.elapsed`."""
        self._sink.tick(now)

    def close(self) -> None:
        """Leave the terminal clean."""
        self._sink.close()

    def _batches(self, entries: Iterable[Entry]) -> Iterator[Batch]:
        for _, together in groupby(entries, lambda entry: (entry.at, entry.elapsed)):
            while part := list(islice(together, MOST)):
                yield [self._folded(entry) for entry in part]

    def _folded(self, entry: Entry) -> tuple[Entry, RunState]:
        self.state, self.last = reduce(self.state, entry), entry
        return entry, self.state
