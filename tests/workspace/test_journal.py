"""The journal: in order, whole after a crash, patient with a full disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

from claude_iterate.core.events import AgentStarted, Entry, IterationStarted, RunStarted, Said, Warned
from claude_iterate.workspace import journal
from claude_iterate.workspace.journal import JournalWriter
from claude_iterate.workspace.layout import Layout

STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",))


def entries(count: int) -> list[Entry]:
    return [Entry(number, 1.5, 0.5, Said(f"text {number} \u2028 \u0085 \x1c é")) for number in range(1, count + 1)]


def written(path: Path, given: list[Entry]) -> None:
    writer = JournalWriter(path, lambda text: None)
    for entry in given:
        writer.append(entry)
    writer.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Also texts with characters that some take for line ends."""
    written(tmp_path / "r" / "events.ndjson", entries(100))
    assert list(journal.read(tmp_path / "r" / "events.ndjson")) == entries(100)


def test_a_torn_end_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    """A crash leaves half a line; everything before it counts."""
    path = tmp_path / "events.ndjson"
    written(path, entries(3))
    with path.open("ab") as file:
        file.write(b'{"not": "an entry"}\n\xff\xfe\n\n{"seq": 4, "at": 1.0, "el')
    assert list(journal.read(path)) == entries(3)


def test_an_event_of_a_later_version_does_not_hide_the_others(tmp_path: Path) -> None:
    """A kind that this version does not know is passed over."""
    path = tmp_path / "events.ndjson"
    written(path, entries(1))
    with path.open("ab") as file:
        file.write(json.dumps({"seq": 2, "at": 1.0, "elapsed": 1.0, "event": {"event": "Invented"}}).encode() + b"\n")
    written(path, [Entry(3, 1.0, 1.0, AgentStarted(7))])
    assert [entry.seq for entry in journal.read(path)] == [1, 3]


def test_long_texts_are_shortened_and_say_so(tmp_path: Path) -> None:
    """The whole lies in the raw stream."""
    path = tmp_path / "events.ndjson"
    written(
        path, [Entry(1, 0, 0, Said("x" * 10_000)), Entry(2, 0, 0, IterationStarted(1, "I" * 10_000, "S", "P", 5, 6))]
    )
    first, second = journal.read(path)
    assert isinstance(first.event, Said)
    assert len(first.event.text) + first.event.cut == 10_000
    assert second.event == IterationStarted(1, prompt_bytes=5, system_prompt_bytes=6)
    assert path.stat().st_size < 1000


def test_a_full_disk_loses_nothing_while_the_run_lives(tmp_path: Path) -> None:
    """What could not be written is kept, told once, and written when there is room again."""
    said: list[str] = []
    path = tmp_path / "events.ndjson"
    writer = JournalWriter(path, said.append)
    real = writer._handle
    writer._handle = os.open("/dev/full", os.O_WRONLY)
    for entry in entries(3):
        writer.append(entry)
        writer.write_out()
    os.close(writer._handle)
    writer._handle = real
    writer.close()
    assert len(said) == 1
    assert list(journal.read(path)) == entries(3)


def test_the_newest_run_that_began_is_found(tmp_path: Path) -> None:
    """A folder without a journal, or with an empty one, is no run."""
    layout = Layout(tmp_path, tmp_path / "w")
    written(layout.journal("20260101-000000-a"), [Entry(1, 0, 0, STARTED)])
    written(layout.journal("20260102-000000-b"), [Entry(1, 0, 0, STARTED), Entry(2, 0, 0, Warned("x"))])
    layout.journal("20260103-000000-c").parent.mkdir()
    layout.journal("20260104-000000-d").parent.mkdir()
    layout.journal("20260104-000000-d").touch()
    found = journal.last_run(layout)
    assert found is not None
    assert found[0] == "20260102-000000-b"
