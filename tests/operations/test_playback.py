"""A recorded run on a console: the same lines, each with its state, at a pace from outside, bounded."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from claude_iterate.core.events import Entry, IterationStarted, RunStarted, Said
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.operations.playback import ConsolePlayback, RecordedPace, recorded_console, usual_speed
from claude_iterate.workspace.journal_reader import JournalFollower

STARTED = RunStarted("r1", "my-task", "loop", 50, 1, "here", "1", ("claude",), "a.log")


class Seen:
    """A sink that keeps how it was called."""

    def __init__(self) -> None:
        self.seen: list[tuple[Entry, RunState]] = []
        self.ticks: list[float] = []

    def __call__(self, entry: Entry, state: RunState) -> None:
        self.seen.append((entry, state))

    def tick(self, now: float) -> None:
        self.ticks.append(now)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def entries(count: int, together: int = 1) -> Iterator[Entry]:
    """Entries of a run, of which `together` were recorded in one write."""
    yield Entry(1, 100.0, 0.0, STARTED)
    for number in range(2, count + 1):
        moment = float((number - 2) // together + 1)
        yield Entry(number, 100.0 + moment, moment, Said(f"words {number}"))


def write(path: Path, *shown: Entry) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in shown))


def test_each_entry_comes_with_the_state_after_it() -> None:
    """That is the fold of all entries so far, however many were recorded together."""
    sink = Seen()
    playback = ConsolePlayback(sink)
    playback.show(entries(7, together=3))
    assert [entry.seq for entry, _ in sink.seen] == [1, 2, 3, 4, 5, 6, 7]
    assert sink.seen[3][1] == fold(list(entries(4)))
    assert playback.state == fold(list(entries(7, together=3)))


def test_the_pace_is_asked_before_each_entry_and_may_tick() -> None:
    """The clock is the caller's: it waits as it likes, and the live line moves meanwhile."""
    sink, asked = Seen(), []

    def pace(entry: Entry, tick: Callable[[float], None]) -> None:
        asked.append((entry.seq, len(sink.seen)))
        tick(entry.elapsed - 0.5)

    ConsolePlayback(sink, pace).show(entries(3))
    assert asked == [(1, 0), (2, 1), (3, 2)]
    assert sink.ticks == [-0.5, 0.5, 1.5]


def test_a_pause_is_shortened_and_the_clocks_go_on() -> None:
    """Ten minutes at ten times the speed are cut to two seconds; in between both clocks pass evenly."""
    waited: list[float] = []
    drawn: list[tuple[float, float]] = []
    pace = RecordedPace(10.0, 2.0, waited.append)
    pace(Entry(1, 1000.0, 0.0, Said("a")), lambda now: drawn.append((now, pace.wall())))
    pace(Entry(2, 1600.0, 600.0, Said("b")), lambda now: drawn.append((now, pace.wall())))
    assert sum(waited) == pytest.approx(2.0)
    assert [round(now) for now, _ in drawn] == [60 * part for part in range(1, 10)]
    assert all(wall == pytest.approx(1000.0 + now) for now, wall in drawn)
    assert pace.wall() == 1600.0


def test_at_once_waits_for_nothing_and_a_part_not_for_the_rest() -> None:
    """Nor does a clock that was set back."""
    waited: list[float] = []
    sink = Seen()
    told = [Entry(number, 0.0, moment, Said("a")) for number, moment in ((1, 0.0), (2, 9.0), (3, 4.0), (4, 90.0))]
    ConsolePlayback(sink, RecordedPace(0.0, wait=waited.append)).show(told)
    ConsolePlayback(sink, RecordedPace(1.0, wait=waited.append), range(2, 4)).show(told)
    assert waited == []
    assert [entry.seq for entry, _ in sink.seen] == [1, 2, 3, 4, 2, 3]
    assert (usual_speed(30.0), usual_speed(28_800.0)) == (1.0, 480.0)


def test_of_a_long_journal_the_end_is_whole(tmp_path: Path) -> None:
    """What Claude said long ago is not read by those who only want to know what happened."""
    path = tmp_path / "journal.ndjson"
    more = [Entry(101, 300.0, 200.0, IterationStarted(1)), Entry(102, 301.0, 201.0, Said("the last words"))]
    write(path, *entries(100), *more)
    sink = Seen()
    ConsolePlayback(sink).show(JournalFollower(path, whole=100).entries())
    shown = [entry.seq for entry, _ in sink.seen]
    assert shown[:1] + shown[-2:] == [1, 101, 102]
    assert len(shown) < 10


def test_the_console_has_the_settings_of_the_run() -> None:
    """The level and the colours of the run, unless others are wanted; what is not known counts as not set."""
    started = msgspec.structs.replace(STARTED, settings={"output": "quiet", "colors": False, "stop.no_progress": 9})
    found = recorded_settings(started)
    assert (found.output, found.colors, found.stop.no_progress) == ("quiet", False, 9)
    newer = msgspec.structs.replace(STARTED, settings={"output": "sung", "stop.later": 1, "notify.url": "***"})
    assert recorded_settings(newer).output == "progress"
    for level, lines in (("", 0), ("verbose", 1)):
        err = io.StringIO()
        console = recorded_console(started, io.StringIO(), err, level)
        ConsolePlayback(console).show(entries(2))
        assert ("words 2" in err.getvalue()) == bool(lines)
