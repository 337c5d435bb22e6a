"""No command that takes a name takes a bad one (defect 34)."""

from __future__ import annotations

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", BAD)
def test_bad_name_after_workspace_is_refused(typed: Type, folder: Path, name: str) -> None:
    """`config --workspace ..` reads and writes nothing."""
    for words in (["delay"], ["delay", "3"], ["--list"]):
        assert typed("config", *words, f"--workspace={name}").code == 2
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", COMMANDS[2:], ids=lambda words: words[0])
def test_missing_workspace_is_told(typed: Type, folder: Path, words: list[str]) -> None:
    """Exit 1, what is missing, how to make it, and where it was looked for if there are none."""
    answer = typed(*words, "nothing")
    assert f"{folder} is not a project. If it is in another folder: claude-iterate -C DIR ..." in answer.err
    assert answer.code == 1
    assert answer.err.splitlines()[0] == "Error: Workspace not found: nothing"
    assert "claude-iterate setup nothing" in answer.err
    assert list(folder.iterdir()) == []
