"""What must outlive a loss of power is handed to the disk, and in an order that leaves no half of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.events import AssistantText, Entry, Event, IterationStarted
from claude_iterate.system import untrusted_files
from claude_iterate.workspace.journal_writer import JournalWriter


class Disk:
    """Records what the system is asked to do, in order, and lets it be done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str, int]] = []
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self._noting_sync(getattr(os, name)))
        monkeypatch.setattr(os, "replace", self._noting_replace(os.replace))

    def _noting_sync(self, real: Any) -> Any:
        def sync(handle: int) -> None:
            self._note("sync", os.readlink(f"/proc/self/fd/{handle}"))
            real(handle)

        return sync

    def _noting_replace(self, real: Any) -> Any:
        def replace(old: Any, new: Any, **folders: int) -> None:
            self._note("replace", os.readlink(f"/proc/self/fd/{folders['dst_dir_fd']}") + f"/{new}")
            real(old, new, **folders)

        return replace

    def _note(self, what: str, path: Any) -> None:
        size = os.path.getsize(path) if what == "sync" and os.path.isfile(path) else 0
        self.asked.append((what, str(path), size))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not tell which file is synced")
    return Disk(monkeypatch)


def test_a_file_is_synced_whole_before_it_takes_its_name(tmp_path: Path, disk: Disk) -> None:
    """Else a loss of power could leave an empty file under the right name; the folder follows."""
    untrusted_files.write_bytes(tmp_path / "file", b"12345")
    (first, temporary, size), second, third = disk.asked
    assert (first, Path(temporary).parent, size) == ("sync", tmp_path, 5)
    assert (second, third) == (("replace", str(tmp_path / "file"), 0), ("sync", str(tmp_path), 0))


def synced(disk: Disk, path: Path) -> list[int]:
    """How large the file was each time it was synced."""
    return [size for what, name, size in disk.asked if what == "sync" and name == str(path)]


def test_the_journal_is_synced_after_a_milestone_and_only_then(tmp_path: Path, disk: Disk) -> None:
    """Whole, as often as something of weight was written; what Claude says is not worth the time."""
    path = tmp_path / "r" / "events.ndjson"
    writer = JournalWriter(path, pytest.fail)
    events: list[Event] = [IterationStarted(1), AssistantText("a"), AssistantText("b"), IterationStarted(2)]
    for number, event in enumerate(events, 1):
        writer.append(Entry(number, 0, 0, event))
        writer.write_out()
        writer.sync()
        writer.sync()
    first, last = synced(disk, path)
    assert 0 < first < last == path.stat().st_size
    writer.append(Entry(5, 0, 0, IterationStarted(3)))
    writer.close()
    assert synced(disk, path) == [first, last, path.stat().st_size]
    folders = [name for what, name, _ in disk.asked if what == "sync" and name != str(path)]
    assert folders == [str(path.parent), str(tmp_path)], "once, so that the journal is found there"
