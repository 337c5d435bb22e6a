"""Settings become a command line; the details that Claude is particular about."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import LARGEST_ARGUMENT, arguments, decides_permissions, file_if_long
from claude_iterate.agent.command.environment import claude_environment, run_environment
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem


def test_the_plain_command() -> None:
    """Headless, streaming, verbose, no session kept, the system prompt last."""
    assert arguments(ClaudeSettings(), "SYSTEM") == [
        *["claude", "-p", "--output-format", "stream-json", "--verbose"],
        *["--no-session-persistence", "--append-system-prompt", "SYSTEM"],
    ]


def test_an_option_follows_the_allowed_tools() -> None:
    """`--allowedTools` eats all words that follow it; another option must end it."""
    argv = arguments(ClaudeSettings(allowed_tools=("Bash(a:*)", "Write")), "S")
    at = argv.index("--allowedTools")
    assert argv[at + 1 : at + 4] == ["Bash(a:*)", "Write", "--no-session-persistence"]


def test_a_session_is_kept_or_goes_on_only_when_asked() -> None:
    """Never `--continue`, which would take up whatever session the folder saw last; an option ends the tools."""
    claude = ClaudeSettings(allowed_tools=("Write",))
    kept, resumed = arguments(claude, "S", session=""), arguments(claude, "S", session="an-id")
    assert kept[-4:] == ["--allowedTools", "Write", "--append-system-prompt", "S"]
    assert resumed[-5:] == ["Write", "--resume", "an-id", "--append-system-prompt", "S"]
    assert not {"--continue", "--no-session-persistence"} & {*kept, *resumed}


def test_skipping_permissions_replaces_the_mode_and_is_not_said_twice() -> None:
    """The two contradict each other; a flag in `claude.args` is enough."""
    argv = arguments(ClaudeSettings(permission_mode="plan"), "S", skip_permissions=True)
    assert "--permission-mode" not in argv
    skip = "--dangerously-skip-permissions"
    assert arguments(ClaudeSettings(args=(skip,)), "S", skip_permissions=True).count(skip) == 1


def test_a_spent_budget_is_still_a_number_claude_accepts() -> None:
    """0 or less would make Claude print a page of its source."""
    argv = arguments(ClaudeSettings(), "S", budget_usd=-3.0)
    assert argv[argv.index("--max-budget-usd") + 1] == "0.0001"


def test_the_environment_carries_the_mark_and_not_claudes_own_variables() -> None:
    """Claude refuses to start within itself."""
    base = {"PATH": "/bin", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_ITERATE_RUN": "outer"}
    found = run_environment(base, ClaudeSettings(env={"A": "b"}), "r1", Path("/w"))
    assert found == {"PATH": "/bin", "A": "b", "CLAUDE_ITERATE_RUN": "r1", "CLAUDE_ITERATE_WORKSPACE": "/w"}


def test_what_decides_permissions() -> None:
    """A mode, allowed tools, or the flags themselves in `claude.args`."""
    assert not decides_permissions(ClaudeSettings())
    assert decides_permissions(ClaudeSettings(permission_mode="acceptEdits"))
    assert decides_permissions(ClaudeSettings(allowed_tools=("Write",)))
    assert decides_permissions(ClaudeSettings(args=("--permission-mode=plan",)))


@pytest.mark.parametrize(
    ("text", "long"),
    [("x" * LARGEST_ARGUMENT, False), ("x" * (LARGEST_ARGUMENT + 1), True), ("é" * (LARGEST_ARGUMENT - 1), True)],
)
def test_a_file_only_if_it_must_be(tmp_path: Path, text: str, long: bool) -> None:
    """Its size in bytes counts, and it is gone afterwards."""
    with file_if_long(text, f"{tmp_path}/new/system.md") as file:
        assert (file is not None) == long
        assert file is None or file.read_text() == text
    assert not (tmp_path / "new" / "system.md").exists()


def test_a_file_that_cannot_be_written_is_an_expected_error(tmp_path: Path) -> None:
    """It ends the run with a message, not with a crash."""
    (tmp_path / "file").touch()
    with pytest.raises(AgentProblem, match="cannot be written"), file_if_long("x" * 200_000, f"{tmp_path}/file/x"):
        pass


def test_every_start_of_claude_is_prepared_in_one_place(tmp_path: Path) -> None:
    """The program is found by the path that Claude itself will have; the rest of the words stay."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    claude = ClaudeSettings(env={"PATH": str(tmp_path)})
    environment = claude_environment({"PATH": "/nowhere"}, claude)
    prepared = discovery.prepare(["claude", "-p"], environment, Path("/"))
    assert prepared == ([str(program), "-p"], {"PATH": str(tmp_path)})
