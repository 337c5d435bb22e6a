"""What git takes along of a workspace, and what it leaves alone."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from claude_iterate.operations import launch
from claude_iterate.workspace import creation
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "use-with-git.md"
RUN = "000001-20260101-000000-abcdef"
COMMITTED = {
    ".gitignore",
    ".metadata.json",
    ".status-instructions.md",
    "INSTRUCTIONS.md",
    "TODO.md",
    "prompts/iteration.md",
    "verification-report.md",
    "working/notes.md",
}
LEFT_ALONE = {
    ".lock",
    ".status.json",
    ".status.json.bak",
    "..metadata.json.4711-0123abcd.tmp",
    "INSTRUCTIONS.md.bak",
    "iterate-20260101-000000.log",
    "iterate-2026-01-01T00-00-00.log",
    "control/00000000000000000001-stop-abcdef.json",
    "notes/00000000000000000001-abcdef.md",
    f"runs/{RUN}/events.ndjson",
    f"runs/{RUN}/raw/0001.ndjson",
}


def git(root: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=root, env=environ, check=True, capture_output=True, text=True)
    return done.stdout


def touch(folder: Path, names: set[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.mark.needs_git
def test_git_takes_the_task_and_leaves_the_record(layout: Layout) -> None:
    """`git add -A` takes what is the user's: not the record of runs, and no report that would come back as a claim."""
    touch(layout.folder, COMMITTED | LEFT_ALONE)
    git(layout.root, "init", "-q")
    git(layout.root, "add", "-A")
    assert set(git(layout.folder, "ls-files").split()) == COMMITTED


@pytest.mark.needs_git
def test_the_guide_takes_the_record_out_of_git(layout: Layout) -> None:
    """Its command, as it stands there, for a workspace that git took along whole; no file is deleted."""
    (layout.folder / ".gitignore").rename(layout.folder / "aside")
    record = {name for name in LEFT_ALONE if not name.endswith(".tmp")}
    touch(layout.folder, COMMITTED | record)
    git(layout.root, "init", "-q")
    git(layout.root, "add", "-A")
    (layout.folder / "aside").rename(layout.folder / ".gitignore")
    (command,) = (line for line in GUIDE.read_text().splitlines() if line.startswith("git rm"))
    git(layout.folder, *shlex.split(command)[1:])
    git(layout.root, "add", "-A")
    assert set(git(layout.folder, "ls-files").split()) == COMMITTED
    assert all((layout.folder / name).exists() for name in record)


def test_an_existing_file_stays(layout: Layout) -> None:
    """The user's own rules win, even if there are none, by a repair and by a run."""
    path = layout.folder / ".gitignore"
    path.write_text("")
    Project(layout.root, {"HOME": f"{layout.root}-home"}).create("w", force=True)
    launch.tidy_up(layout, dry_run=False)
    assert path.read_text() == ""


def test_a_link_is_not_written_through(layout: Layout) -> None:
    """A link to nowhere is a name that is taken."""
    path, elsewhere = layout.folder / ".gitignore", layout.root / "elsewhere"
    path.unlink()
    path.symlink_to(elsewhere)
    creation.add_git_ignore(layout)
    assert not elsewhere.exists()


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_old_workspace_gets_one_with_its_next_run(layout: Layout, dry_run: bool) -> None:
    """Not with a dry run, which leaves no traces."""
    path = layout.folder / ".gitignore"
    path.unlink()
    launch.tidy_up(layout, dry_run)
    assert path.exists() is not dry_run
