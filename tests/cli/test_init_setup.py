"""Making workspaces and their instructions: whole or not at all."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def test_init_writes_what_was_given(typed: Type, project: Project) -> None:
    """--delay 0 is 0 (defect 31), not the default."""
    words = ["--delay", "0", "-m", "7", "--mode", "iterative", "--notify-events", "completion,error"]
    answer = typed("init", "w", *words, "--json")
    assert answer.code == 0
    assert answer.document["path"] == str(project.layout("w").folder)
    settings = project.settings_for(project.layout("w")).settings
    assert (settings.delay, settings.max_iterations, settings.notify.events) == (0, 7, ("completion", "error"))


@pytest.mark.parametrize(
    "words",
    [["-m", "abc"], ["-d", "soon"], ["--notify-events", "nonsense"], ["--mode", "yolo"], ["-m", "-3"]],
)
def test_bad_option_makes_nothing(typed: Type, folder: Path, words: list[str]) -> None:
    """A refused init leaves no folder that can be neither used nor cleaned (defect 33)."""
    assert typed("init", "w", *words).code == 2
    assert list(folder.iterdir()) == []


def test_init_twice_is_an_error(typed: Type) -> None:
    """The second one says what to do instead."""
    assert typed("init", "w").code == 0
    answer = typed("init", "w")
    assert answer.code == 1
    assert "already exists" in answer.err


def test_force_mends(typed: Type, project: Project) -> None:
    """The way out that the error message names works."""
    typed("init", "w")
    layout = project.layout("w")
    layout.metadata.write_text("{torn")
    broken = typed("show", "w")
    assert broken.code == 1
    assert "claude-iterate init w --force" in broken.err
    assert typed("init", "w", "--force").code == 0
    assert typed("show", "w").code == 0


@pytest.mark.parametrize("source", ["file", "-", None])
def test_text_arrives_byte_for_byte(
    typed: Type, project: Project, tmp_path: Path, stdin: Callable[[bytes], None], source: str | None
) -> None:
    """Line ends, braces, dollars and the missing last line break are the user's."""
    text = "# T\r\n{{ x }} $& %s \u2028 ünï".encode()
    (tmp_path / "file").write_bytes(text)
    stdin(text)
    words = [] if source is None else ["--from", str(tmp_path / "file") if source == "file" else "-"]
    assert typed("setup", "w", *words).code == 0
    layout = project.layout("w")
    assert layout.instructions.read_bytes() == text
    document = json.loads(layout.metadata.read_text())
    assert (document["setupIterations"], document["totalIterations"]) == (0, 0)  # Claude was not called


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\xef\xbb\xbf\n", b"ok\n\xff\xfe"])
def test_bad_text_makes_nothing(
    typed: Type, folder: Path, tmp_path: Path, stdin: Callable[[bytes], None], data: bytes
) -> None:
    """Empty or not UTF-8: exit 2, no workspace."""
    (tmp_path / "file").write_bytes(data)
    stdin(data)
    for words in (["--from", str(tmp_path / "file")], ["--from", "-"]):
        answer = typed("setup", "w", *words)
        assert answer.code == 2
        assert len(answer.err.splitlines()) == 2
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("source", ["missing.md", ".", "/dev/zero"])
def test_bad_source_makes_nothing(typed: Type, folder: Path, source: str) -> None:
    """A missing file, a folder, and one without an end: each is named."""
    answer = typed("setup", "w", "--from", source)
    assert answer.code == 2
    assert source in answer.err
    assert list(folder.iterdir()) == []


def test_instructions_are_replaced_only_with_force(typed: Type, project: Project, tmp_path: Path) -> None:
    """The old ones are kept beside the new ones."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    new.write_text("new")
    typed("setup", "w", "--from", str(old))
    answer = typed("setup", "w", "--from", str(new))
    layout = project.layout("w")
    assert answer.code == 1
    assert layout.instructions.read_text() == "old"
    answer = typed("setup", "w", "--from", str(new), "--force", "--mode", "iterative", "--json")
    assert answer.document["made"] is False
    assert layout.instructions.read_text() == "new"
    assert (layout.folder / "INSTRUCTIONS.md.bak").read_text() == "old"
    assert json.loads(layout.metadata.read_text())["mode"] == "iterative"


def test_init_says_what_it_set(typed: Type) -> None:
    """The effective mode and bounds, as the next run would have them; JSON is as it was."""
    answer = typed("init", "w", "-m", "7", "--mode", "iterative", "--delay", "0")
    assert "  Iterative mode, at most 7 iterations, ends after 2 iterations without work\n" in answer.err
    assert answer.err.endswith("Next: claude-iterate setup w\n")
    assert typed("init", "x", "--json").err == ""


def test_init_and_the_first_setup_propose_commands(typed: Type, folder: Path, stdin: Callable[[bytes], None]) -> None:
    """What the files of the project say becomes settings, and is said with the command that makes the tests a check;
    later workspaces find them set. Where a check is given nothing is proposed."""
    (folder / "go.mod").write_text("module x\n")
    stdin(b"Do it.\n")
    first = typed("setup", "a")
    assert "This is a Go project" in first.err
    assert "claude-iterate config -w a verification.checks --add 'go test ./...'\nNext: " in first.err
    assert typed("config", "commands.test").out.strip() == "go test ./..."
    assert "Go project" not in typed("init", "b").err
    assert "verification.checks" not in typed("init", "d", "--check", "true").err
    assert typed("init", "c", "--json").document["commands"] == {}


def test_setup_makes_a_workspace_of_a_folder_that_lost_its_metadata(
    typed: Type, stdin: Callable[[bytes], None], project: Project
) -> None:
    """After an agent's `rm -rf` the step that the run names works; what is in the folder stays."""
    layout = project.create("w")
    layout.metadata.unlink()
    layout.status.write_text("{}")
    stdin(b"- one\n")
    assert "w had no .metadata.json; it has a new one." in typed("setup", "w").err
    assert (layout.instructions.read_text(), layout.status.exists()) == ("- one\n", True)
    assert typed("show", "w").code == 0


@pytest.mark.parametrize("command", ["init", "setup"])
def test_checks_are_settings_of_the_workspace(
    typed: Type, stdin: Callable[[bytes], None], project: Project, command: str
) -> None:
    """Each --check is one command, commas and all; a later `setup` puts others in their place."""
    stdin(b"- one\n")
    assert typed(command, "w", "--check", "npm test", "--check", "sh -c 'a, b'").code == 0
    layout = project.layout("w")
    assert project.settings_for(layout).settings.verification.checks == ("npm test", "sh -c 'a, b'")
    stdin(b"- two\n")
    assert typed("setup", "w", "--force", "--check", "make check").code == 0
    assert project.settings_for(layout).settings.verification.checks == ("make check",)
    before = layout.metadata.read_bytes()
    assert typed("init", "v", "--check", " ").code == 2
    assert (layout.metadata.read_bytes(), project.exists("v")) == (before, False)


@pytest.mark.needs_git
@pytest.mark.parametrize("start", ["here", "a folder", "elsewhere"])
def test_setup_says_how_to_add_the_task_to_git(typed: Type, folder: Path, tmp_path: Path, start: str) -> None:
    """As a command that works where it was printed and commits nothing else; not when git has the instructions, ignores
    them, or when there is no repository."""
    (tmp_path / "task").write_text("- one\n")
    words = ["setup", "my-task", "--force", "--from", str(tmp_path / "task")]

    def said() -> str:
        told = [line for line in typed("-C", str(folder), *words).err.splitlines() if "Add it: " in line]
        return told[0].partition("Add it: ")[2] if told else ""

    def git(command: str) -> str:
        who = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        return subprocess.run(
            ["sh", "-c", command], env=os.environ | who, check=True, capture_output=True, text=True
        ).stdout

    assert said() == ""
    git(f"git init -q '{folder}'; echo x > other; git add other 2>/dev/null || true")
    where = {"here": folder, "a folder": folder / "a folder", "elsewhere": tmp_path}[start]
    where.mkdir(exist_ok=True)
    os.chdir(where)
    git(said())
    os.chdir(folder)
    committed = git("git show --name-only --format= HEAD").split()
    assert [Path(name).name for name in committed] == [".gitignore", ".metadata.json", "INSTRUCTIONS.md", "TODO.md"]
    assert said() == ""
    git("git rm -r -q --cached claude-iterate")
    assert said() != ""
    (folder / ".gitignore").write_text("claude-iterate/\n")
    assert said() == ""
