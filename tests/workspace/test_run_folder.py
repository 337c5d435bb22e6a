"""Whether the folder of a run is still its own, and what is said of what was put back."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from freezegun import freeze_time

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_folder, run_lock
from claude_iterate.workspace.run_folder.run_folder import GONE, REPLACED, RunFolder
from claude_iterate.workspace.run_folder.run_lock import Holder

RUN = "000001-20260101-000000-aaaaaa"


@pytest.fixture
def layout(project: Project) -> Layout:
    with freeze_time("2026-01-01"):
        return project.create("w")


@pytest.fixture
def place(layout: Layout) -> Iterator[RunFolder]:
    with run_lock.hold(layout.lock, "w", RUN) as held:
        yield RunFolder(layout, RUN, held)


def test_a_folder_that_stays_is_ours(layout: Layout, place: RunFolder) -> None:
    """Whatever happens in it, and there is nothing to tell."""
    layout.metadata.unlink()
    assert (place.look(), place.is_ours(), list(place.news())) == ("", True, [])


def test_what_happens_again_and_again_is_told_once(place: RunFolder) -> None:
    """An agent that cleans up in every iteration; something else is told."""
    for what, is_news in ((run_folder.JOURNAL, True), (run_folder.JOURNAL, False), (run_folder.LOG, True)):
        place.note(what)
        assert bool(list(place.news())) is is_news


def test_a_folder_that_is_gone(layout: Layout, place: RunFolder) -> None:
    """Nothing may be written there, unless a program of the run deleted it."""
    shutil.rmtree(layout.folder)
    assert (place.look(), place.is_ours(), place.restore()) == (GONE, False, False)
    assert not layout.folder.exists()


@pytest.mark.parametrize("journal", [True, False])
def test_a_new_workspace_of_the_same_name_is_another_one(
    project: Project, layout: Layout, place: RunFolder, journal: bool
) -> None:
    """Unless it has the journal of this run."""
    layout.folder.rename(layout.root / "aside")
    project.create("w")
    assert journal or place.look() == REPLACED
    if journal:
        layout.journal(RUN).parent.mkdir(parents=True)
        layout.journal(RUN).touch()
        assert place.look() == ""


def test_a_folder_that_came_back_and_is_in_use_is_not_ours(layout: Layout, place: RunFolder) -> None:
    """Another command was faster: two must not write there."""
    shutil.copytree(layout.folder, layout.root / "aside")
    shutil.rmtree(layout.folder)
    (layout.root / "aside").rename(layout.folder)
    with run_lock.hold(layout.lock, "w", "reset"):
        assert place.look() == REPLACED
    assert place.look() == ""


@pytest.mark.parametrize("in_git", [True, False])
def test_what_was_put_back_is_named(layout: Layout, place: RunFolder, in_git: bool) -> None:
    """In one sentence; where there is git, with a command against it."""
    if in_git:
        (layout.root / ".git").mkdir()
    for part in (run_folder.JOURNAL, run_folder.LOG, run_folder.LOG, run_folder.LOCK):
        place.note(part)
    ((text, hint),) = place.news(" after iteration 3")
    which = "the journal, the log and the lock, which were"
    assert text == f"Restored {which} deleted, replaced or emptied after iteration 3."
    assert (f"git -C {shlex.quote(str(layout.folder))} rm -r -q --cached" in hint) is in_git


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def written(layout: Layout) -> dict[Path, bytes]:
    """What a user wrote for a run, and the agent's list of steps."""
    texts = {
        layout.instructions: b"the task \xff",
        layout.project / ".claude-iterate.toml": b"delay = 3\n",
        layout.status_instructions: b"report\n",
        layout.prompts / "loop" / "iteration.md": b"{{ instructions }}",
        layout.folder / "hooks" / "started": b"#!/bin/sh\n",
        layout.notes / "1.md": b"use tabs",
        layout.todo: b"- [ ] one\n",
        layout.impl / "README.md": b"- [ ] task\n",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (layout.folder / "hooks" / "started").chmod(0o755)
    (layout.project / ".claude-iterate.toml").chmod(0o600)
    return {path: path.read_bytes() for path in (*texts, layout.metadata, layout.folder / ".gitignore")}


@pytest.fixture
def full(layout: Layout, written: dict[Path, bytes]) -> Iterator[RunFolder]:
    """The place of a run for which all of that was written."""
    with run_lock.hold(layout.lock, "w", RUN) as held:
        yield RunFolder(layout, RUN, held, [layout.prompts])


def test_what_the_user_wrote_is_put_back(layout: Layout, full: RunFolder, written: dict[Path, bytes]) -> None:
    """Byte for byte, with its mode, and what the agent deleted with it; one sentence says so, once."""
    for path in layout.folder.iterdir():
        delete(path)
    (layout.project / ".claude-iterate.toml").unlink()
    assert full.restore(deleted_by_us=True)
    assert {path: path.read_bytes() for path in written} == written
    assert (layout.folder / "hooks" / "started").stat().st_mode & 0o777 == 0o755
    assert (layout.project / ".claude-iterate.toml").stat().st_mode & 0o777 == 0o600
    names = "the lock, INSTRUCTIONS.md, settings, .gitignore, prompts, hooks, notes, TODO.md and README.md"
    ((text, _),) = full.news(" during iteration 3")
    assert text == f"Restored {names}, which were deleted, replaced or emptied during iteration 3."
    layout.instructions.unlink()
    assert (full.restore(deleted_by_us=True), list(full.news()), layout.instructions.exists()) == (True, [], True)


def test_what_its_user_deleted_stays_deleted(layout: Layout, full: RunFolder, written: dict[Path, bytes]) -> None:
    """A note that was withdrawn between two iterations is not put back then, and not after the next one."""
    for path in written:
        path.unlink()
    assert (full.restore(), full.restore(deleted_by_us=True), list(full.news())) == (False, False, [])
    assert not any(path.exists() for path in written)


def test_the_agents_own_lists_are_its_own_to_delete(layout: Layout, full: RunFolder) -> None:
    """They are not put back when nothing else is gone, and not later, either."""
    layout.todo.unlink()
    delete(layout.impl)
    assert (full.restore(deleted_by_us=True), layout.todo.exists(), list(full.news())) == (False, False, [])
    layout.instructions.unlink()
    assert (full.restore(deleted_by_us=True), layout.todo.exists(), layout.impl.exists()) == (True, False, False)


def test_a_plan_that_is_worked_off_is_put_back(layout: Layout, written: dict[Path, bytes]) -> None:
    """It is the task."""
    with run_lock.hold(layout.lock, "w", RUN) as held:
        place = RunFolder(layout, RUN, held, works_off_plan=True)
        delete(layout.impl)
        assert (place.restore(deleted_by_us=True), (layout.impl / "README.md").read_bytes()) == (True, b"- [ ] task\n")


def test_an_edit_is_left_as_it_is(layout: Layout, full: RunFolder) -> None:
    """Whatever it is; and deleted later, the file comes back as it was edited."""
    layout.instructions.write_text("the new task")
    assert (full.restore(deleted_by_us=True), layout.instructions.read_text()) == (False, "the new task")
    layout.instructions.unlink()
    assert (full.restore(deleted_by_us=True), layout.instructions.read_text()) == (True, "the new task")
    ((text, _),) = full.news(" during iteration 3")
    assert text == "Restored INSTRUCTIONS.md, which was deleted during iteration 3."


def test_a_delivered_note_is_not_delivered_again(layout: Layout, full: RunFolder) -> None:
    """It has moved on."""
    (layout.notes / "delivered").mkdir()
    (layout.notes / "1.md").rename(layout.notes / "delivered" / "1.md")
    assert (full.restore(deleted_by_us=True), (layout.notes / "1.md").exists()) == (False, False)


@pytest.mark.parametrize("kind", ["link", "folder", "large"])
def test_only_regular_files_are_kept(layout: Layout, kind: str) -> None:
    """What a link leads to is not the run's to read or to write."""
    outside = layout.root / "outside"
    outside.write_text("not yours")
    if kind == "folder":
        layout.instructions.mkdir()
    elif kind == "link":
        layout.instructions.symlink_to(outside)
    else:
        layout.instructions.write_bytes(b"x" * (run_folder._MOST_BYTES + 1))
    with run_lock.hold(layout.lock, "w", RUN) as held:
        place = RunFolder(layout, RUN, held)
        layout.instructions.rmdir() if kind == "folder" else layout.instructions.unlink()
        assert (place.restore(deleted_by_us=True), layout.instructions.exists()) == (False, False)


def test_nothing_is_written_through_links(layout: Layout, full: RunFolder) -> None:
    """A link in a file's place is left alone; in its folder's place it is named, with the copy of the text."""
    outside = layout.root / "outside"
    outside.mkdir()
    shutil.rmtree(layout.prompts)
    layout.prompts.symlink_to(outside)
    layout.instructions.unlink()
    layout.instructions.symlink_to(outside / "INSTRUCTIONS.md")
    assert (full.restore(deleted_by_us=True), list(outside.iterdir()), layout.instructions.is_symlink()) == (
        False,
        [],
        True,
    )
    ((text, _),) = full.news(" during iteration 3")
    assert text.startswith("Deleted during iteration 3, and cannot be put back: prompts (")
    assert "it is a link" in text


@pytest.mark.parametrize("name", ["iteration.md", "loop/iteration.md"])
def test_nothing_is_read_through_links(layout: Layout, name: str) -> None:
    """A folder becomes a link to a private one for a moment, and a real one again: its files are not taken for those of
    the user. One that became a link before it could be opened is not followed, either."""
    mine, private = layout.prompts / name, layout.root / "private"
    for path, text in ((mine, "mine"), (private / name, "plover")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with run_lock.hold(layout.lock, "w", RUN) as held:
        place = RunFolder(layout, RUN, held, [layout.prompts])
        shutil.rmtree(layout.prompts)
        layout.prompts.symlink_to(private)
        place.remember()
        raced = run_folder.KeptFile("prompts", mine)
        raced.remember()
        layout.prompts.unlink()
        assert (place.restore(deleted_by_us=True), mine.read_text(), raced.size) == (True, "mine", 0)


def test_a_file_that_was_emptied_first_is_put_back_with_its_text(layout: Layout, full: RunFolder) -> None:
    """As `: > INSTRUCTIONS.md; rm INSTRUCTIONS.md` does it. One that stays empty is left alone."""
    layout.instructions.write_text("\n")
    full.remember()
    assert (full.restore(deleted_by_us=True), layout.instructions.read_text()) == (False, "\n")
    layout.instructions.unlink()
    assert (full.restore(deleted_by_us=True), layout.instructions.read_bytes()) == (True, b"the task \xff")


def test_what_is_kept_of_all_files_has_a_limit(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions come first; a file that has no room any more is as good as unknown, also one that grew."""
    monkeypatch.setattr(run_folder, "_MOST_BYTES", 4096)
    large, small = layout.prompts / "a.md", layout.prompts / "b.md"
    layout.prompts.mkdir()
    large.write_bytes(b"x" * 4096)
    small.write_bytes(b"x")
    layout.instructions.write_bytes(b"x")
    with run_lock.hold(layout.lock, "w", RUN) as held:
        place = RunFolder(layout, RUN, held, [layout.prompts])
        for path in (layout.instructions, large, small):
            path.unlink()
        assert place.restore(deleted_by_us=True)
        assert [path.exists() for path in (layout.instructions, large, small)] == [True, False, True]
        small.write_bytes(b"x" * 4096)
        place.remember()
        small.unlink()
        assert (place.restore(deleted_by_us=True), small.exists()) == (False, False)


@pytest.mark.parametrize("what", ["folder", "everything", "and wrote a report"])
def test_a_workspace_that_a_program_of_the_run_deleted_is_made_again(
    layout: Layout, full: RunFolder, written: dict[Path, bytes], what: str
) -> None:
    """With all that the user wrote, and its lock."""
    delete(layout.folder if what == "folder" else layout.project / "claude-iterate")
    if what == "and wrote a report":
        layout.folder.mkdir(parents=True)
        layout.status.write_text("{}")
    assert full.look() != ""
    assert full.restore(deleted_by_us=True)
    assert layout.status.exists() == (what == "and wrote a report")
    assert {path: path.read_bytes() for path in written} == written
    assert full.look() == ""
    assert (run_lock.holder(layout.lock) or Holder()).run == RUN
    assert [text for text, _ in full.news(" during iteration 3")] == [
        "Restored the workspace, which was deleted during iteration 3."
    ]
    full.note(run_folder.JOURNAL)
    assert list(full.news()) == []


@pytest.mark.parametrize("how", ["moved", "moved and made", "linked", "project gone", "in the way"])
def test_a_workspace_that_is_elsewhere_is_not_made_again(
    layout: Layout, full: RunFolder, tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    """Moved by its user, led elsewhere, or without a project around it: nothing is written."""
    outside = tmp_path_factory.mktemp("outside")
    if how.startswith("moved"):
        layout.folder.rename(outside / "w")
        if how == "moved and made":
            layout.folder.mkdir()
    elif how == "project gone":
        shutil.rmtree(layout.project)
    else:
        delete(layout.project / "claude-iterate")
        if how == "linked":
            (layout.project / "claude-iterate").symlink_to(outside)
        else:
            (layout.project / "claude-iterate").write_text("mine")
    before = sorted(outside.rglob("*"))
    assert not full.restore(deleted_by_us=True)
    assert full.look() == (REPLACED if how == "moved and made" else GONE)
    assert sorted(outside.rglob("*")) == before
    assert not layout.instructions.exists()
