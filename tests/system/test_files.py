"""Temporary files are where the system keeps them, and have no name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_iterate.errors import ExpectedError
from claude_iterate.system.files import locked_folder, nameless_file, require_temporary_files, try_lock


def test_a_file_without_a_name_is_private_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be written and read again, in the folder that is asked for, or else in TMPDIR."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for folder in (tmp_path, None):
        with nameless_file(folder) as file:
            file.write(b"some words")
            file.seek(0)
            assert file.read() == b"some words"
            about = os.fstat(file.fileno())
            assert (about.st_mode & 0o777, about.st_nlink) == (0o600, 0)
            assert about.st_dev == tmp_path.stat().st_dev
            assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A file is never put elsewhere than asked for."""
    with pytest.raises(OSError, match="No such file"):
        nameless_file(tmp_path / "missing")


def test_a_bad_tmpdir_is_no_reason_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own folder is used instead, as Python does."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    require_temporary_files()


def test_no_folder_for_temporary_files_is_an_expected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it."""
    monkeypatch.setattr(os, "open", _refuse)
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(ExpectedError) as caught:
        require_temporary_files()
    assert "TMPDIR" in caught.value.hint


def _refuse(*_given: object, **_named: object) -> int:
    raise PermissionError(13, "Permission denied")


def test_a_lock_that_is_never_freed_is_not_waited_for_without_end(tmp_path: Path) -> None:
    """`flock . claude-iterate config KEY VALUE` holds the lock until the command ends. A free lock is taken."""
    ours, theirs = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert try_lock(theirs)
    with locked_folder(tmp_path, patience=0.05):
        pass
    os.close(theirs)
    with locked_folder(tmp_path):
        assert not try_lock(ours)
    assert try_lock(ours)
    os.close(ours)
