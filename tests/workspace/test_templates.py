"""A template carries instructions and settings on, and no secret; the original's are used as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.errors import SettingsProblem, TemplateProblem, UsageProblem, WorkspaceProblem
from claude_iterate.workspace import metadata, settings_reader, templates
from claude_iterate.workspace.project import Project

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "templates"


def save(project: Project, name: str = "t", about: dict[str, Any] | None = None, **settings: Any) -> list[str]:
    """A workspace with these settings, saved as a template; says what was not carried."""
    values = {key.replace("__", "."): value for key, value in settings.items()}
    layout = project.create(f"for-{name}", "iterative", values, instructions=b"do it\xff\n")
    return templates.save(layout, project.templates_folder / name, about or {})


def own_settings(project: Project, name: str) -> dict[str, Any]:
    return settings_reader.workspace_layer(metadata.read(project.layout(name).metadata)).values


def test_all_settings_are_carried(project: Project) -> None:
    """Mode, instructions byte for byte, and every setting of the workspace, not only two of them."""
    settings: dict[str, Any] = {
        "max_iterations": 0,
        "delay": 1.5,
        "stagnation_threshold": 4,
        "claude__model": "opus",
        "claude__args": ("--x",),
        "verification__depth": "deep",
    }
    assert save(project, **settings) == []
    layout = templates.use(project, templates.find(project, "t"), "new")
    assert layout.instructions.read_bytes() == b"do it\xff\n"
    assert metadata.read(layout.metadata).mode == "iterative"
    assert own_settings(project, "new") == own_settings(project, "for-t") != {}


def test_what_is_not_set_stays_open(project: Project) -> None:
    """A project's later setting reaches a workspace that came from a template."""
    save(project)
    templates.use(project, templates.find(project, "t"), "new")
    (project.root / ".claude-iterate.toml").write_text("max_iterations = 3\n")
    fresh = Project(project.root, project.environ)
    assert fresh.settings_for(fresh.layout("new")).settings.max_iterations == 3


def test_the_file_is_in_the_originals_words(project: Project) -> None:
    """Its description, and all settings as a settings file has them."""
    about = {"description": "My thing", "tags": ["a", "b"], "estimatedIterations": 7}
    save(project, about=about, max_iterations=30, delay=5.0)
    document = json.loads((project.templates_folder / "t" / ".template.json").read_text())
    config = {"max_iterations": 30, "delay": 5}
    assert (about | {"name": "t", "mode": "iterative", "config": config}).items() <= document.items()


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("notify.secret", "hush", None),
        ("notify.headers", {"Authorization": "Bearer x"}, None),
        ("notify.url", "https://hooks.slack.com/services/T0/B0/hush", None),
        ("notify.url", "https://ntfy.sh/hush", None),
        ("claude.env", {"API_TOKEN": "hush", "PAGER": "cat"}, {"PAGER": "cat"}),
        ("claude.env", {"API_TOKEN": "hush"}, None),
        ("claude.args", ("--header", "sk-ant-api03-hushhushhushhush"), None),
        ("claude.args", ("--verbose",), ("--verbose",)),
        ("verification.checks", ("npm test", "curl -H 'Authorization: Bearer hushhush' x"), None),
        ("verification.checks", ("curl -H 'Authorization: Basic aHVzaDpodXNo' x; echo hush",), None),
        (
            "verification.checks",
            ('curl -H "Authorization: Bearer $TOKEN" x',),
            ('curl -H "Authorization: Bearer $TOKEN" x',),
        ),
    ],
)
def test_secrets_stay_at_home(key: str, value: Any, kept: Any) -> None:
    """What is left out is named; what is carried is not a secret."""
    carried, left_out = templates.without_secrets({key: value, "delay": 0.0})
    assert carried == ({"delay": 0.0} if kept is None else {key: kept, "delay": 0.0})
    assert [name.partition(" ")[0] for name in left_out] == ([] if kept == value else [key])
    assert "hush" not in json.dumps([carried, left_out])


def test_the_originals_template_is_used_unchanged(project: Project) -> None:
    """Mode, iterations and instructions arrive; a default value sets nothing; the template stays as it was."""
    shutil.copytree(ORIGINAL, project.templates_folder)
    before = {path: path.read_bytes() for path in project.templates_folder.rglob("*") if path.is_file()}
    template = templates.find(project, "port-tests")
    assert (template.mode, template.tags) == ("iterative", ["tests", "migration"])
    layout = templates.use(project, template, "new")
    assert layout.instructions.read_bytes() == (ORIGINAL / "port-tests" / "INSTRUCTIONS.md").read_bytes()
    assert own_settings(project, "new") == {"max_iterations": 35}
    assert {path: path.read_bytes() for path in project.templates_folder.rglob("*") if path.is_file()} == before


@pytest.mark.setting("paths.templates_dir", "paths.global_templates_dir")
def test_folders_come_from_settings(tmp_path: Path) -> None:
    """`paths.templates_dir` and `paths.global_templates_dir` are heeded; the same folder counts once."""
    where = {"CLAUDE_ITERATE_PATHS__TEMPLATES_DIR": "mine", "CLAUDE_ITERATE_PATHS__GLOBAL_TEMPLATES_DIR": "~/all"}
    project = Project(tmp_path, {"HOME": "/home/me", **where})
    assert templates.template_folders(project) == {"project": tmp_path / "mine", "global": Path("/home/me/all")}
    same = Project(tmp_path, {"HOME": str(tmp_path), **where, "CLAUDE_ITERATE_PATHS__TEMPLATES_DIR": "all"})
    assert templates.template_folders(same) == {"project": tmp_path / "all"}


def test_replacing_keeps_what_is_not_said_anew(project: Project) -> None:
    """Without --force nothing is replaced; with it, description and tags stay unless given."""
    save(project, about={"description": "My thing", "tags": ["a"], "estimatedIterations": 7})
    layout = project.layout("for-t")
    layout.instructions.write_text("better")
    folder = project.templates_folder / "t"
    with pytest.raises(TemplateProblem, match="already exists"):
        templates.save(layout, folder, {})
    assert (folder / "INSTRUCTIONS.md").read_bytes() == b"do it\xff\n"
    templates.save(layout, folder, {"tags": ["b"]}, force=True)
    found = templates.find(project, "t")
    assert (found.instructions(), found.description, found.tags) == (b"better", "My thing", ["b"])
    assert [path.name for path in project.templates_folder.iterdir()] == ["t"]


def test_a_linked_template_is_replaced_not_written_through(project: Project, tmp_path: Path) -> None:
    """What lies outside stays as it is; the link becomes a folder."""
    outside = tmp_path / "outside"
    shutil.copytree(ORIGINAL / "port-tests", outside)
    project.templates_folder.mkdir(parents=True)
    (project.templates_folder / "t").symlink_to(outside)
    layout = project.create("w", instructions=b"new")
    templates.save(layout, project.templates_folder / "t", {}, force=True)
    assert (outside / "INSTRUCTIONS.md").read_bytes() == (ORIGINAL / "port-tests" / "INSTRUCTIONS.md").read_bytes()
    assert not (project.templates_folder / "t").is_symlink()
    assert [path.name for path in project.templates_folder.iterdir()] == ["t"]


def test_linked_files_of_a_template_are_replaced_not_written_through(project: Project, tmp_path: Path) -> None:
    """A template may come with a repository: a link in it must not lead our writing elsewhere."""
    precious, folder = tmp_path / "precious", project.templates_folder / "t"
    precious.write_bytes(b"kept")
    folder.mkdir(parents=True)
    for name in ("INSTRUCTIONS.md", ".template.json"):
        (folder / name).symlink_to(precious)
    layout = project.create("w", instructions=b"new")
    templates.save(layout, folder, {"description": "Mine"}, force=True)
    assert (precious.read_bytes(), templates.find(project, "t").instructions()) == (b"kept", b"new")
    assert not any(path.is_symlink() for path in folder.iterdir())


def test_no_instructions_no_template(project: Project) -> None:
    """The seed's words, and nothing made."""
    layout = project.create("w")
    with pytest.raises(TemplateProblem, match=r"Instructions not found\. Run setup first"):
        templates.save(layout, project.templates_folder / "t", {})
    assert not project.templates_folder.exists()


@pytest.mark.parametrize(
    ("about", "instructions", "problem"),
    [
        ("{torn", b"x", TemplateProblem),
        ("[]", b"x", TemplateProblem),
        ('{"mode": "warp"}', b"x", TemplateProblem),
        ('{"config": {"no_such_setting": 1}}', b"x", SettingsProblem),
        ('{"config": {"delay": "soon"}}', b"x", SettingsProblem),
        ('{"config": []}', b"x", SettingsProblem),
        ('{"maxIterations": "many"}', b"x", SettingsProblem),
        ("{}", None, TemplateProblem),
    ],
)
def test_a_bad_template_makes_nothing(
    project: Project, about: str, instructions: bytes | None, problem: type[Exception]
) -> None:
    """It is listed, named in the error, and no workspace begins with it."""
    folder = project.templates_folder / "t"
    folder.mkdir(parents=True)
    (folder / ".template.json").write_text(about)
    if instructions:
        (folder / "INSTRUCTIONS.md").write_bytes(instructions)
    assert [found.name for found in templates.list_templates(project)] == ["t"]
    with pytest.raises(problem):
        templates.use(project, templates.find(project, "t"), "w")
    assert not project.workspaces_folder.exists()


def test_odd_words_in_a_template_are_survived(project: Project) -> None:
    """A wrong type in what is only shown is not shown."""
    folder = project.templates_folder / "t"
    folder.mkdir(parents=True)
    (folder / ".template.json").write_text('{"description": 3, "tags": "x", "mode": null, "maxIterations": null}')
    (folder / "INSTRUCTIONS.md").write_text("do it")
    found = templates.find(project, "t")
    assert (found.description, found.tags, found.mode) == ("", [], "loop")
    templates.use(project, found, "w")


@pytest.mark.parametrize("name", ["..", "../../x", "a/b", "-x", "", ".hidden"])
def test_no_way_out(project: Project, tmp_path: Path, name: str) -> None:
    """Neither a template nor a workspace has a name that leads elsewhere (defect 34)."""
    save(project)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageProblem):
        templates.find(project, name)
    with pytest.raises(UsageProblem):
        templates.use(project, templates.find(project, "t"), name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_workspace_that_exists_is_not_touched(project: Project) -> None:
    """`use` makes new workspaces only."""
    save(project)
    before = project.layout("for-t").metadata.read_bytes()
    with pytest.raises(WorkspaceProblem, match="already exists"):
        templates.use(project, templates.find(project, "t"), "for-t")
    assert project.layout("for-t").metadata.read_bytes() == before
