"""Claude is looked for and asked for its version before anything else happens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_iterate.agent.command import discovery
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem
from claude_iterate.selftest.harness.scripted_project import until
from claude_iterate.system import processes

HELP = """cat <<'END'
Usage: claude [options]
Options:
  -h, --help                     Display help
  --allowedTools, --allowed-tools <tools...>  Comma or space-separated
  --restricted                   Restricted mode
                                 --resume <session-id> goes on
END"""


def claude(*command: str) -> ClaudeSettings:
    return ClaudeSettings(command=command)


def program(folder: Path, text: str, mode: int = 0o755) -> str:
    path = folder / "claude"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(mode)
    return str(path)


def test_a_version_is_one_line(tmp_path: Path) -> None:
    """Whatever it prints is folded into one line."""
    assert (
        discovery.version(claude(program(tmp_path, "echo '2.1.197 (Claude'; echo 'Code)'")), os.environ, tmp_path)
        == "2.1.197 (Claude Code)"
    )


def test_arguments_of_the_command_come_first(tmp_path: Path) -> None:
    """`claude.command` may be a list."""
    assert (
        discovery.version(claude(program(tmp_path, 'echo "$1 $2"'), "wrapped"), os.environ, tmp_path)
        == "wrapped --version"
    )


@pytest.mark.parametrize(
    ("version", "answer", "options"),
    [
        ("2.1.197 (Claude Code)", HELP, {"--help", "--allowedTools", "--allowed-tools", "--restricted"}),
        ("2.1.197 (Claude Code)", "exit 1", None),
        ("9.9.9", HELP, None),
    ],
)
def test_what_it_knows_is_read_from_its_help(
    tmp_path: Path, version: str, answer: str, options: set[str] | None
) -> None:
    """Options, not words of their explanations. A script that is no Claude Code is not asked: it may do anything
    then. One that does not answer is called without the newer options."""
    asked = claude(program(tmp_path, f"echo asked > {tmp_path}/asked; {answer}"))
    known = discovery.known_options(version, asked, os.environ, tmp_path)
    assert known.options == options
    assert (tmp_path / "asked").exists() == ("Claude Code" in version)


def test_one_that_hangs_is_given_up_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what it started itself."""
    monkeypatch.setattr(discovery, "PATIENCE", 3.0)
    mark = tmp_path / "pid"
    hanging = program(tmp_path, f"sleep 300 & echo $! > {mark}; wait")
    with pytest.raises(AgentProblem, match="did not answer within"):
        discovery.version(claude(hanging), os.environ, tmp_path)
    until(lambda: not processes.is_alive(int(mark.read_text())))


def test_one_that_is_not_there_is_named_as_the_seed_does() -> None:
    """With the setting to look at when it is not the default."""
    with pytest.raises(AgentProblem, match="Claude CLI not found") as caught:
        discovery.find(claude("no-such-program"), {"PATH": "/nowhere"}, Path("/"))
    assert "claude.command" in caught.value.hint
    with pytest.raises(AgentProblem) as caught:
        discovery.find(claude("sh -c exit"), {"PATH": "/nowhere"}, Path("/"))
    assert """claude-iterate config claude.command '["sh", "-c", "exit"]'""" in caught.value.hint


def test_one_that_is_no_program(tmp_path: Path) -> None:
    """A file of the wrong format says so."""
    path = tmp_path / "claude"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    with pytest.raises(AgentProblem, match="cannot be started"):
        discovery.version(claude(str(path)), os.environ, tmp_path)
