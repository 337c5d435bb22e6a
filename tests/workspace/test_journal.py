"""The journal: in order, whole after a crash, patient with a full disk."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.events import (
    AgentExited,
    AssistantText,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    RunStarted,
    UnparsedLine,
    Warned,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.workspace import journal_reader, journal_writer
from claude_iterate.workspace.journal_writer import SIZE, JournalWriter
from claude_iterate.workspace.layout import Layout

STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",))


def entries(count: int) -> list[Entry]:
    return [
        Entry(number, 1.5, 0.5, AssistantText(f"text {number} \u2028 \u0085 \x1c é")) for number in range(1, count + 1)
    ]


def written(path: Path, given: list[Entry]) -> None:
    writer = JournalWriter(path, lambda text: None)
    for entry in given:
        writer.append(entry)
    writer.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Also texts with characters that some take for line ends."""
    written(tmp_path / "r" / "events.ndjson", entries(100))
    assert list(journal_reader.read(tmp_path / "r" / "events.ndjson")) == entries(100)


def test_a_torn_end_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    """A crash leaves half a line; everything before it counts."""
    path = tmp_path / "events.ndjson"
    written(path, entries(3))
    with path.open("ab") as file:
        file.write(b'{"not": "an entry"}\n\xff\xfe\n\n{"seq": 4, "at": 1.0, "el')
    assert list(journal_reader.read(path)) == entries(3)


def test_the_newest_run_that_began_is_found(tmp_path: Path) -> None:
    """A folder without a journal, or with an empty one, does not count."""
    layout = Layout(tmp_path, tmp_path / "w")
    written(layout.journal("20260101-000000-a"), [Entry(1, 0, 0, STARTED)])
    written(layout.journal("20260102-000000-b"), [Entry(1, 0, 0, STARTED), Entry(2, 0, 0, Warned("x"))])
    layout.journal("20260103-000000-c").parent.mkdir()
    layout.journal("20260104-000000-d").parent.mkdir()
    layout.journal("20260104-000000-d").touch()
    found = journal_reader.last_run(layout)
    assert found is not None
    assert found[0] == "20260102-000000-b"


class Disk:
    """A disk with so much room, seen through the standard library: the journal and its reserve lie on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        monkeypatch.setattr(journal_writer, "os", self)
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_how: NamelessFile(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, handle: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        written = os.write(handle, bytes(data)[: self.room])
        self.room -= written
        return written


class NamelessFile:
    """A file on that disk whose room is free again when it is closed."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._size = 0

    def write(self, data: bytes) -> int:
        if not self._disk.room:
            raise OSError(errno.ENOSPC, "full")
        written = min(len(data), self._disk.room)
        self._disk.room -= written
        self._size += written
        return written

    def close(self) -> None:
        self._disk.room += self._size


def record(writer: JournalWriter, *events: Event) -> None:
    for number, event in enumerate(events):
        writer.append(Entry(number, 1.5, 0.5, event))
    writer.write_out()


def kinds(path: Path) -> list[str]:
    return [type(entry.event).__name__ for entry in journal_reader.read(path)]


FINISHED = IterationFinished(1, Outcome(Kind.OK))


def test_the_end_of_an_iteration_is_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reserve is given for it; nothing may begin after that, and the end of the run fits as well."""
    said: list[str] = []
    disk = Disk(monkeypatch, SIZE + 500)
    writer = JournalWriter(tmp_path / "j", said.append)
    assert writer.secure() == ""
    record(writer, STARTED, IterationStarted(1), *(AssistantText("x" * 90) for _ in range(20)), FINISHED)
    assert "IterationFinished" not in kinds(tmp_path / "j")
    assert writer.secure() == "full"
    assert kinds(tmp_path / "j").count("AssistantText") == 20
    record(writer, RunFinished("agent_failed"))
    writer.close()
    assert kinds(tmp_path / "j")[-2:] == ["IterationFinished", "RunFinished"]
    assert said == ["The journal cannot be written: full."]
    assert disk.room > 0


@pytest.mark.parametrize("room", range(400, 720, 20))
def test_claudes_words_do_not_take_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """More of them than the reserve holds are left out and counted; a line that is half on disk is completed."""
    said: list[str] = []
    Disk(monkeypatch, SIZE + room)
    writer = JournalWriter(tmp_path / "j", said.append)
    writer.secure()
    record(writer, STARTED, IterationStarted(1), *(AssistantText("é" * 90) for _ in range(1000)), FINISHED)
    assert writer.secure() == "full"
    writer.close()
    found = kinds(tmp_path / "j")
    assert [kind for kind in found if kind != "AssistantText"] == [
        "RunStarted",
        "IterationStarted",
        "IterationFinished",
    ]
    assert len((tmp_path / "j").read_bytes().splitlines()) == len(found)
    assert f"leaves out {1000 - found.count('AssistantText')} messages" in said[-1]


def test_what_waits_for_a_full_disk_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more Claude's words are left out and counted; what the run did is there when there is room again."""
    said: list[str] = []
    disk = Disk(monkeypatch, 0)
    monkeypatch.setattr(journal_writer, "MOST", 5000)
    writer = JournalWriter(tmp_path / "j", said.append)
    for number in range(100):
        record(writer, *([STARTED] if number == 0 else []), AssistantText("x" * 900), IterationStarted(number))
    disk.room = 10 * SIZE
    writer.close()
    found = kinds(tmp_path / "j")
    assert (found[0], found.count("IterationStarted")) == ("RunStarted", 100)
    assert f"leaves out {100 - found.count('AssistantText')} messages of Claude (full)" in said[-1]
    assert found.count("AssistantText") * 900 < 5000


def test_when_there_is_room_again_the_run_may_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reserve is taken again, and nothing is missing."""
    said: list[str] = []
    disk = Disk(monkeypatch, SIZE)
    writer = JournalWriter(tmp_path / "j", said.append)
    assert writer.secure() == ""
    record(writer, STARTED, AssistantText("x"), FINISHED)
    assert writer.secure() == "full"
    disk.room += 2 * SIZE
    room = disk.room
    assert writer.secure() == ""
    assert disk.room == room - SIZE, "the reserve is taken again"
    writer.close()
    assert kinds(tmp_path / "j") == ["RunStarted", "AssistantText", "IterationFinished"]
    assert len(said) == 1


def test_what_is_lost_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of the run, if even the reserve was too small."""
    said: list[str] = []
    Disk(monkeypatch, 0)
    writer = JournalWriter(tmp_path / "j", said.append)
    assert writer.secure() == "full"
    record(writer, STARTED, FINISHED)
    writer.close()
    assert said[-1] == f"The last 2 entries of the journal are lost (full): {tmp_path / 'j'}"


def test_a_flood_of_garbage_is_counted(tmp_path: Path) -> None:
    """The first hundred lines of a call are kept, then their number and size; the next call begins with zero."""
    path = tmp_path / "j"
    for _ in range(2):
        flood: list[Event] = [*(UnparsedLine("x", 10) for _ in range(500)), AgentExited(0)]
        written(path, [Entry(number, 0, 0, event) for number, event in enumerate(flood)])
    found = list(journal_reader.read(path))
    assert len(found) == 2 * 102
    assert found[100].event == UnparsedLine("(400 more such lines; the journal leaves them out)", 4000)
    assert found[100].seq == 499
    assert found[203].event == AgentExited(0)


def test_a_flood_without_an_end_is_counted_as_well(tmp_path: Path) -> None:
    """The run was ended in the middle of the call."""
    path = tmp_path / "j"
    written(path, [Entry(number, 0, 0, UnparsedLine("x", 10)) for number in range(500)])
    assert list(journal_reader.read(path))[-1].event.text.startswith("(400 more such lines")  # type: ignore[union-attr]


def test_a_journal_that_was_deleted_is_put_back_with_the_next_milestone(tmp_path: Path) -> None:
    """Not with a word of Claude: while it works, a file that appears could be in the way of its git."""
    put_back: list[str] = []
    path = tmp_path / "runs" / "r" / "j"
    writer = JournalWriter(path, pytest.fail, on_put_back=lambda: put_back.append("journal"))
    record(writer, STARTED, IterationStarted(1))
    shutil.rmtree(tmp_path / "runs")
    record(writer, AssistantText("x"))
    assert (path.exists(), put_back) == (False, [])
    record(writer, FINISHED)
    assert put_back == ["journal"]
    assert kinds(path) == ["RunStarted", "IterationStarted", "AssistantText", "IterationFinished"]
    writer.close()
    assert len(put_back) == 1


def test_nothing_is_written_into_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    """Another workspace may have this name now; that the journal is lost is said at the end."""
    said: list[str] = []
    path = tmp_path / "runs" / "r" / "j"
    writer = JournalWriter(path, said.append, is_ours=lambda: False)
    record(writer, STARTED)
    shutil.rmtree(tmp_path / "runs")
    record(writer, FINISHED)
    assert writer.secure() == ""
    assert not path.parent.exists()
    writer.close()
    assert said == [f"The journal of this run was deleted: {path}"]


def test_nothing_may_begin_while_the_journal_cannot_be_put_back(tmp_path: Path) -> None:
    """Once it can, it is, and all goes on."""
    path = tmp_path / "runs" / "r" / "j"
    writer = JournalWriter(path, pytest.fail)
    record(writer, STARTED)
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "runs").write_text("in the way")
    record(writer, FINISHED)
    assert "cannot be written again: " in writer.secure()
    (tmp_path / "runs").unlink()
    assert writer.secure() == ""
    writer.close()
    assert kinds(path) == ["RunStarted", "IterationFinished"]
