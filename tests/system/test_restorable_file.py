"""A file that is written for hours keeps its name and its content, whatever others do to the name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.system.restorable_file import RestorableFile


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.unlink()
    path.write_text("an older version")


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize("act", [deleted, replaced, linked])
def test_it_is_put_back_with_all_that_was_written(tmp_path: Path, act: Callable[[Path], None]) -> None:
    """And writing goes on in the file that has the name; a link is replaced, not followed."""
    path = tmp_path / "file"
    file = RestorableFile(path, 0o644)
    os.write(file.handle, b"one\n" * 1000)
    seen = [file.in_place]
    act(path)
    seen.append(file.in_place)
    os.write(file.handle, b"two\n")
    file.put_back()
    assert [*seen, file.in_place] == [True, False, True]
    os.write(file.handle, b"three\n")
    assert path.read_bytes() == b"one\n" * 1000 + b"two\nthree\n"
    assert os.listdir(tmp_path) == ["file"]
    os.close(file.handle)


def test_a_file_that_only_has_another_number_is_in_place(tmp_path: Path) -> None:
    """Some file systems of networks change the numbers; a file that was moved away is not in place."""
    path = tmp_path / "file"
    file = RestorableFile(path, 0o644)
    os.write(file.handle, b"one\n")
    file._identity = (0, 0)
    seen = [file.in_place]
    path.rename(tmp_path / "away")
    seen.append(file.in_place)
    path.write_bytes(b"other\n")
    assert [*seen, file.in_place] == [True, False, False]
    os.close(file.handle)


def test_what_cannot_be_made_leaves_all_as_it_was(tmp_path: Path) -> None:
    """Nothing is lost before there is another file."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "file"
    file = RestorableFile(path, 0o644)
    os.write(file.handle, b"one\n")
    path.unlink()
    path.parent.rmdir()
    with pytest.raises(FileNotFoundError):
        file.put_back()
    path.parent.mkdir()
    file.put_back()
    assert path.read_bytes() == b"one\n"
    os.close(file.handle)


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    """One that is there is an error, if a new one is wanted."""
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        RestorableFile(tmp_path / "file", 0o644, new=True)
