"""Settings become the command line and the environment of Claude. Pure: nothing is started here.

The same command at every output level: a level changes what is shown, never what is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from claude_iterate.agent.command.marks import RUN_VARIABLE, WORKSPACE_VARIABLE
from claude_iterate.core.settings.declared import ClaudeSettings

LARGEST_ARGUMENT = 100 * 1024
"""Linux refuses an argument of 128 KiB; above this size the system prompt goes through a file."""

_NOT_INHERITED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT")
"""Claude refuses to start inside itself when it finds these."""


def arguments(
    claude: ClaudeSettings,
    system_prompt: str,
    system_prompt_file: Path | None = None,
    skip_permissions: bool = False,
    budget_usd: float | None = None,
    session: str | None = None,
) -> list[str]:
    """The command line of one call. The prompt itself goes in on standard input.

    `session` is the id of a session of ours that goes on; empty: a new one that may go on later; None: keep none.
    """
    argv = [*claude.command, *claude.args, "-p", "--output-format", "stream-json", "--verbose"]
    if claude.model:
        argv += ["--model", claude.model]
    if claude.max_turns:
        argv += ["--max-turns", str(claude.max_turns)]
    if budget_usd is not None:
        argv += ["--max-budget-usd", f"{max(budget_usd, 0.0001):.4f}"]
    if skip_permissions and "--dangerously-skip-permissions" not in claude.args:
        argv.append("--dangerously-skip-permissions")
    if claude.permission_mode and not skip_permissions:
        argv += ["--permission-mode", claude.permission_mode]
    if claude.allowed_tools:
        # The flag takes all words that follow, so another option must come after it: see the next lines.
        argv += ["--allowedTools", *claude.allowed_tools]
    if session is None:
        argv.append("--no-session-persistence")
    elif session:
        argv += ["--resume", session]
    if system_prompt_file is not None:
        return [*argv, "--append-system-prompt-file", str(system_prompt_file)]
    return [*argv, "--append-system-prompt", system_prompt]


def conversation(
    claude: ClaudeSettings, system_prompt: str, prompt: str, system_prompt_file: Path | None = None
) -> list[str]:
    """The command line of a conversation with a person. Claude asks that person for permissions, so none are given."""
    argv = [*claude.command, *claude.args]
    if claude.model:
        argv += ["--model", claude.model]
    if system_prompt_file is not None:
        argv += ["--append-system-prompt-file", str(system_prompt_file)]
    else:
        argv += ["--append-system-prompt", system_prompt]
    return [*argv, "--", prompt]


def environment(base: Mapping[str, str], claude: ClaudeSettings, run: str, workspace: Path) -> dict[str, str]:
    """The environment of one iteration: ours, without what Claude takes offence at, with the run's mark."""
    kept = {name: value for name, value in base.items() if name not in _NOT_INHERITED}
    return kept | claude.env | {RUN_VARIABLE: run, WORKSPACE_VARIABLE: str(workspace)}


def decides_permissions(claude: ClaudeSettings) -> bool:
    """True when the settings say what Claude may do."""
    flags = ("--dangerously-skip-permissions", "--permission-mode", "--allowedTools", "--allowed-tools", "--settings")
    return bool(
        claude.permission_mode
        or claude.allowed_tools
        or any(argument.split("=")[0] in flags for argument in claude.args)
    )
