"""The fanout: an error in a sink reaches neither the run nor other sinks."""

from __future__ import annotations

from typing import TypeAlias

from claude_iterate.core.events import AssistantText, Entry
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.fanout import Fanout
from tests.sinks.conftest import entry

Journal: TypeAlias = list[tuple[str, str]]


class Recorder:
    def __init__(self, name: str, journal: Journal) -> None:
        self.name, self.journal = name, journal

    def __call__(self, entry: Entry, state: RunState) -> None:
        assert isinstance(entry.event, AssistantText)
        self.journal.append((self.name, entry.event.text))

    def tick(self, now: float) -> None:
        self.journal.append((self.name, "tick"))

    def flush(self) -> None:
        self.journal.append((self.name, "flush"))

    def close(self) -> None:
        self.journal.append((self.name, "close"))


class Broken(Recorder):
    def __call__(self, entry: Entry, state: RunState) -> None:
        raise RuntimeError("entry")

    def close(self) -> None:
        super().close()
        raise RuntimeError("close")


class BrokenTick(Recorder):
    def tick(self, now: float) -> None:
        raise OSError("tick")


def test_a_broken_sink_is_left_out_and_said_once() -> None:
    """A sink that raises is reported once, and its neighbours miss nothing."""
    journal: Journal = []
    failures: list[tuple[str, str]] = []
    fanout = Fanout(
        [Recorder("a", journal), Broken("x", journal), Recorder("b", journal)],
        lambda name, error: failures.append((name, str(error))),
    )
    for text in "123":
        fanout(entry(AssistantText(text)), RunState())
    fanout.flush()
    assert failures == [("Broken", "entry")]
    assert journal == [(name, text) for text in ("1", "2", "3", "flush") for name in "ab"]
    alone = Fanout([Broken("x", [])], lambda name, error: failures.append((name, str(error))))
    alone.close()
    assert failures == [("Broken", "entry"), ("Broken", "close")]


def test_all_are_closed_in_reverse_order() -> None:
    """close() reaches every sink, the last first; one that failed before is closed and not said again."""
    journal: Journal = []
    failures: list[str] = []
    fanout = Fanout(
        [Recorder("a", journal), Broken("x", journal), Recorder("b", journal)],
        lambda name, error: failures.append(str(error)),
    )
    fanout(entry(AssistantText("1")), RunState())
    fanout.close()
    fanout.close()
    assert [line for line in journal if line[1] == "close"] == [("b", "close"), ("x", "close"), ("a", "close")]
    assert failures == ["entry"]


def test_the_failure_may_itself_be_an_entry() -> None:
    """`on_failure` can send a warning through the same fanout, and even raise."""
    journal: Journal = []

    def warn(name: str, error: Exception) -> None:
        fanout(entry(AssistantText(f"{name} failed")), RunState())
        raise ValueError("no one hears this")

    fanout = Fanout([BrokenTick("t", journal), Recorder("a", journal)], warn)
    fanout.tick(1.0)
    fanout.tick(2.0)
    assert journal == [("a", "tick"), ("a", "BrokenTick failed"), ("a", "tick")]
