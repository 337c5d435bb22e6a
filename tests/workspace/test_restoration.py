"""What was put away comes back as it was; what must not come out of an archive does not."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace import archive_contents, archives, metadata
from claude_iterate.workspace.project import Project

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "archive" / "old-task-2025-10-01T08-30-00"


def tree(folder: Path) -> dict[str, Any]:
    """Everything below a folder: modes and contents of files, targets of links."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = (path.stat().st_mode, path.stat().st_mtime_ns // 1_000_000, path.read_bytes())
        else:
            found[name] = "folder"
    return found


def restored(project: Project, name: str, target: str, outside_links: bool = False) -> Path:
    found = archives.find(project.archive_folder, name)
    folder = project.workspaces_folder / target
    archives.restore(found, folder, outside_links)
    return folder


def test_what_comes_back_is_what_went_away(project: Project) -> None:
    """Contents, modes, times and links; a file with two names comes back as two files. Only the name
    in the metadata follows the folder (defect 39)."""
    layout = project.create("w", settings={"delay": 3.0}, instructions=b"do it\xff")
    deep = layout.working / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "script").write_text("#!/bin/sh\n")
    (deep / "script").chmod(0o750)
    os.utime(deep / "script", (1_000_000_000, 1_000_000_000.5))
    os.link(deep / "script", layout.working / "twin")
    (layout.working / "b").symlink_to("a/b")
    (deep / "up").symlink_to("../../b")
    (layout.working / "dangling").symlink_to("nowhere")
    (layout.working / "empty").mkdir()
    os.close(os.open(os.fsencode(layout.working) + b"/caf\xe9", os.O_CREAT, 0o600))
    before = tree(layout.folder)
    name = archives.save(layout, project.archive_folder).path.name
    folder = restored(project, name, "other")
    after = tree(folder)
    assert before.pop(".metadata.json") != after.pop(".metadata.json")
    assert after == before
    assert metadata.read(folder / ".metadata.json").document["name"] == "other"
    assert (folder / "working" / "twin").stat().st_nlink == 1
    assert sorted(path.name for path in project.workspaces_folder.iterdir()) == ["other", "w"]


@pytest.mark.parametrize("kind", ["tar", "folder"])
def test_permissions_come_back(project: Project, kind: str) -> None:
    """Private stays private and read-only stays read-only, of the workspace itself too, whatever the umask. What
    goes beyond permissions does not come back, and the owner can always delete what did."""
    layout = project.create("w")
    modes = {"a": 0o700, "a/secret": 0o400, "a/fixed": 0o444, "a/open": 0o666, "shared": 0o1777, "shared/run": 0o4755}
    for name, mode in modes.items():
        path = layout.working / name
        path.mkdir() if name in {"a", "shared"} else path.write_text("x")
        path.chmod(mode)
    layout.folder.chmod(0o700)
    if kind == "tar":
        name = archives.save(layout, project.archive_folder).path.name
    else:
        name = "w-2025-10-01T08-30-00"
        shutil.copytree(layout.folder, project.archive_folder / name)
        (project.archive_folder / name / ".archived.json").write_text('{"originalName": "w"}')
    mask = os.umask(0o022)
    try:
        folder = restored(project, name, "other")
    finally:
        os.umask(mask)
    assert folder.stat().st_mode & 0o7777 == 0o700
    found = {name: (folder / "working" / name).stat().st_mode & 0o7777 for name in modes}
    assert found == {name: mode & 0o777 for name, mode in modes.items()}


def test_a_folder_that_nobody_may_enter_can_be_deleted(project: Project) -> None:
    """An archive from elsewhere may say 0; the owner still owns."""
    project.archive_folder.mkdir(parents=True)
    with tarfile.open(project.archive_folder / "w-2025-10-01T08-30-00.tar.gz", "w:gz") as tar:
        for name, kind in (("w", tarfile.DIRTYPE), ("w/shut", tarfile.DIRTYPE), ("w/.metadata.json", tarfile.REGTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0
            tar.addfile(member)
    folder = restored(project, "w-2025-10-01T08-30-00.tar.gz", "w")
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "shut")] == [0o700, 0o700]
    assert (folder / ".metadata.json").stat().st_mode & 0o777 == 0o400


def test_the_originals_archive_comes_back_unchanged(project: Project) -> None:
    """A directory archive is restored byte for byte, and stays as it is."""
    shutil.copytree(ORIGINAL, project.archive_folder / ORIGINAL.name)
    archived = tree(project.archive_folder)
    folder = restored(project, ORIGINAL.name, "old-task")
    for path in ORIGINAL.rglob("*"):
        if path.is_file() and path.name != ".archived.json":
            assert (folder / path.relative_to(ORIGINAL)).read_bytes() == path.read_bytes()
    assert not (folder / ".archived.json").exists()
    assert tree(project.archive_folder) == archived
    assert project.settings_for(project.layout("old-task")).settings.max_iterations is None


def test_the_originals_tarball_comes_back(project: Project) -> None:
    """Its development version packed the same folder, the manifest anywhere in it."""
    project.archive_folder.mkdir(parents=True)
    path = project.archive_folder / f"{ORIGINAL.name}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(ORIGINAL, arcname="./old-task")
    assert archives.find(project.archive_folder, ORIGINAL.name).workspace == "old-task"
    assert (restored(project, path.name, "x") / "working" / "notes.txt").read_text() == "scratch\n"


def test_a_place_that_is_taken_stays_as_it_is(project: Project) -> None:
    """Workspace, file or dead link: nothing is written over."""
    layout = project.create("w", instructions=b"first")
    name = archives.save(layout, project.archive_folder).path.name
    layout.instructions.write_text("second")
    (project.workspaces_folder / "dead").symlink_to("nowhere")
    for target in ("w", "dead"):
        with pytest.raises(ArchiveProblem, match="already exists"):
            restored(project, name, target)
    assert layout.instructions.read_text() == "second"
    assert not (project.workspaces_folder / "nowhere").exists()


def pack(project: Project, *members: dict[str, Any]) -> str:
    """An archive as an attacker, or a bad program, would make it."""
    project.archive_folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(project.archive_folder / "bad.tar.gz", "w:gz") as tar:
        for given in ({"name": "w/.archived.json", "data": b"{}"}, *members):
            member = tarfile.TarInfo(given["name"])
            data = given.get("data", b"")
            member.size = len(data)
            for key in ("type", "linkname", "pax_headers"):
                if key in given:
                    setattr(member, key, given[key])
            tar.addfile(member, io.BytesIO(data))
    return "bad"


LINK, HARD = {"type": tarfile.SYMTYPE}, {"type": tarfile.LNKTYPE}
EVIL: list[list[dict[str, Any]]] = [
    [{"name": "../evil", "data": b"x"}],
    [{"name": "w/../../evil", "data": b"x"}],
    [{"name": "/tmp/claude-iterate-evil", "data": b"x"}],
    [{"name": "other/evil", "data": b"x"}],
    [{"name": "w/link", "linkname": "/etc/passwd", **LINK}],
    [{"name": "w/link", "linkname": "../../evil", **LINK}],
    [{"name": "w/link", "linkname": "..", **LINK}],
    [{"name": "w/a/link", "linkname": "x/../../../evil", **LINK}],
    [{"name": "w/a/b", "linkname": "../", **LINK}, {"name": "w/link", "linkname": "a/b/../evil", **LINK}],
    [{"name": "w/link", "linkname": "", **LINK}],
    [{"name": "w", "linkname": "/tmp", **LINK}, {"name": "w/evil", "data": b"x"}],
    [{"name": "w/link", "linkname": ".", **LINK}, {"name": "w/link/evil", "data": b"x"}],
    [{"name": "w/same", "linkname": "/etc/passwd", **HARD}],
    [{"name": "w/same", "linkname": "w/good", **HARD}],
    [{"name": "w/device", "type": tarfile.CHRTYPE}],
    [{"name": "w/pipe", "type": tarfile.FIFOTYPE}],
    [{"name": "w/twice", "data": b"1"}, {"name": "w/twice", "data": b"2"}],
    [{"name": "w/a", "data": b"1"}, {"name": "w/a/b", "data": b"2"}],
    [{"name": "w/" + "d/" * 300 + "x", "data": b"1"}],
    [{"name": "w/x", "pax_headers": {"size": "-512"}}],
    [{"name": "w/x", "pax_headers": {"path": "w/nul\0byte"}}],
]


@pytest.mark.parametrize(
    "members", EVIL, ids=lambda members: members[-1]["name"][:20] + members[-1].get("linkname", "")
)
def test_nothing_of_a_bad_archive_is_taken(project: Project, tmp_path: Path, members: list[dict[str, Any]]) -> None:
    """Refused as a whole, before anything is written, here or anywhere else."""
    name = pack(project, {"name": "w/good", "data": b"good"}, *members)
    before = tree(tmp_path)
    with pytest.raises(ArchiveProblem):
        restored(project, name, "w")
    assert tree(tmp_path) == before
    assert not Path("/tmp/claude-iterate-evil").exists()


def test_metadata_that_is_a_link_is_not_written_through(project: Project, tmp_path: Path) -> None:
    """Not even when links outside are asked for."""
    outside = tmp_path / "outside"
    outside.write_text('{"name": "w"}')
    name = pack(project, {"name": "w/.metadata.json", "linkname": str(outside), **LINK})
    restored(project, name, "other", outside_links=True)
    assert outside.read_text() == '{"name": "w"}'


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def no_end(path: Path) -> None:
    whole = bytearray(gzip.decompress(path.read_bytes()))
    whole[1024:1028] = b"\0\1\2\3"
    path.write_bytes(gzip.compress(whole))


def huge_header(path: Path) -> None:
    member = tarfile.TarInfo("w/@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1 << 33
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + b"\0" * 100_000))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        spoil,
        no_end,
        huge_header,
        pipe,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no archive at all\n" * 100),
        lambda path: path.write_bytes(gzip.compress(b"no tar")),
        lambda path: path.write_bytes(gzip.compress(os.urandom(4096))),
    ],
)
def test_damage_is_told(project: Project, damage: Callable[[Path], Any]) -> None:
    """Cut short, spoiled, no tar, not even a file: a clear error, nothing written, still listed and deletable."""
    layout = project.create("w", instructions=os.urandom(5000))
    path = archives.save(layout, project.archive_folder).path
    damage(path)
    with pytest.raises(ArchiveProblem):
        restored(project, path.name, "other")
    with pytest.raises(ArchiveProblem):
        archives.contents(archives.find(project.archive_folder, path.name))
    assert [path.name for path in project.workspaces_folder.iterdir()] == ["w"]
    assert [found.path for found in archives.list_archives(project.archive_folder)] == [path]


def test_too_many_files(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than any workspace has: refused."""
    name = archives.save(project.create("w", instructions=b"do it"), project.archive_folder).path.name
    monkeypatch.setattr(archive_contents, "MOST_ENTRIES", 2)
    with pytest.raises(ArchiveProblem, match="more than 2 files"):
        restored(project, name, "other")


def test_no_room(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit on the disk is not begun."""
    name = archives.save(project.create("w", instructions=b"do it"), project.archive_folder).path.name
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: type("Usage", (), {"free": 10}))
    with pytest.raises(ArchiveProblem, match="No space left"):
        restored(project, name, "other")


def test_a_failure_half_way_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while restoring: no half workspace, not even a hidden one."""
    name = archives.save(project.create("w", instructions=b"do it"), project.archive_folder).path.name

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile, "copyfileobj", full)
    with pytest.raises(ArchiveProblem, match="No space left"):
        restored(project, name, "other")
    assert [path.name for path in project.workspaces_folder.iterdir()] == ["w"]


def test_another_archive_is_not_one_of_ours(project: Project) -> None:
    """A tarball of something else is not made into a workspace."""
    project.archive_folder.mkdir(parents=True)
    with tarfile.open(project.archive_folder / "source.tar.gz", "w:gz") as tar:
        tar.add(Path(__file__), arcname="source/file")
    with pytest.raises(ArchiveProblem, match="not the archive of a workspace"):
        restored(project, "source", "w")


def test_half_an_archive_of_the_original(project: Project) -> None:
    """What it left after a failure (defect 39) is listed as damaged and not taken for a workspace."""
    half = project.archive_folder / "w-2025-10-01T08-30-00"
    half.mkdir(parents=True)
    (half / ".metadata.json").write_text("{}")
    assert "half an archive" in archives.list_archives(project.archive_folder)[0].problem
    with pytest.raises(ArchiveProblem, match="half an archive"):
        restored(project, half.name, "w")
