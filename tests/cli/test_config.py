"""`config` reads what counts and writes what it was told, where it was told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.core.settings.declared import catalogue
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type


def test_reading_prints_the_effective_value(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """default, then user, project, workspace, environment; --origin says which."""
    project.create("w")
    assert typed("config", "delay").out == "2s\n"
    for scope, value in ((["--global"], "3"), ([], "4"), (["--workspace", "w"], "5")):
        assert typed("config", "delay", value, *scope).code == 0
    assert typed("config", "delay", "--global").out == "3s\n"
    assert typed("config", "delay").out == "4s\n"
    assert typed("config", "delay", "--workspace", "w").out == "5s\n"
    monkeypatch.setenv("CLAUDE_ITERATE_DELAY", "6")
    assert typed("config", "delay", "-w", "w", "--origin").out == "6s  (environment: CLAUDE_ITERATE_DELAY)\n"
    assert typed("config", "delay", "--json").document == {
        "format": 1,
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
    assert "overrides it" in typed("config", "max_iterations", "9", "--global").err
    assert typed("config", "max_iterations", "--unset").out.endswith("; now 9 (user)\n")
    answer = typed("config", "claude.model")
    assert (answer.code, answer.out) == (0, "")
    assert "not set" in answer.err
    assert typed("config", "claude.model", "--unset", "--json").document["value"] is None


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
    assert typed("config", "timeouts", "--origin").out.startswith("timeouts.iteration = 1h  (default)\n")
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
        assert f"{name} is not valid" in answer.err
        assert "line 1" in answer.err
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
    assert "No workspaces" in typed("list").err


def test_adding_to_a_list_takes_nothing_away(typed: Type, project: Project) -> None:
    """A workspace's list hides the project's, so it begins with it; several words can be added at once."""
    project.create("w")
    rules = ("Bash(npm test:*)", "Bash(git commit:*)", "Read(//etc/x)")
    assert typed("config", "claude.allowed_tools", "--add", rules[0]).code == 0
    assert typed("config", "-w", "w", "claude.allowed_tools", "--add", rules[1], "--add", rules[2]).code == 0
    assert typed("config", "-w", "w", "claude.allowed_tools", "--json").document["value"] == list(rules)
    assert typed("config", "claude.allowed_tools", "--json").document["value"] == [rules[0]]
    events = ["completion", "error", "blocked", "limit_wait"]
    typed("config", "notify.events", "--add", "stopped")
    assert typed("config", "notify.events", "--json").document["value"] == [*events, "stopped"]


def test_lists_show_durations_as_people_write_them(typed: Type) -> None:
    """As the documentation does; so does one setting alone; JSON has seconds."""
    assert "limits.max_wait = 24h\n" in typed("config", "--list").out
    assert "default 24h; now 24h" in typed("config", "--keys").out
    typed("config", "limits.max_wait", "5400")
    assert "limits.max_wait = 90m\n" in typed("config", "limits").out
    assert typed("config", "limits.max_wait").out == "90m\n"
    assert typed("config", "limits.max_wait", "--json").document["value"] == 5400
    assert typed("config", "limits.max_wait", "--unset").out.endswith("; now 24h (default)\n")


@pytest.mark.parametrize("scope", [[], ["--global"], ["--workspace", "w"]])
def test_one_entry_of_a_table_can_be_set(typed: Type, project: Project, scope: list[str]) -> None:
    """Set, read and removed by itself; the other entries stay, and the last one takes the table with it."""
    project.create("w")
    assert typed("config", "claude.env.PAGER", "cat", *scope).out.startswith("✓ claude.env.PAGER = cat  (")
    assert typed("config", "claude.env.TERM_X", "a.b=c", *scope).code == 0
    assert typed("config", "claude.env", *scope, "--json").document["value"] == {"PAGER": "cat", "TERM_X": "a.b=c"}
    assert typed("config", "claude.env.PAGER", *scope).out == "cat\n"
    assert typed("config", "claude.env.PAGER", *scope, "--json").document["value"] == "cat"
    assert typed("config", "claude.env.PAGER", "--unset", *scope).out.startswith("✓ Removed claude.env.PAGER from ")
    assert typed("config", "claude.env.PAGER", "--unset", *scope).out.startswith("claude.env.PAGER was not set in ")
    assert typed("config", "claude.env", *scope, "--json").document["value"] == {"TERM_X": "a.b=c"}
    typed("config", "claude.env.TERM_X", "--unset", *scope)
    assert typed("config", "claude.env", *scope, "--json").document["source"] == "default"
    assert "is not set" in typed("config", "claude.env.PAGER", *scope).err


def test_entries_are_checked_like_the_table(typed: Type, folder: Path) -> None:
    """A percentage is a number; what the table refuses is refused, and nothing is written."""
    assert typed("config", "limits.reserve.five_hour", "x").code == 1
    assert typed("config", "limits.reserve.five_hour", "101").code == 1
    assert typed("config", "claude.env.A=B", "x").code == 1
    assert typed("config", "claude.env.A", "--add", "x").code == 2
    assert typed("config", "claude.env.", "x").code == 1
    assert list(folder.iterdir()) == []
    assert typed("config", "limits.reserve.five_hour", "20").code == 0
    assert typed("config", "limits.reserve", "--json").document["value"] == {"five_hour": 20}


def test_a_wrong_table_says_how_to_set_one_entry(typed: Type) -> None:
    """`FOO=bar` is what people try."""
    told = typed("config", "claude.env", "FOO=bar").err
    assert "for example" in told
    assert "claude-iterate config claude.env.NAME VALUE" in told


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("notify.secret", "hush"),
        ("notify.headers.Authorization", "Bearer x"),
        ("claude.env.API_KEY", "hush"),
        ("claude.env", '{"API_KEY": "hush"}'),
    ],
)
def test_a_secret_in_the_project_is_warned_of(typed: Type, key: str, value: str) -> None:
    """It is not shown, and the way to keep it is named; the user's own settings are that way."""
    answer = typed("config", key, value)
    assert answer.code == 0
    assert "hush" not in answer.out + answer.err
    assert f"claude-iterate config {key} VALUE --global" in answer.err
    assert typed("config", key, value, "--global").err.count("holds a secret") == 0
    assert typed("config", "claude.env.PAGER", "cat").err == ""
