"""Templates at the keyboard: save, use, list, show, delete."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "templates"


@pytest.fixture
def workspace(project: Project) -> Layout:
    """A workspace worth a template."""
    return project.create("w", "iterative", {"delay": 0.0}, instructions=b"# Do it\n" + b"line\n" * 20)


def test_from_workspace_to_workspace(typed: Type, project: Project, workspace: Layout) -> None:
    """All commands, in words and in JSON."""
    assert "Saved the template w" in typed("template", "save", "w").out
    words = ["template", "save", "w", "t", "-d", "My thing", "-t", "a, b,,a", "-e", "4", "--json"]
    assert typed(*words).document["notCarried"] == []
    rows = typed("tpl", "ls", "--json").document["templates"]
    assert [(row["name"], row["tags"], row["estimatedIterations"]) for row in rows] == [
        ("t", ["a", "b"], 4),
        ("w", [], None),
    ]
    assert "My thing" in typed("template", "list").out
    shown = typed("template", "show", "t")
    assert "delay = 0" in shown.out
    assert "(11 more lines)" in shown.out
    assert typed("template", "show", "t", "--json").document["settings"] == {"delay": 0}
    made = typed("template", "use", "t", "new", "--json").document
    assert (made["mode"], made["scope"], made["settings"]) == ("iterative", "project", {"delay": 0})
    assert project.layout("new").instructions.read_bytes() == workspace.instructions.read_bytes()
    assert "delay = 0" in typed("template", "use", "t", "newer").err
    assert typed("template", "rm", "t", "-f", "--json").document["scope"] == "project"
    assert typed("template", "use", "t", "newest").code == 1


def test_an_existing_template_is_kept(typed: Type, workspace: Layout, project: Project) -> None:
    """Exit 1 and the way on; with --force it is replaced."""
    typed("template", "save", "w")
    answer = typed("template", "save", "w")
    assert (answer.code, "--force" in answer.err) == (1, True)
    workspace.instructions.write_text("new")
    assert typed("template", "save", "w", "--force").code == 0
    assert (project.templates_folder / "w" / "INSTRUCTIONS.md").read_text() == "new"


def test_secrets_are_told(typed: Type, project: Project) -> None:
    """The warning names the setting, not the secret."""
    project.create("w", settings={"notify.url": "https://me:hush@example.org/x"}, instructions=b"x")
    answer = typed("template", "save", "w")
    assert "not carried: notify.url" in answer.err
    saved = (project.templates_folder / "w" / ".template.json").read_text()
    assert "hush" not in answer.err + answer.out + saved


def test_global_templates(typed: Type, workspace: Layout, project: Project) -> None:
    """They live with the user's settings; a project's template of the same name hides one."""
    assert typed("template", "save", "w", "-g", "--json").document["scope"] == "global"
    assert (project.global_templates_folder / "w").is_dir()
    assert typed("template", "use", "w", "one", "--json").document["scope"] == "global"
    answer = typed("template", "delete", "w", "--force")
    assert (answer.code, "--global" in answer.err) == (1, True)
    typed("template", "save", "w")
    rows = typed("template", "list", "--json").document["templates"]
    assert [(row["scope"], row["hidden"]) for row in rows] == [("project", False), ("global", True)]
    assert typed("template", "delete", "w", "-gf").code == 0
    assert (project.templates_folder / "w").is_dir()
    assert not (project.global_templates_folder / "w").exists()


def test_nothing_steers_the_terminal(typed: Type, project: Project) -> None:
    """A description is words from anybody."""
    folder = project.templates_folder / "t"
    folder.mkdir(parents=True)
    (folder / ".template.json").write_text('{"description": "\\u001b[31mred", "mode": "\\u001b[2J"}')
    (folder / "INSTRUCTIONS.md").write_text("\x1b]0;title\x07")
    for words in (["list"], ["show", "t"]):
        answer = typed("template", *words)
        assert "\x1b" not in answer.out + answer.err
        assert "red" in answer.out


def test_damage_is_listed_and_told(typed: Type, project: Project) -> None:
    """One bad template does not hide the others."""
    shutil.copytree(ORIGINAL, project.templates_folder)
    (project.templates_folder / "bad").mkdir()
    (project.templates_folder / "bad" / ".template.json").write_text("{torn")
    answer = typed("template", "list")
    assert answer.code == 0
    assert "damaged" in answer.err
    assert "port-tests" in answer.out
    assert typed("template", "use", "bad", "w").code == 1


def test_alone_it_helps(typed: Type) -> None:
    """The group prints its help; a wrong word is answered with the nearest right one."""
    assert "save" in typed("template").out
    answer = typed("template", "sav")
    assert (answer.code, "Did you mean 'save'?" in answer.err) == (2, True)
    assert typed("template", "list").code == 0
    assert typed("template", "save", "w", "-e", "0").code == 2
