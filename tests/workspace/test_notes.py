"""Notes wait in their folder until an iteration has had them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes


def texts(layout: Layout) -> list[str]:
    return [note.text for note in notes.pending_notes(layout)]


def test_notes_wait_in_order_until_they_are_delivered(layout: Layout) -> None:
    """Reading delivers nothing; what is delivered is kept, but does not come back."""
    assert texts(layout) == []
    first = notes.add(layout, "  one\n")
    notes.add(layout, "two")
    assert texts(layout) == texts(layout) == ["one", "two"]
    notes.mark_delivered(layout, [first])
    assert texts(layout) == ["two"]
    assert (layout.notes / "delivered" / first).read_text() == "one\n"


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_note_is_refused(layout: Layout, text: str) -> None:
    """And says what to do."""
    with pytest.raises(UsageProblem, match="empty"):
        notes.add(layout, text)


def test_a_huge_note_is_refused(layout: Layout) -> None:
    """One that just fits is not."""
    notes.add(layout, "x" * notes.LARGEST)
    with pytest.raises(UsageProblem, match="larger than 1 MB") as refused:
        notes.add(layout, "x" * (notes.LARGEST + 1))
    assert "file" in refused.value.hint


def test_what_does_not_fit_waits_for_the_next_prompt(layout: Layout) -> None:
    """At least one is always read."""
    names = [notes.add(layout, letter * 700_000) for letter in "abc"]
    assert [note.name for note in notes.pending_notes(layout)] == names[:1]
    notes.mark_delivered(layout, names[:1])
    assert [note.name for note in notes.pending_notes(layout)] == names[1:2]


def test_what_others_put_there_does_no_harm(layout: Layout) -> None:
    """Pipes and links are not opened, odd bytes are replaced, a huge file is cut."""
    layout.notes.mkdir()
    os.mkfifo(layout.notes / "pipe.md")
    (layout.notes / "link.md").symlink_to("/etc/passwd")
    (layout.notes / "folder.md").mkdir()
    (layout.notes / "empty.md").touch()
    (layout.notes / "readme.txt").write_text("no note")
    (layout.notes / "odd.md").write_bytes(b"caf\xe9")
    assert texts(layout) == ["caf\ufffd"]
    (layout.notes / "odd.md").write_bytes(b"y" * 10_000_000)
    (text,) = texts(layout)
    assert text.endswith("is cut here.]")
    assert len(text) < notes.LARGEST + 100


@pytest.mark.parametrize("linked", ["notes", "notes/delivered"])
def test_a_folder_that_leads_elsewhere_is_not_touched(layout: Layout, tmp_path: Path, linked: str) -> None:
    """Nothing there is read, moved or replaced, and nothing goes there; `note` fails with a message."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.md").write_text("precious")
    place = layout.folder / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(elsewhere)
    if linked != "notes":
        (layout.notes / "thesis.md").write_text("a note")
    assert texts(layout) == []
    notes.mark_delivered(layout, ["thesis.md"])
    assert [(path.name, path.read_text()) for path in elsewhere.iterdir()] == [("thesis.md", "precious")]
    with pytest.raises(WorkspaceProblem, match=f"{linked}/ is a link"):
        notes.add(layout, "text")
    assert len(list(elsewhere.iterdir())) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything: run as a normal user")
def test_a_folder_that_can_only_be_listed_has_no_notes(layout: Layout) -> None:
    """A run looks four times a second: what Claude did to the folder must not end it."""
    notes.add(layout, "one")
    layout.notes.chmod(0o600)
    assert notes.names(layout) == []
    layout.notes.chmod(0o700)
    assert len(notes.names(layout)) == 1
