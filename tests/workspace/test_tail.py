"""A journal that grows is read bit by bit: nothing is missed, nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.core.events import Entry, Said
from claude_iterate.workspace.journal.tail import Tail, latest, tail
from claude_iterate.workspace.journal.writer import JournalWriter


def entries(count: int) -> list[Entry]:
    return [Entry(number, 1.5, 0.5, Said(f"text {number} \u2028 é")) for number in range(1, count + 1)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("journal") / "events.ndjson"
    writer = JournalWriter(path, pytest.fail)
    for entry in entries(20):
        writer.append(entry)
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growing") / "events.ndjson"


@settings(deadline=None, max_examples=50)
@given(cuts=st.lists(st.integers(0, 2000), max_size=10))
def test_any_growth_gives_the_same_entries(written: bytes, growing: Path, cuts: list[int]) -> None:
    """However the file was cut when it was looked at, every entry is returned once and in order."""
    path, cursor = growing, 0
    found: list[Entry] = []
    for end in [*sorted(cuts), len(written)]:
        path.write_bytes(written[:end])
        added = tail(path, cursor)
        assert added.cursor >= cursor
        found += added.entries
        cursor = added.cursor
    assert found == entries(20)
    assert tail(path, cursor) == Tail([], cursor)


def test_a_half_written_line_is_left_for_the_next_time(written: bytes, tmp_path: Path) -> None:
    """The cursor stays before it."""
    path = tmp_path / "j"
    first = written.index(b"\n") + 1
    path.write_bytes(written[: first + 10])
    added = tail(path)
    assert (len(added.documents), added.cursor) == (1, first)


def test_a_file_that_is_not_there_has_added_nothing(tmp_path: Path) -> None:
    """It may come later: the cursor is its beginning."""
    assert tail(tmp_path / "none", 7) == Tail([], 0)
    assert latest(tmp_path / "none") == []


def test_a_shorter_file_is_read_from_its_beginning(written: bytes, tmp_path: Path) -> None:
    """It was replaced: the old cursor means nothing."""
    path = tmp_path / "j"
    path.write_bytes(written[: written.index(b"\n") + 1])
    assert tail(path, len(written)).entries == entries(1)


def test_what_is_not_an_entry_is_passed_over(written: bytes, tmp_path: Path) -> None:
    """Junk is left out; an event of a later version is a document, but not an entry."""
    path = tmp_path / "j"
    later = b'{"seq": 9, "at": 1.0, "elapsed": 1.0, "event": {"event": "Invented"}}\n'
    path.write_bytes(b"junk\n[1]\n\xff\n" + later + written)
    added = tail(path)
    assert len(added.documents) == 21
    assert added.entries == entries(20)
    assert added.cursor == path.stat().st_size


def test_a_line_longer_than_one_reading_is_read_whole(tmp_path: Path) -> None:
    """Five megabytes in one line, then a short one: both arrive."""
    path = tmp_path / "j"
    path.write_bytes(b'{"long": "' + b"x" * 5_000_000 + b'"}\n{"short": 1}\n')
    found, cursor = [], 0
    while (added := tail(path, cursor)).cursor != cursor:
        found += added.documents
        cursor = added.cursor
    assert [list(row) for row in found] == [["long"], ["short"]]


def test_the_latest_entries_are_whole(written: bytes, tmp_path: Path) -> None:
    """A part of a line at the beginning and a half-written one at the end are left out."""
    path = tmp_path / "j"
    path.write_bytes(written + b'{"seq": 21')
    assert latest(path) == entries(20)
    some = latest(path, 300)
    assert 0 < len(some) < 20
    assert some == entries(20)[-len(some) :]
