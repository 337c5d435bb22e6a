"""Archives and templates as real processes: nothing outside their folders is touched, and nothing is lost."""

from __future__ import annotations

import hashlib
import io
import os
import resource
import tarfile
from pathlib import Path

import pytest

from tests.e2e.conftest import Loop


def snapshot(folder: Path) -> dict[str, str]:
    """Every path below a folder and what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[str(path)] = "folder"
    return found


@pytest.fixture
def furnished(loop: Loop) -> Loop:
    """A project with a workspace, a template `t` and an archive `a`."""
    loop.make()
    assert loop.call("template", "save", "my-task", "t").code == 0
    assert loop.call("archive", "save", "my-task", "--keep").code == 0
    (made,) = (loop.root / "claude-iterate" / "archive").iterdir()
    made.rename(made.with_name("a.tar.gz"))
    return loop


REFUSED = [
    "archive delete .. --force",
    "archive rm ../workspaces/my-task -f",
    "archive save ..",
    "archive show ../archive/a",
    "archive restore ../archive/a x",
    "archive restore a ../../x",
    "archive restore a /tmp/claude-iterate-x",
    "template use t ../../x",
    "template use ../templates/t x",
    "template save my-task ../../x",
    "template save my-task .. --global --force",
    "template delete ../workspaces -f",
]


@pytest.mark.parametrize("words", REFUSED)
def test_names_lead_nowhere_else(furnished: Loop, words: str) -> None:
    """Exit 2, one line of what and one of what to do; not a byte has changed (defect 34)."""
    before = snapshot(furnished.folder)
    done = furnished.call(*words.split())
    assert (done.code, done.out) == (2, ""), done
    assert "cannot be the name of" in done.err
    assert len(done.err.splitlines()) == 2
    assert snapshot(furnished.folder) == before
    assert not Path("/tmp/claude-iterate-x").exists()


EVIL = {
    "dots": tarfile.TarInfo("../evil"),
    "inner dots": tarfile.TarInfo("w/../../evil"),
    "absolute path": tarfile.TarInfo("/tmp/claude-iterate-x"),
    "absolute link": tarfile.TarInfo("w/link"),
    "link upwards": tarfile.TarInfo("w/link"),
}
EVIL["absolute link"].type, EVIL["absolute link"].linkname = tarfile.SYMTYPE, "/etc"
EVIL["link upwards"].type, EVIL["link upwards"].linkname = tarfile.SYMTYPE, "../../.."


@pytest.mark.parametrize("kind", EVIL)
def test_hostile_archives_are_refused(furnished: Loop, kind: str) -> None:
    """Nothing outside is touched, nothing inside is made, not even for a moment longer than the command lives."""
    with tarfile.open(furnished.root / "claude-iterate" / "archive" / "evil.tar.gz", "w:gz") as tar:
        for name in ("w/.archived.json", "w/.metadata.json", "w/INSTRUCTIONS.md"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"{}"))
        tar.addfile(EVIL[kind])
        if kind.startswith(("absolute link", "link")):
            through = tarfile.TarInfo("w/link/evil")
            through.size = 4
            tar.addfile(through, io.BytesIO(b"evil"))
    before = snapshot(furnished.folder)
    done = furnished.call("archive", "restore", "evil", "x")
    assert (done.code, done.out) == (1, "")
    assert "is refused" in done.err
    assert snapshot(furnished.folder) == before
    assert not Path("/tmp/claude-iterate-x").exists()


@pytest.mark.parametrize("words", ["archive save my-task", "clean my-task --force"])
def test_a_full_disk_loses_nothing(loop: Loop, words: str) -> None:
    """The archive cannot be written to its end: the workspace stays whole, no half archive is left."""
    loop.make()
    (loop.workspace / "noise").write_bytes(os.urandom(300_000))
    before = snapshot(loop.workspace)

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = loop.call(*words.split(), preexec_fn=small_files)
    assert done.code == 1
    assert "could not be archived" in done.err
    assert "It is untouched" in done.err
    assert "Traceback" not in done.err
    assert {path: what for path, what in snapshot(loop.workspace).items() if not path.endswith(".lock")} == before
    assert list((loop.root / "claude-iterate" / "archive").iterdir()) == []


def test_a_full_disk_while_restoring(furnished: Loop) -> None:
    """No half workspace, not even a hidden one; the archive is still good."""
    (furnished.workspace / "noise").write_bytes(os.urandom(300_000))
    assert furnished.call("archive", "save", "my-task").code == 0
    before = snapshot(furnished.folder)
    name = max(path.name for path in (furnished.root / "claude-iterate" / "archive").iterdir())

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = furnished.call("archive", "restore", name, preexec_fn=small_files)
    assert (done.code, "could not be restored" in done.err) == (1, True)
    assert snapshot(furnished.folder) == before
    assert furnished.call("archive", "restore", name).code == 0


def test_a_restored_workspace_goes_on(furnished: Loop) -> None:
    """Away, back under another name, and run."""
    furnished.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    assert furnished.call("archive", "restore", "a", "again").code == 0
    done = furnished.call("run", "again", "-m", "1", "--dry-run")
    assert done.code == 0, done.err
    assert furnished.call("template", "use", "t", "from-template").code == 0
    assert furnished.call("run", "from-template", "-m", "1", "--dry-run").code == 0
