"""A journal that grows is read bit by bit: nothing is missed, nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.core.events import AssistantText, Entry
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.journal_writer import JournalWriter


def entries(count: int) -> list[Entry]:
    return [Entry(number, 1.5, 0.5, AssistantText(f"text {number} \u2028 é")) for number in range(1, count + 1)]


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
@given(cuts=st.lists(st.integers(0, 2000), max_size=10), grows=st.booleans())
def test_any_growth_gives_the_same_entries(written: bytes, growing: Path, cuts: list[int], grows: bool) -> None:
    """However the file was cut when it was looked at, also when an older version of it came back, every entry is given
    once and in order."""
    growing.unlink(missing_ok=True)
    journal = JournalFollower(growing)
    found = list(journal.entries())
    for end in [*(sorted(cuts) if grows else cuts), len(written)]:
        growing.write_bytes(written[:end])
        found += journal.entries()
    assert (found, list(journal.entries()), journal.cursor) == (entries(20), [], len(written))


def test_a_half_written_line_is_left_for_the_next_time(written: bytes, tmp_path: Path) -> None:
    """The cursor stays before it."""
    path = tmp_path / "j"
    first = written.index(b"\n") + 1
    path.write_bytes(written[: first + 10])
    journal = JournalFollower(path)
    assert (len(list(journal.documents())), journal.cursor) == (1, first)


def test_what_is_not_an_entry_is_passed_over(written: bytes, tmp_path: Path) -> None:
    """Junk is left out; an event of a later version is a document, but not an entry."""
    path = tmp_path / "j"
    later = b'{"seq": 21, "at": 1.0, "elapsed": 1.0, "event": {"event": "Invented"}}\n'
    path.write_bytes(b"junk\n[1]\n\xff\n" + written + later)
    assert len(list(JournalFollower(path).documents())) == 21
    assert list(JournalFollower(path).entries()) == entries(20)


def test_a_line_longer_than_one_reading_is_read_whole(tmp_path: Path) -> None:
    """Five megabytes in one line, then a short one: both arrive."""
    path = tmp_path / "j"
    path.write_bytes(b'{"seq": 1, "long": "' + b"x" * 5_000_000 + b'"}\n{"seq": 2}\n')
    assert [list(row) for row in JournalFollower(path).documents()] == [["seq", "long"], ["seq"]]
