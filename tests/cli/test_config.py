"""`config` reads what counts and writes what it was told, where it was told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.core.settings.declared import catalogue
from claude_iterate.workspace.lifecycle.project import Project
from tests.cli.conftest import Type


def test_reading_prints_the_effective_value(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """default, then user, project, workspace, environment; --origin says which."""
    project.create("w")
    assert typed("config", "delay").out == "2\n"
    for scope, value in ((["--global"], "3"), ([], "4"), (["--workspace", "w"], "5")):
        assert typed("config", "delay", value, *scope).code == 0
    assert typed("config", "delay", "--global").out == "3\n"
    assert typed("config", "delay").out == "4\n"
    assert typed("config", "delay", "--workspace", "w").out == "5\n"
    monkeypatch.setenv("CLAUDE_ITERATE_DELAY", "6")
    assert typed("config", "delay", "-w", "w", "--origin").out == "6  (environment: CLAUDE_ITERATE_DELAY)\n"
    assert typed("config", "delay", "--json").document == {
        "key": "delay",
        "value": 6,
        "source": "environment",
        "place": "environment",
    }
    answer = typed("config", "delay", "7")
    assert "no effect" in answer.err


def test_unset_takes_it_away(typed: Type, folder: Path) -> None:
    """A setting that nobody sets is the default again."""
    typed("config", "claude.model", "opus")
    file = folder / ".claude-iterate.toml"
    answer = typed("config", "claude.model", "--unset")
    assert (answer.code, answer.out) == (0, f"✓ Removed claude.model from {file}; now not set (default)\n")
    assert typed("config", "claude.model", "--unset").out == f"claude.model was not set in {file}\n"
    typed("config", "max_iterations", "7")
    typed("config", "max_iterations", "9", "--global")
    assert typed("config", "max_iterations", "--unset").out.endswith("; now 9 (user)\n")
    answer = typed("config", "claude.model")
    assert (answer.code, answer.out) == (0, "")
    assert "not set" in answer.err
    assert typed("config", "claude.model", "--unset", "--json").document["value"] is None


def test_empty_text_can_be_set(typed: Type) -> None:
    """An empty value is a value (defect 35)."""
    assert typed("config", "claude.args", "").code == 0
    assert typed("config", "claude.args").out == "[]\n"


def test_keys_explains_every_setting(typed: Type) -> None:
    """Kind, default, value, source and sentence of each."""
    typed("config", "delay", "9")
    document = typed("config", "--keys", "--json").document
    assert [item["key"] for item in document["keys"]] == list(catalogue())
    delay = next(item for item in document["keys"] if item["key"] == "delay")
    assert (delay["default"], delay["current"]["value"], delay["current"]["source"]) == (2, 9, "project")
    text = typed("config", "--keys").out
    for setting in catalogue().values():
        assert setting.sentence in text


def test_list_prints_every_value(typed: Type) -> None:
    """--list and a group's name print `key = value`."""
    assert len(typed("config", "--list").out.splitlines()) == len(catalogue())
    assert typed("config", "timeouts", "--origin").out.startswith("timeouts.iteration = 3600  (default)\n")
    assert typed("config", "statusWatch").code == 1
    assert len(typed("config", "notification.statusWatch").out.splitlines()) == 3


@pytest.mark.parametrize("scope", [[], ["--global"], ["--workspace", "w"]])
def test_keys_in_any_setting_are_masked(typed: Type, project: Project, scope: list[str]) -> None:
    """When it is set, read or listed, in words and in JSON; the rest of the value is shown."""
    project.create("w")
    key = "sk-ant-api03-abcdefghijklmnop"
    for more in ([], ["--json"]):
        for words in (
            ["claude.args", f'["--key={key}", "--debug"]'],
            ["claude.args"],
            ["claude.args", "--add", "--verbose"],
            ["claude.model", key],
            ["claude.env", json.dumps({"PAGER": key})],
            ["claude.env"],
            ["--list"],
            ["--keys"],
        ):
            answer = typed("config", *words, *scope, *more)
            assert answer.code == 0, answer.err
            assert key not in answer.out + answer.err
    assert key not in typed("config", "claude.args", "--remove", "nothing", *scope).err
    assert typed("config", "claude.args", *scope, "--json").document["value"] == ["--key=***", "--debug", "--verbose"]


@pytest.mark.parametrize("spelled", ["max_iteration", "maxIteration", "defaultMaxIteration"])
def test_misspelt_key_names_the_right_one(typed: Type, folder: Path, spelled: str) -> None:
    """Reading and writing alike; nothing is stored (defect 35)."""
    for words in ([], ["5"], ["--unset"]):
        answer = typed("config", spelled, *words)
        assert answer.code == 1
        assert "Did you mean" in answer.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["delay", "3", "--unset"],
        ["delay", "--add", "1", "--remove", "2"],
        ["--unset"],
        ["--list", "delay"],
        ["delay", "3", "--global", "--workspace", "w"],
    ],
)
def test_contradictions_are_usage_errors(typed: Type, folder: Path, words: list[str]) -> None:
    """Exit 2 and nothing written."""
    assert typed("config", *words).code == 2
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("scope", [[], ["--global"], ["--workspace", "w"]])
def test_dangerous_argument_is_warned_of_in_every_scope(typed: Type, project: Project, scope: list[str]) -> None:
    """A warning says what that means."""
    project.create("w")
    answer = typed("config", "claude.args", "--add", "--dangerously-skip-permissions", *scope)
    assert answer.code == 0
    assert "any command" in answer.err


@pytest.mark.parametrize(
    ("name", "content"), [(".claude-iterate.toml", "delay = = 1"), (".claude-iterate.json", '{"delay": 1')]
)
def test_torn_project_file_is_told_by_every_command(typed: Type, folder: Path, name: str, content: str) -> None:
    """File and line, exit 1, and the file stays as it is."""
    (folder / name).write_text(content)
    for words in (["list"], ["init", "w"], ["config", "delay"], ["config", "delay", "3"]):
        answer = typed(*words)
        assert answer.code == 1
        assert f"{name}, line 1" in answer.err
    assert (folder / name).read_text() == content
    assert [path.name for path in folder.iterdir()] == [name]


def test_bad_value_in_the_file_can_be_mended_with_config(typed: Type, folder: Path) -> None:
    """The command that the error points to works."""
    (folder / ".claude-iterate.toml").write_text('delay = "soon"  # mine\n')
    broken = typed("list")
    assert broken.code == 1
    assert "delay" in broken.err
    assert typed("config", "delay", "3").code == 0
    assert (folder / ".claude-iterate.toml").read_text() == "delay = 3  # mine\n"
    assert typed("list").code == 0


def test_bad_variable_is_named(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """`CLAUDE_ITERATE_DELAY=banana` is the variable's fault, not a file's."""
    monkeypatch.setenv("CLAUDE_ITERATE_DELAY", "banana")
    answer = typed("list")
    assert answer.code == 1
    assert answer.err.startswith("Error: CLAUDE_ITERATE_DELAY cannot be 'banana'.\n  Expected a duration")


def test_adding_to_a_list_takes_nothing_away(typed: Type, project: Project) -> None:
    """A workspace's list hides the project's, so it begins with it; several words can be added at once."""
    project.create("w")
    rules = ("Bash(npm test:*)", "Bash(git commit:*)", "Read(//etc/x)")
    assert typed("config", "claude.allowed_tools", "--add", rules[0]).code == 0
    assert typed("config", "-w", "w", "claude.allowed_tools", "--add", rules[1], "--add", rules[2]).code == 0
    assert typed("config", "-w", "w", "claude.allowed_tools", "--json").document["value"] == list(rules)
    assert typed("config", "claude.allowed_tools", "--json").document["value"] == [rules[0]]
