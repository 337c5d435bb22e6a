"""Settings become a command line; the details that Claude is particular about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import (
    LARGEST_ARGUMENT,
    NOT_ASKED,
    Known,
    ReadOnlyCall,
    arguments,
    call_environment,
    claude_environment,
    decides_permissions,
    run_environment,
    system_prompt_words,
)
from claude_iterate.agent.command.sandbox import Command
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem

LASTING = ["--disallowedTools", "Monitor", "ScheduleWakeup", "CronCreate"]
NEWER = ("--restricted", "--permission-prompts", "--system-prompt-snapshot")
TODAY = Known(frozenset([*NEWER, "--effort", "--autocompact"]))
OLD = Known(frozenset(["--effort"]))
SYSTEM = ["--append-system-prompt", "S"]
READ_ONLY = ReadOnlyCall("{}", "/home/me/.claude/settings.json")


def test_the_plain_command() -> None:
    """Headless, streaming, verbose, nothing that outlasts the result, no session kept, the system prompt last."""
    assert arguments(ClaudeSettings(), ["--append-system-prompt", "SYSTEM"]) == [
        *["claude", "-p", "--output-format", "stream-json", "--verbose", *LASTING],
        *["--no-session-persistence", "--append-system-prompt", "SYSTEM"],
    ]


def test_an_option_follows_those_that_take_several_words() -> None:
    """`--allowedTools` eats all words that follow it; another option must end it, whatever else is set."""
    for background in (False, True):
        claude = ClaudeSettings(allowed_tools=("Bash(a:*)", "Write"), background=background)
        argv = arguments(claude, SYSTEM, folders=["/w"], session="")
        for option, words in (("--allowedTools", 2), ("--add-dir", 1), *([] if background else [(LASTING[0], 3)])):
            at = argv.index(option)
            assert [word.startswith("-") for word in argv[at + 1 : at + 2 + words]] == [False] * words + [True]


@pytest.mark.setting("claude.background")
def test_nothing_outlasts_the_result_unless_it_may() -> None:
    """Neither a tool that wakes Claude up again nor a background task, unless the user wants that."""
    asked = (ClaudeSettings(), ClaudeSettings(background=True))
    assert [LASTING[0] in arguments(claude, SYSTEM) for claude in asked] == [True, False]
    found = [call_environment({}, claude, "r1", Path("/w")) for claude in asked]
    assert ["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS" in environment for environment in found] == [True, False]


def test_a_session_is_kept_or_goes_on_only_when_asked() -> None:
    """Never `--continue`, which would take up whatever session the folder saw last."""
    claude = ClaudeSettings(background=True)
    kept, resumed = arguments(claude, SYSTEM, session=""), arguments(claude, SYSTEM, session="an-id")
    assert kept[-3:] == ["--verbose", "--append-system-prompt", "S"]
    assert resumed[-4:] == ["--resume", "an-id", "--append-system-prompt", "S"]
    assert not {"--continue", "--no-session-persistence"} & {*kept, *resumed}


@pytest.mark.parametrize(
    ("given", "known", "words"),
    [
        ({"session": "an-id"}, TODAY, "--system-prompt-snapshot off --resume an-id"),
        ({"session": "an-id"}, OLD, "--verbose --resume an-id"),
        ({}, TODAY, "--permission-prompts none"),
        ({"mode": "default"}, TODAY, "--permission-prompts none --permission-mode default"),
        ({"read_only": READ_ONLY}, TODAY, f"--restricted --settings {READ_ONLY.settings_file} --disallowedTools"),
        ({"read_only": replace(READ_ONLY, settings_file="")}, TODAY, "--restricted --disallowedTools"),
        ({"read_only": replace(READ_ONLY, restricted=False)}, TODAY, "--permission-mode default --disallowedTools"),
        ({"read_only": READ_ONLY}, OLD, "--verbose --permission-mode default --disallowedTools"),
        ({"read_only": READ_ONLY, "skip_permissions": True}, NOT_ASKED, "--verbose --permission-mode default"),
    ],
)
def test_newer_options_are_only_for_a_claude_that_has_them(given: dict[str, Any], known: Known, words: str) -> None:
    """What `--help` names decides, and a Claude that was not asked gets none."""
    claude = ClaudeSettings(background=True)
    assert f" {words} " in f" {' '.join(arguments(claude, SYSTEM, known=known, **given))} "
    if known is not TODAY:
        options = set(arguments(claude, SYSTEM, known=known, **given))
        assert not options & {*NEWER}


@pytest.mark.parametrize("args", [("--permission-prompts", "host"), ("--permission-prompts=host",)])
def test_who_answers_prompts_is_left_to_the_user(args: tuple[str, ...]) -> None:
    """A later word of ours would take theirs back."""
    argv = arguments(ClaudeSettings(args=args), SYSTEM, known=TODAY)
    assert [word for word in argv if word.startswith("--permission-prompts")] == [args[0]]
    assert "none" not in argv


def test_a_call_that_looks_gets_no_tool_that_acts() -> None:
    """Whatever the settings allow, and no flag in `claude.args` gives it all of them."""
    skip = "--dangerously-skip-permissions"
    claude = ClaudeSettings(args=(skip,), permission_mode="bypassPermissions")
    argv = arguments(claude, SYSTEM, read_only=READ_ONLY, known=TODAY, skip_permissions=True)
    assert {"Bash", "Edit", "Write", "NotebookEdit"} <= set(argv[argv.index("--disallowedTools") :])
    assert skip not in argv
    assert argv[argv.index("--permission-mode") + 1] == "default"


def test_a_schema_is_only_for_a_claude_that_knows_it() -> None:
    """Another one answers as text."""
    assert "--json-schema" in arguments(ClaudeSettings(), SYSTEM, read_only=READ_ONLY)
    assert "--json-schema" not in arguments(ClaudeSettings(), SYSTEM, read_only=READ_ONLY, known=OLD)


@pytest.mark.setting("claude.effort", "claude.fallback_model", "claude.autocompact")
def test_a_tuning_that_the_claude_does_not_know_is_left_out() -> None:
    """A run does not fail for want of it. One that was not asked gets what the user set."""
    claude = ClaudeSettings(effort="high", fallback_model="sonnet", autocompact="150k")
    tuned = ["--effort", "high", "--fallback-model", "sonnet", "--autocompact", "150k"]
    assert arguments(claude, SYSTEM)[5:11] == tuned
    assert arguments(claude, SYSTEM, known=OLD)[5:8] == ["--effort", "high", LASTING[0]]


@pytest.mark.parametrize(
    ("claude", "mode"),
    [
        (ClaudeSettings(), "default"),
        (ClaudeSettings(permission_mode="acceptEdits"), "acceptEdits"),
        (ClaudeSettings(permission_mode="manual"), "default"),
        (ClaudeSettings(args=("--permission-mode=plan",)), None),
        (ClaudeSettings(args=("--settings", "x.json")), None),
        (ClaudeSettings(args=("--dangerously-skip-permissions",)), None),
    ],
)
def test_the_mode_is_said_unless_something_else_says_it(claude: ClaudeSettings, mode: str | None) -> None:
    """`manual` is the newer name of `default`, which all versions know."""
    argv = arguments(claude, SYSTEM, mode="default")
    assert (argv[argv.index("--permission-mode") + 1] if "--permission-mode" in argv else None) == mode


def test_skipping_permissions_replaces_the_mode_and_is_not_said_twice() -> None:
    """The two contradict each other; a flag in `claude.args` is enough."""
    argv = arguments(ClaudeSettings(permission_mode="plan"), SYSTEM, skip_permissions=True)
    assert "--permission-mode" not in argv
    skip = "--dangerously-skip-permissions"
    assert arguments(ClaudeSettings(args=(skip,)), SYSTEM, skip_permissions=True).count(skip) == 1


def test_a_spent_budget_is_still_a_number_claude_accepts() -> None:
    """0 or less would make Claude print a page of its source."""
    argv = arguments(ClaudeSettings(), SYSTEM, budget_usd=-3.0)
    assert argv[argv.index("--max-budget-usd") + 1] == "0.0001"


def test_the_environment_carries_the_mark_and_not_claudes_own_variables() -> None:
    """Claude refuses to start within itself."""
    base = {"PATH": "/bin", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_ITERATE_RUN": "outer"}
    found = run_environment(base, ClaudeSettings(env={"A": "b"}), "r1", Path("/w"))
    assert found == {"PATH": "/bin", "A": "b", "CLAUDE_ITERATE_RUN": "r1", "CLAUDE_ITERATE_WORKSPACE": "/w"}


def test_a_stalled_answer_is_cut_by_claude_itself_unless_the_user_says_otherwise() -> None:
    """A minute, by its own variable; one that is set wins."""
    name = "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS"
    assert call_environment({}, ClaudeSettings(), "r1", Path("/w"))[name] == "60000"
    assert call_environment({name: "1"}, ClaudeSettings(), "r1", Path("/w"))[name] == "1"
    assert call_environment({}, ClaudeSettings(env={name: "2"}), "r1", Path("/w"))[name] == "2"


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
    path = tmp_path / "new" / "system.md"
    with system_prompt_words(text, str(path)) as words:
        expected = ["--append-system-prompt-file", str(path)] if long else ["--append-system-prompt", text]
        assert words == expected
        assert not long or path.read_text() == text
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_an_expected_error(tmp_path: Path) -> None:
    """It ends the run with a message, not with a crash."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(AgentProblem, match="cannot be written"),
        system_prompt_words("x" * 200_000, f"{tmp_path}/file/x"),
    ):
        pass


def test_every_start_of_claude_is_prepared_in_one_place(tmp_path: Path) -> None:
    """The program is found by the path that Claude itself will have; the rest of the words stay."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    claude = ClaudeSettings(env={"PATH": str(tmp_path)})
    environment = claude_environment({"PATH": "/nowhere"}, claude)
    prepared = discovery.prepare(["claude", "-p"], environment, Path("/"))
    assert prepared == Command([str(program), "-p"], {"PATH": str(tmp_path)})
