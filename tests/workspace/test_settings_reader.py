"""Settings files become layers; what cannot be read says where and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.core.settings.layers import resolve
from claude_iterate.errors import SettingsProblem
from claude_iterate.workspace import settings_reader
from claude_iterate.workspace.metadata import parse


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"CLAUDE_ITERATE_CONFIG_DIR": str(tmp_path / "user"), **more}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


def test_project_key_leaves_the_users_other_keys_alone(tmp_path: Path, user: Path) -> None:
    """A project file with one key changes that key and nothing else (defect 30)."""
    (user / "config.toml").write_text('delay = 7\n[claude]\ncommand = "mine"\nmodel = "opus"\n')
    (tmp_path / ".claude-iterate.toml").write_text('[claude]\nmodel = "haiku"\n')
    resolved = resolve(settings_reader.layers(tmp_path, environ(tmp_path)))
    assert resolved.settings.delay == 7
    assert resolved.settings.claude.command == ("mine",)
    assert resolved.settings.claude.model == "haiku"
    assert resolved.origin("delay").kind == "user"
    assert resolved.origin("claude.model").kind == "project"
    assert resolved.origin("stagnation_threshold").kind == "default"


def test_layers_stand_in_the_order_of_their_strength(tmp_path: Path, user: Path) -> None:
    """user < project < workspace < environment."""
    (user / "config.toml").write_text("delay = 1\nmax_iterations = 1\nstagnation_threshold = 1\noutput = 'quiet'")
    (tmp_path / ".claude-iterate.json").write_text(
        '{"defaultDelay": 2, "defaultMaxIterations": 2, "defaultStagnationThreshold": 2}'
    )
    about = parse({"format": 3, "config": {"delay": 3, "max_iterations": 3}})
    found = settings_reader.layers(tmp_path, environ(tmp_path, CLAUDE_ITERATE_DELAY="4"), about)
    settings = resolve(found).settings
    assert (settings.output, settings.stagnation_threshold, settings.max_iterations, settings.delay) == (
        "quiet",
        2,
        3,
        4,
    )


@pytest.mark.parametrize(
    ("name", "content", "place", "word"),
    [
        (".claude-iterate.toml", b'delay = 1\n[claude\nmodel = "x"', "line 2", "TOML"),
        (".claude-iterate.toml", b'delay = 1\nmodel = """', "end of document", "TOML"),
        (".claude-iterate.toml", b"delay = 1\n# \xff\n", "line 2", "UTF-8"),
        (".claude-iterate.json", b'{\n"delay": 1,\n', "line 3", "JSON"),
        (".claude-iterate.json", b"[1]", "", "JSON"),
        (".claude-iterate.json", b"[" * 100_000, "", "JSON"),
        (".claude-iterate.json", b"", "line 1", "JSON"),
        (".claude-iterate.json", b'{"delay": ' + b"9" * 5000 + b"}", "", "thousands of digits"),
        (".claude-iterate.toml", b"delay = " + b"9" * 5000, "", "thousands of digits"),
    ],
)
def test_torn_file_is_named_with_the_place(tmp_path: Path, name: str, content: bytes, place: str, word: str) -> None:
    """A damaged settings file is an expected error with file, line and a way out."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SettingsProblem) as raised:
        settings_reader.layers(tmp_path, environ(tmp_path))
    assert str(tmp_path / name) in raised.value.message
    assert place in raised.value.message
    assert word in raised.value.message
    assert raised.value.hint


def test_two_files_in_one_scope_are_an_error(tmp_path: Path) -> None:
    """The user does not have to guess which of two files counts."""
    (tmp_path / ".claude-iterate.toml").touch()
    (tmp_path / ".claude-iterate.json").write_text("{}")
    with pytest.raises(SettingsProblem, match="two settings files"):
        settings_reader.layers(tmp_path, environ(tmp_path))


def test_folder_instead_of_a_file_is_told(tmp_path: Path) -> None:
    """A folder with a settings file's name is not silently ignored."""
    (tmp_path / ".claude-iterate.toml").mkdir()
    with pytest.raises(SettingsProblem, match="is a folder, not a file"):
        settings_reader.layers(tmp_path, environ(tmp_path))


def test_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    """Files saved by Windows editors are read."""
    (tmp_path / ".claude-iterate.toml").write_bytes(b"\xef\xbb\xbfdelay = 9\n")
    assert resolve(settings_reader.layers(tmp_path, environ(tmp_path))).settings.delay == 9


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/claude-iterate"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/claude-iterate"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": ""}, "/h/.config/claude-iterate"),
        ("darwin", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/h/Library/Application Support/claude-iterate"),
        ("linux", {"HOME": "/h", "CLAUDE_ITERATE_CONFIG_DIR": "~/mine"}, "/h/mine"),
    ],
)
def test_user_folder_is_where_the_platform_keeps_settings(
    platform: str, variables: dict[str, str], expected: str
) -> None:
    """Each platform's custom is followed; one variable overrides it."""
    assert settings_reader.user_folder(variables, platform) == Path(expected)
