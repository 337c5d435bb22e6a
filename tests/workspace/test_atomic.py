"""An atomic write leaves the old file or the new one, and what a killed writer leaves is found and removed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_iterate.system import untrusted_files
from claude_iterate.workspace.layout import Layout

DEAD = "4194303-abcd1234.tmp"
"""What the name of a temporary file ends with whose writer is dead."""
_WRITER = """
import sys
from pathlib import Path
from claude_iterate.system import untrusted_files
with untrusted_files.open_replacement(Path(sys.argv[1])) as file:
    file.write(b"new")
    print(*Path(sys.argv[1]).parent.glob(".*.tmp"), flush=True)
    input()
"""


class Writer:
    """Another process, in the middle of an atomic write."""

    def __init__(self, target: Path) -> None:
        command = [sys.executable, "-c", _WRITER, str(target)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.temporary = Path(self._process.stdout.readline().decode().strip())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def finish(self) -> int:
        self._process.communicate(b"\n")
        return self._process.returncode


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path, tmp_path / "w")
    for folder in (layout.folder, layout.control, layout.notes):
        folder.mkdir()
    layout.metadata.write_text("old")
    return layout


@pytest.fixture
def writer(layout: Layout) -> Iterator[Writer]:
    writer = Writer(layout.metadata)
    assert writer.temporary.parent == layout.folder
    yield writer
    writer.kill()


def test_what_a_killed_writer_left_is_found_and_removed(layout: Layout, writer: Writer) -> None:
    """At once, and the file that it was about to replace is as it was."""
    writer.kill()
    assert untrusted_files.find_abandoned(layout.folder) == [writer.temporary]
    assert layout.metadata.read_text() == "old"
    layout.abandoned(remove=True)
    assert not writer.temporary.exists()


def test_what_a_living_writer_uses_is_left_alone(layout: Layout, writer: Writer) -> None:
    """Neither found nor removed; the writer then ends well."""
    untrusted_files.write_text(layout.metadata, "next")
    assert layout.abandoned(remove=True) == []
    assert writer.temporary.exists()
    assert writer.finish() == 0
    assert layout.metadata.read_text() == "new"


_BUSY = """
import sys
from pathlib import Path
from claude_iterate.system import untrusted_files
for number in range(300):
    untrusted_files.write_text(Path(sys.argv[1]) / "file", str(number))
    untrusted_files.find_abandoned(Path(sys.argv[1]), remove=True)
"""


def test_writers_and_removers_at_the_same_time_do_not_hurt_each_other(tmp_path: Path) -> None:
    """All end well, and nothing is left."""
    command = [sys.executable, "-c", _BUSY, str(tmp_path)]
    busy = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[1] for process in busy] == [b""] * 4
    assert os.listdir(tmp_path) == ["file"]


def test_only_what_belongs_to_files_of_ours_is_removed(tmp_path: Path) -> None:
    """The folder may be the user's, with temporary files of other programs."""
    names = [f".theirs.{DEAD}", ".file.4194303-abcd1234", ".file.4194303-ABCD1234.tmp", ".file.abcd1234.tmp"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".file.{DEAD}").mkdir()
    (tmp_path / ".file.4194303-abcd5678.tmp").symlink_to(tmp_path / "nowhere")
    assert untrusted_files.find_abandoned(tmp_path, "file", remove=True) == []
    assert len(os.listdir(tmp_path)) == len(names) + 2


def test_leftovers_of_a_workspace_are_found_and_removed(layout: Layout) -> None:
    """Also those of notes and of requests; a folder that is a link is left alone."""
    elsewhere = layout.root / "elsewhere"
    elsewhere.mkdir()
    layout.control.rmdir()
    layout.control.symlink_to(elsewhere)
    kept = elsewhere / f".x.json.{DEAD}"
    gone = [layout.folder / f"..metadata.json.{DEAD}", layout.notes / f".1.md.{DEAD}"]
    for path in (kept, *gone):
        path.touch()
    assert layout.abandoned() == gone
    layout.abandoned(remove=True)
    assert [path.exists() for path in (kept, *gone)] == [True, False, False]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """Not even the temporary file; the error names the file that the user knows."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as raised:
        untrusted_files.write_text(tmp_path / "folder", "x")
    assert raised.value.filename == str(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
