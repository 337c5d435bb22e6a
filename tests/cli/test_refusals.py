"""What is refused: a home folder as a project, files of a newer version, names that lead somewhere else (defect 34)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.errors import NewerFormat
from claude_iterate.workspace.inheritance import inherit
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type

BAD = ["..", ".", "a/b", "../x", "-x", "a" * 300, "", "/etc", "a b"]
COMMANDS = [
    ["init"],
    ["setup", "--from", "text"],
    ["run", "--dry-run"],
    ["show"],
    ["logs"],
    ["reset"],
    ["clean", "--force"],
]


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


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_bad_name_is_refused(typed: Type, folder: Path, words: list[str], name: str) -> None:
    """Exit 2, one line of what, one of what to do; nothing made, nothing deleted."""
    (folder / "text").write_text("do it")
    answer = typed(*words, "--", name)
    assert answer.code == 2
    assert answer.out == ""
    error, hint = answer.err.splitlines()
    assert "cannot be the name" in error
    assert hint.startswith("  Use up to 100")
    assert [path.name for path in folder.iterdir()] == ["text"]


@pytest.mark.parametrize("words", COMMANDS[2:], ids=lambda words: words[0])
def test_missing_workspace_is_told(typed: Type, folder: Path, words: list[str]) -> None:
    """Exit 1, what is missing, how to make it, and where it was looked for if there are none."""
    answer = typed(*words, "nothing")
    assert f"{folder} is not a project. If it is in another folder: claude-iterate -C DIR ..." in answer.err
    assert answer.code == 1
    assert answer.err.splitlines()[0] == "Error: Workspace not found: nothing"
    assert "claude-iterate setup nothing" in answer.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["init", "w", "--check", ""], "'' is not a non-empty shell command."),
        (["show", "mytask"], "Did you mean my-task? Or make mytask: claude-iterate setup mytask"),
        (["show", "zzz"], "  Make zzz: claude-iterate setup zzz"),
        (["edit", "my-task"], "A conversation with Claude needs a terminal."),
        (["edit", "my-task", "--json"], "A conversation with Claude cannot be shown as JSON."),
        (["run", "one", "two", "--detach"], "For several: nohup claude-iterate run one two &"),
        (["init", "ä"], "Use up to 100 letters without accents"),
    ],
)
def test_a_refusal_names_what_was_typed(typed: Type, project: Project, words: list[str], says: str) -> None:
    """Its own words and names, in one sentence; never a placeholder where the command can be typed as it is."""
    project.create("my-task", instructions=b"Do it.\n")
    assert says in typed(*words).err
