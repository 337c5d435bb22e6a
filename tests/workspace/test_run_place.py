"""Whether the folder of a run is still its own, and what is said of what was put back."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from freezegun import freeze_time

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import run_lock, run_place
from claude_iterate.workspace.running.run_place import GONE, REPLACED, RunPlace

RUN = "000001-20260101-000000-aaaaaa"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"HOME": f"{tmp_path}-home"})


@pytest.fixture
def layout(project: Project) -> Layout:
    with freeze_time("2026-01-01"):
        return project.create("w")


@pytest.fixture
def place(layout: Layout) -> Iterator[RunPlace]:
    with run_lock.hold(layout.lock, "w", RUN) as held:
        yield RunPlace(layout, RUN, held)


def test_a_folder_that_stays_is_ours(layout: Layout, place: RunPlace) -> None:
    """Whatever happens in it, and there is nothing to tell."""
    layout.metadata.unlink()
    assert (place.look(), place.is_ours(), place.told()) == ("", True, None)


def test_what_happens_again_and_again_is_told_once(place: RunPlace) -> None:
    """An agent that cleans up in every iteration; something else is told."""
    for what, told in ((run_place.JOURNAL, True), (run_place.JOURNAL, False), (run_place.METADATA, True)):
        place.note(what)
        assert (place.told() is not None) is told


def test_a_folder_that_is_gone(layout: Layout, place: RunPlace) -> None:
    """Nothing may be written there."""
    shutil.rmtree(layout.folder)
    assert (place.look(), place.is_ours()) == (GONE, False)
    place.keep_lock()
    assert not layout.folder.exists()


def test_a_folder_that_came_back_is_locked(layout: Layout, place: RunPlace) -> None:
    """It has the same content. A second process cannot have it, and it is told once."""
    shutil.copytree(layout.folder, layout.root / "aside")
    shutil.rmtree(layout.folder)
    (layout.root / "aside").rename(layout.folder)
    assert run_lock.holder(layout.lock) is None
    assert place.look() == ""
    assert run_lock.holder(layout.lock) is not None
    place.keep_lock()
    assert run_lock.named(layout.lock)["run"] == RUN
    told = place.told()
    assert told is not None
    assert "the run goes on in it" in told[0]
    assert place.told() is None


@pytest.mark.parametrize("journal", [True, False])
def test_a_new_workspace_of_the_same_name_is_another_one(
    project: Project, layout: Layout, place: RunPlace, journal: bool
) -> None:
    """Unless it has the journal of this run."""
    layout.folder.rename(layout.root / "aside")
    project.create("w")
    assert journal or place.look() == REPLACED
    if journal:
        layout.journal(RUN).parent.mkdir(parents=True)
        layout.journal(RUN).touch()
        assert place.look() == ""


def test_a_folder_that_came_back_and_is_in_use_is_not_ours(layout: Layout, place: RunPlace) -> None:
    """Another command was faster: two must not write there."""
    shutil.copytree(layout.folder, layout.root / "aside")
    shutil.rmtree(layout.folder)
    (layout.root / "aside").rename(layout.folder)
    with run_lock.hold(layout.lock, "w", "reset"):
        assert place.look() == REPLACED
    assert place.look() == ""


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([run_place.LOG], "The log of this run was deleted, replaced or emptied, and it is written again."),
        (
            [run_place.JOURNAL, run_place.LOG, run_place.LOG, run_place.LOCK],
            "The journal, the log and the lock of this run were",
        ),
    ],
)
@pytest.mark.parametrize("in_git", [True, False])
def test_what_was_put_back_is_named(
    layout: Layout, place: RunPlace, parts: list[str], words: str, in_git: bool
) -> None:
    """In one sentence; where there is git, with a command against it."""
    if in_git:
        (layout.root / ".git").mkdir()
    for part in parts:
        place.note(part)
    told = place.told()
    assert told is not None
    assert words in told[0]
    assert not in_git or f"git -C {shlex.quote(str(layout.folder))} rm -r -q --cached" in told[1]
