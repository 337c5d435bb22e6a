"""The outbox: in order, bounded, and the last word of a run is never the one that is dropped."""

from __future__ import annotations

from claude_iterate.sinks.notifications.notices import Notice
from claude_iterate.sinks.notifications.outbox import Outbox


def filled(capacity: int, *events: str) -> Outbox:
    box = Outbox(capacity)
    for number, event in enumerate(events):
        box.put(Notice(event, str(number), ""))
    box.close()
    return box


def rest(box: Outbox) -> list[str]:
    found = []
    while (notice := box.take()) is not None:
        found.append(notice.event)
    return found


def test_in_order() -> None:
    """First in, first out; a closed empty box says so."""
    assert rest(filled(9, "execution_start", "iteration", "completion")) == [
        "execution_start",
        "iteration",
        "completion",
    ]


def test_the_oldest_expendable_one_goes_first() -> None:
    """A later status update tells as much."""
    box = filled(3, "execution_start", "status_update", "iteration", "completion")
    assert (box.lost, rest(box)) == (1, ["execution_start", "iteration", "completion"])


def test_the_last_word_stays() -> None:
    """Even where everything else is important."""
    box = filled(2, "error", "verification", "verification", "completion")
    assert rest(box) == ["error", "completion"]


def test_never_more_than_its_capacity() -> None:
    """Whatever comes."""
    box = filled(2, "completion", "error", "blocked", "stopped")
    assert (len(rest(box)), box.lost) == (2, 2)


def test_last_word_empties_the_box() -> None:
    """The final notice comes out, the others are counted as lost."""
    box = filled(9, "iteration", "verification", "completion")
    final = box.last_word()
    assert final is not None
    assert (final.event, box.lost, box.take()) == ("completion", 2, None)
    assert filled(9, "iteration").last_word() is None
