"""Options before the command: folders and output level, for this call only."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type


def test_folders(typed: Type, folder: Path) -> None:
    """Workspaces, templates and archives are where the flags say, and nowhere else."""
    places = ("--workspaces-dir", "w", "--templates-dir", str(folder / "t"), "--archive-dir", "a/b")
    assert typed(*places, "init", "one").code == 0
    (folder / "w" / "one" / "INSTRUCTIONS.md").write_text("- one\n")
    assert typed(*places, "template", "save", "one").code == 0
    assert typed(*places, "archive", "save", "one", "--keep").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a", "t", "w"]
    assert [path.name for path in (folder / "t").iterdir()] == ["one"]
    assert len(list((folder / "a" / "b").iterdir())) == 1
    assert typed(*places, "show", "one").code == 0
    assert typed("show", "one").code == 1


def test_a_relative_folder_is_one_from_here(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the user who types it in a sub-directory expects."""
    project.create("w")
    below = project.root / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert typed("--workspaces-dir", "here", "init", "one").code == 0
    assert (below / "here" / "one").is_dir()


def test_an_empty_folder_is_refused(typed: Type, folder: Path) -> None:
    """And nothing is written."""
    assert typed("--workspaces-dir", "", "init", "one").code == 2
    assert list(folder.iterdir()) == []


def test_verbose(typed: Type, called: Type, project: Project) -> None:
    """It is the output level of every command, unless that has a level of its own."""
    layout = project.create("w")
    layout.instructions.write_text("- one\n")
    assert typed("--verbose", "config", "output").out == "verbose\n"
    assert "verbose" in typed("--verbose", "config", "output", "-w", "w", "--origin").out
    loud = called("--verbose", "run", "w", "--dry-run", "-m", "1")
    quiet = called("--verbose", "run", "w", "--dry-run", "-m", "1", "--quiet")
    assert "\U0001f527" in loud.out + loud.err
    assert quiet.out + quiet.err == ""


def test_they_go_before_the_command(typed: Type) -> None:
    """Who puts one after it is told so."""
    answer = typed("list", "--workspaces-dir", "w")
    assert (answer.code, "It goes before the command" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["init", "w"], "setup w"),
        (["reset", "t"], "run t"),
        (["stop", "t"], "run t"),
        (["show", "nope"], "setup nope"),
        (["run", "t"], "setup t"),
        (["history", "t"], "run t"),
        (["plan", "t", "--show"], "plan t"),
    ],
)
def test_offered_commands_name_the_project(
    typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], offered: str
) -> None:
    """Whatever a message offers can be pasted in the folder where the command was typed; in the project itself it is as
    short as it can be."""
    project.create("t")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    root, place = project.root, project.root / "claude-iterate" / "workspaces"
    prefix = shlex.join(["claude-iterate", "-C", str(root), "--workspaces-dir", str(place)])
    assert f"{prefix} {offered}" in typed("-C", str(root), "--workspaces-dir", str(place), *words).err
    if words[0] != "init":
        monkeypatch.chdir(root)
        assert f" claude-iterate {offered}" in typed(*words).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dashboard", "--port", "70000"), "'70000' is not a whole number from 0 to 65535."),
        (("logs", "w", "-n", "x"), "'x' is not a whole number of at least 0."),
    ],
)
def test_a_number_out_of_bounds_names_the_bounds(typed: Type, words: tuple[str, ...], said: str) -> None:
    """Not the name of a type."""
    refused = typed(*words)
    assert refused.code == 2
    assert said in refused.err
