"""Files that others write are read without waiting and without end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    """A file of the allowed size is read, a larger one is not; `look` returns the beginning and says so."""
    path = tmp_path / "report"
    path.write_bytes(b"12345")
    assert untrusted_files.read(path, 5) == b"12345"
    assert untrusted_files.read(path, 4) is None
    found = untrusted_files.look(path, 4)
    assert (found.data, found.whole) == (b"1234", False)
    found = untrusted_files.look(path, 5)
    assert (found.data, found.whole) == (b"12345", True)
    path.write_bytes(b"")
    assert untrusted_files.read(path, 0) == b""


def test_a_file_that_never_ends_is_none(tmp_path: Path) -> None:
    """A terabyte of nothing costs no memory."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert untrusted_files.read(path) is None


def test_what_is_no_regular_file_is_none_at_once(tmp_path: Path) -> None:
    """A pipe without a writer, a socket, a folder, a device, a dangling or circular link, nothing."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(tmp_path, os.O_RDONLY)
        try:
            listener.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)
        for name in ("pipe", "socket", "dangling", "circle", "none", "."):
            assert untrusted_files.read(tmp_path / name) is None, name
    assert untrusted_files.read(Path("/dev/zero")) is None


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    """The agent may keep its report elsewhere."""
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert untrusted_files.read(tmp_path / "link") == b"x"


def test_a_snapshot_neither_hangs_nor_swells(tmp_path: Path) -> None:
    """A pipe and an endless file in the place of a report are errors at once."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceProblem, match="not a regular file"):
        untrusted_files.snapshot(tmp_path / "pipe")
    with pytest.raises(WorkspaceProblem, match="larger than"):
        untrusted_files.snapshot(tmp_path / "large")
    assert untrusted_files.snapshot(tmp_path / "none") is None
