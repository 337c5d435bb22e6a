"""What a careful user relies on without a thought: no project by accident, no file of a newer version touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.errors import NewerFormat
from claude_iterate.workspace.inheritance import inherit
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type


@pytest.mark.parametrize("below", ["", "me", "users/me"])
@pytest.mark.parametrize("words", [["init", "w"], ["setup", "w", "--from", "task.md"]])
def test_a_home_folder_is_no_project_by_accident(
    typed: Type, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, words: list[str], below: str
) -> None:
    """Nor is a folder above it. Claude could change everything in it: refused, nothing is made, and the way is told.
    `init --force` means it, and then the folder is a project like others."""
    home = Path(environ["HOME"])
    monkeypatch.setenv("HOME", str(home / below))
    (home / "task.md").write_text("do it\n")
    monkeypatch.chdir(home)
    refused = typed(*words)
    assert refused.code == 1
    assert "home folder" in refused.err
    assert "claude-iterate init w --force" in refused.err
    assert not (home / "claude-iterate").exists()
    assert typed("init", "other", "--force").code == 0
    assert typed(*words).code == 0


def test_a_folder_that_leads_to_the_home_folder_is_one(tmp_path: Path) -> None:
    """A link does not make it another folder."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(Exception, match="home folder"):
        Project(tmp_path, {"HOME": str(tmp_path / "link")}).create("w")


def test_the_root_is_no_project() -> None:
    """`/` is refused like the home folder, before anything is made."""
    with pytest.raises(Exception, match="root of the file system"):
        Project(Path("/"), {"HOME": "/home/me"}).create("w")


@pytest.mark.parametrize("words", [["show", "w"], ["run", "w"], ["init", "w", "--force"], ["reset", "w"]])
def test_a_newer_format_is_refused(typed: Type, project: Project, words: list[str]) -> None:
    """Metadata of a later version is neither read by guesswork nor repaired; it stays byte for byte."""
    layout = project.create("w", instructions=b"do it")
    document = json.loads(layout.metadata.read_bytes())
    layout.metadata.write_text(json.dumps(document | {"format": 99, "mode": "new"}))
    before = layout.metadata.read_bytes()
    answer = typed(*words)
    assert answer.code == 1
    assert "newer claude-iterate" in answer.err
    assert "format 99" in answer.err
    assert layout.metadata.read_bytes() == before


def test_doctor_does_not_repair_what_is_newer(typed: Type, project: Project) -> None:
    """It names the problem and leaves the file alone."""
    layout = project.create("w", instructions=b"do it")
    layout.metadata.write_text('{"format": 99}')
    said = typed("doctor", "--fix")
    assert "newer claude-iterate" in said.out + said.err
    assert layout.metadata.read_text() == '{"format": 99}'


def test_a_newer_journal_is_not_gone_on_with(project: Project) -> None:
    """Counters of a journal that may mean something else are not taken over."""
    layout = project.create("w", instructions=b"do it")
    journal = layout.journal("000001-x")
    journal.parent.mkdir(parents=True)
    journal.write_text('{"seq":1,"event":{"event":"Begun","format":2}}\n')
    with pytest.raises(NewerFormat, match="000001-x"):
        inherit(layout)


def test_reset_all(typed: Type, project: Project) -> None:
    """Every workspace is reset but the one that runs, which is named; the exit code says so."""
    for name in ("a", "b", "c"):
        project.create(name).status.write_text('{"complete": true}')
    with run_lock.hold(project.layout("b").lock, "b", "run"):
        answer = typed("reset", "--all", "--json")
    assert answer.code == 1
    assert "b was not reset" in answer.err
    assert [row["name"] for row in answer.document["workspaces"] if row["problem"] is None] == ["a", "c"]
    assert [project.layout(name).status.exists() for name in ("a", "b", "c")] == [False, True, False]
    assert typed("reset", "--all").code == 0


@pytest.mark.parametrize("words", [[], ["w", "--all"]])
def test_reset_wants_one_thing(typed: Type, project: Project, words: list[str]) -> None:
    """Without a name nothing is reset by accident, and a name beside --all is a mistake."""
    layout = project.create("w")
    layout.status.write_text("{}")
    answer = typed("reset", *words)
    assert answer.code == 2
    assert "--all" in answer.err
    assert layout.status.exists()
