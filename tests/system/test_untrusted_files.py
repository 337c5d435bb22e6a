"""Files that others write are read without waiting and without end."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.restorable_file import RestorableFile


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


ACTS: dict[str, Callable[[Path], object]] = {
    "look": untrusted_files.look,
    "open_folder": untrusted_files.open_folder,
    "names": lambda path: list(untrusted_files.scan(path).__enter__()),
    "write": lambda path: untrusted_files.write_text(path / "new", "x"),
    "append": lambda path: RestorableFile(path / "new", 0o644),
    "write_new": lambda path: untrusted_files.write_new(path, "x"),
    "make_folder": lambda path: untrusted_files.make_folder(path / "new"),
    "new_folder": lambda path: untrusted_files.new_folder(path / "new").__enter__(),
    "unlink": lambda path: untrusted_files.unlink(path / "inside"),
    "rename from": lambda path: untrusted_files.rename(path / "inside", path.with_name("other")),
    "rename to": lambda path: untrusted_files.rename(path.with_name("mine"), path / "new"),
    "remove_folder": untrusted_files.remove_folder,
}


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("act", ACTS)
def test_no_link_is_followed(tmp_path: Path, act: str, depth: int) -> None:
    """Neither the last name nor one on the way: nothing is read, made, renamed or removed where it leads."""
    outside, project = tmp_path / "outside", tmp_path / "project"
    (outside / "inside").mkdir(parents=True)
    (outside / "inside" / "inside").write_text("plover")
    project.mkdir()
    (project / "mine").touch()
    (project / "link").symlink_to(outside if depth else outside / "inside")
    with pytest.raises(OSError, match=r"a link|File exists|Not a directory|symbolic link"):
        ACTS[act](project / "link" / "inside" if depth else project / "link")
    assert sorted(path.name for path in outside.rglob("*")) == ["inside", "inside"]
    assert sorted(path.name for path in project.iterdir()) == ["link", "mine"]


def test_a_link_is_told_with_the_way_out(tmp_path: Path) -> None:
    """Which one it is, and the command that puts a copy in its place."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/file")
    for path, link, command in (
        ("link/file", "link", "rm {0} && cp -R {1}/real {0}"),
        ("file", "file", "cp --remove-destination {1}/real/file {0}"),
    ):
        with pytest.raises(untrusted_files.LinkInTheWay) as raised:
            untrusted_files.look(tmp_path / path)
        place = tmp_path / link
        assert raised.value.said == f"{place} is a link; claude-iterate follows none inside a project"
        assert raised.value.hint == f"Put a copy in its place: {command.format(place, tmp_path)}"
        assert subprocess.run(raised.value.hint.partition(": ")[2], shell=True, check=True)
        assert untrusted_files.read(tmp_path / path) == b"x"


def test_a_link_in_the_place_of_a_file_is_replaced(tmp_path: Path) -> None:
    """What it led to stays as it was, and its mode is not taken."""
    secret = tmp_path / "secret"
    secret.write_text("plover")
    secret.chmod(0o600)
    (tmp_path / "file").symlink_to(secret)
    untrusted_files.write_text(tmp_path / "file", "new")
    assert (secret.read_text(), (tmp_path / "file").read_text()) == ("plover", "new")
    assert not (tmp_path / "file").is_symlink()


def test_only_what_the_user_names_outside_follows_links(tmp_path: Path) -> None:
    """A link of the user's around the project is followed, one in it is not, however the project was reached."""
    root, elsewhere = tmp_path / "real" / "project", tmp_path / "elsewhere"
    root.mkdir(parents=True)
    elsewhere.mkdir()
    (tmp_path / "home").symlink_to("real")
    (root / "out").symlink_to(elsewhere)
    (tmp_path / "mine").symlink_to(elsewhere)
    settled = {path: untrusted_files.settle(tmp_path / path, root) for path in ("home/project/out/x", "mine/x", "real")}
    assert [*settled.values()] == [root / "out" / "x", elsewhere / "x", tmp_path / "real"]


def test_a_pattern_finds_what_is_there_and_no_link_leads_it_out(tmp_path: Path) -> None:
    """As a shell would find it: no hidden names, folder by folder."""
    for name in ("a/x.md", "a/.h.md", "b/y.md", "c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "d").symlink_to("a")
    found = {
        pattern: [str(path.relative_to(tmp_path)) for path in untrusted_files.find(tmp_path, pattern)]
        for pattern in ("*.md", "*/*.md", "a/*", "none", "c.md")
    }
    assert found == {"*.md": ["c.md"], "*/*.md": ["a/x.md", "b/y.md"], "a/*": ["a/x.md"], "none": [], "c.md": ["c.md"]}


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
