"""One setting is changed, everything else in the file stays; a bad value changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.errors import SettingsProblem, UsageProblem, WorkspaceProblem
from claude_iterate.workspace import settings_reader, settings_writer

COMMENTED = """\
# why we are slow
delay = 5  # seconds

[claude]
# the good one
model = "opus"
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / ".claude-iterate.toml"
    path.write_text(COMMENTED)
    return path


def test_comments_survive(toml: Path) -> None:
    """A TOML file keeps its comments, order and blank lines."""
    settings_writer.set_text(toml, "delay", "1h30m")
    settings_writer.set_text(toml, "claude.model", "haiku")
    assert toml.read_text() == COMMENTED.replace("delay = 5", 'delay = "1h30m"').replace("opus", "haiku")


def test_new_keys_land_where_they_belong(toml: Path) -> None:
    """A new top-level key goes above the tables, a new table's key into its table."""
    settings_writer.set_text(toml, "max_iterations", "9")
    settings_writer.set_text(toml, "notification.status_watch.debounce_ms", "700")
    settings_writer.set_text(toml, "claude.env", '{"A": "b"}')
    document = tomllib.loads(toml.read_text())
    assert document["max_iterations"] == 9
    assert document["notification"] == {"status_watch": {"debounce_ms": 700}}
    assert document["claude"] == {"model": "opus", "env": {"A": "b"}}
    assert "# why we are slow" in toml.read_text()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("delay", "banana"),
        ("max_iterations", "-1"),
        ("claude.permission_mode", "everything"),
        ("notify.events", "completion,nonsense"),
        ("claude.env", "[1]"),
    ],
)
def test_bad_value_changes_nothing(toml: Path, key: str, text: str) -> None:
    """The value is judged before anything is written."""
    with pytest.raises(SettingsProblem) as raised:
        settings_writer.set_text(toml, key, text)
    assert key in raised.value.message
    assert raised.value.hint.startswith("Expected ")
    assert toml.read_text() == COMMENTED


def test_missing_file_is_not_made_for_a_bad_value(tmp_path: Path) -> None:
    """Nothing half-made: not even the folder."""
    path = tmp_path / "new" / "config.toml"
    with pytest.raises(SettingsProblem):
        settings_writer.set_text(path, "delay", "banana")
    assert not path.parent.exists()


def test_json_file_stays_json_and_keeps_its_spelling(tmp_path: Path) -> None:
    """The original's file is changed in the original's words, so that both tools read it."""
    path = tmp_path / ".claude-iterate.json"
    path.write_text('{"defaultDelay": 3, "notification": {"statusWatch": {"debounceMs": 900}}}')
    settings_writer.set_text(path, "delay", "4")
    settings_writer.set_text(path, "max_iterations", "8")
    settings_writer.set_text(path, "notification.status_watch.enabled", "false")
    settings_writer.set_text(path, "claude.max_turns", "5")
    assert json.loads(path.read_text()) == {
        "defaultDelay": 4,
        "notification": {"statusWatch": {"debounceMs": 900, "enabled": False}},
        "defaultMaxIterations": 8,
        "claude": {"maxTurns": 5},
    }


def metadata_file(tmp_path: Path, **more: Any) -> Path:
    path = tmp_path / ".metadata.json"
    path.write_text(json.dumps({"name": "w", "status": "in_progress", "unknown": [1], **more}))
    return path


def test_workspace_setting_goes_under_config(tmp_path: Path) -> None:
    """Other keys of the metadata, unknown ones too, survive."""
    path = metadata_file(tmp_path)
    settings_writer.set_text(path, "claude.model", "opus")
    assert json.loads(path.read_text()) == {
        "name": "w",
        "status": "in_progress",
        "unknown": [1],
        "config": {"claude": {"model": "opus"}},
    }


def test_originals_top_level_setting_gives_way(tmp_path: Path) -> None:
    """A workspace made by the original has `maxIterations` beside `config`; setting and unsetting reach it."""
    path = metadata_file(tmp_path, maxIterations=7)
    settings_writer.set_text(path, "max_iterations", "9")
    document = json.loads(path.read_text())
    assert "maxIterations" not in document
    assert document["config"] == {"max_iterations": 9}
    assert settings_writer.unset(path, "maxIterations")
    assert json.loads(path.read_text())["config"] == {}


def test_damaged_metadata_is_left_alone(tmp_path: Path) -> None:
    """A torn file is not replaced by a fresh one behind the user's back."""
    path = tmp_path / ".metadata.json"
    path.write_text('{"name": ')
    with pytest.raises(WorkspaceProblem):
        settings_writer.set_text(path, "delay", "1")
    assert path.read_text() == '{"name": '


def test_lists_grow_and_shrink(toml: Path) -> None:
    """--add puts a word in once, --remove takes it out, a word that is not there is an error."""
    assert settings_writer.add(toml, "claude.args", "--debug") == ["--debug"]
    assert settings_writer.add(toml, "claude.args", "--debug") == ["--debug"]
    assert settings_writer.add(toml, "claude.args", "a,b", "c", "a,b") == ["--debug", "a,b", "c"]
    assert settings_writer.remove(toml, "claude.args", "--debug", "c") == ["a,b"]
    with pytest.raises(SettingsProblem, match="'--debug' is not in"):
        settings_writer.remove(toml, "claude.args", "a,b", "--debug")
    assert tomllib.loads(toml.read_text())["claude"]["args"] == ["a,b"]
    with pytest.raises(UsageProblem, match="not a list"):
        settings_writer.add(toml, "delay", "3")


LISTED = """\
[verification]
checks = [
    # the quick ones first
    "ruff check",  # style
    "pytest -q",  # behaviour
    # add slow ones here
]
"""


def test_comments_within_a_list_survive(toml: Path) -> None:
    """A word is put in and taken out in place; the comment beside a word goes with it, no other does."""
    toml.write_text(LISTED)
    assert settings_writer.add(toml, "verification.checks", "mypy") == ["ruff check", "pytest -q", "mypy"]
    grown = toml.read_text()
    assert [line for line in LISTED.splitlines() if line not in grown.splitlines()] == []
    assert settings_writer.remove(toml, "verification.checks", "ruff check") == ["pytest -q", "mypy"]
    assert toml.read_text() == grown.replace('    "ruff check",  # style\n', "")


def test_words_beside_the_workspaces_settings_are_not_lost(tmp_path: Path) -> None:
    """The original kept a list beside `config`; one more word moves all of it."""
    path = metadata_file(tmp_path, notifyEvents=["completion", "error"])
    assert settings_writer.add(path, "notify.events", "blocked") == ["completion", "error", "blocked"]
    assert json.loads(path.read_text())["config"] == {"notify": {"events": ["completion", "error", "blocked"]}}


@pytest.mark.parametrize("name", ["new/config.toml", ".claude-iterate.json"])
def test_nobodys_change_is_lost(tmp_path: Path, name: str) -> None:
    """Many commands at once: each word is there in the end, and nothing else lies about."""
    path = tmp_path / name
    if path.suffix == ".json":
        path.write_text("{}")
    words = [f"c{number}" for number in range(8)]
    program = "import sys, pathlib; from claude_iterate.workspace import settings_writer as c; sys.stdin.read()\n"
    program += "for part in 'abc': c.add(pathlib.Path(sys.argv[1]), 'verification.checks', sys.argv[2] + part)"
    commands = [
        subprocess.Popen([sys.executable, "-c", program, str(path), word], stdin=subprocess.PIPE) for word in words
    ]
    for command in commands:
        assert command.stdin is not None
        command.stdin.close()
    assert [command.wait(300) for command in commands] == [0] * len(words)
    found = settings_reader.read_document(path)["verification"]["checks"]
    assert sorted(found) == sorted(word + part for word in words for part in "abc")
    assert list(path.parent.iterdir()) == [path]


def test_unset_removes_every_spelling(tmp_path: Path) -> None:
    """Two spellings of one key in a file are one setting."""
    path = tmp_path / "config.toml"
    path.write_text("delay = 3\ndefaultDelay = 4\noutput = 'quiet'\n")
    assert settings_writer.unset(path, "delay")
    assert tomllib.loads(path.read_text()) == {"output": "quiet"}
    assert not settings_writer.unset(path, "delay")


TABLES = {"claude.env": '{"FOO": "bar"}', "notify.headers": '{"X": "y"}', "limits.reserve": '{"five_hour": 0.2}'}


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize(
    "before",
    [
        "",
        COMMENTED,
        "claude.model = 'x'  # mine\n",
        "# why\nclaude = {model = 'x'}\n\n[notify]\nurl = 'http://x'  # theirs\n",
        "# why\n[claude]\nargs = ['a']  # b\n[limits]\nmax_cost_usd = 2  # dollars\n",
    ],
)
def test_what_was_set_can_be_unset(tmp_path: Path, key: str, before: str) -> None:
    """Tables too, in any file; its other settings and all of its comments are as they were."""
    path = tmp_path / "config.toml"
    path.write_text(before)
    settings_writer.set_text(path, key, TABLES[key])
    assert settings_writer.unset(path, key)
    assert [line for line in path.read_text().splitlines() if line] == [line for line in before.splitlines() if line]
    assert not settings_writer.unset(path, key)


def test_a_table_keeps_its_comments(tmp_path: Path) -> None:
    """Rows that stay are not touched."""
    path = tmp_path / "config.toml"
    path.write_text("[claude.env]\n# mine\nA = 'b'  # c\nD = 'e'\n")
    settings_writer.set_text(path, "claude.env", '{"A": "b", "F": "g"}')
    assert path.read_text() == "[claude.env]\n# mine\nA = 'b'  # c\nF = \"g\"\n"
