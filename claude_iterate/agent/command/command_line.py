"""Settings become the command line of Claude. Nothing is started here; `discovery.prepare` makes it ready to start.

The command line is the same at every output level: a level changes what is shown, never what is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.core.records import Record
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem

LARGEST_ARGUMENT = 100 * 1024
"""Linux refuses an argument of 128 KiB; a longer text goes through a file."""


EDITING_TOOLS = ("Edit", "Write", "NotebookEdit")
"""What a call that only looks does not get. Claude Code prints a complaint about names that it does not know."""


class Looking(Record):
    """A call that changes nothing; its answer has this schema (JSON Schema), if there is one."""

    schema: str = ""


def arguments(
    claude: ClaudeSettings,
    system_prompt: str,
    system_prompt_file: Path | None = None,
    skip_permissions: bool = False,
    budget_usd: float | None = None,
    session: str | None = None,
    looking: Looking | None = None,
) -> list[str]:
    """The command line of one call. The prompt itself goes in on standard input.

    `session` is the id of a session to resume; empty: a new one that can be resumed later; None: keep no session.
    `looking` is for a call that is to look and answer, and to change nothing.
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
    if looking is not None:
        argv += ["--disallowedTools", *EDITING_TOOLS]
        argv += ["--json-schema", looking.schema] if looking.schema else []
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
    """The command line of a conversation with the user. Claude asks the user for permissions, so none are given."""
    argv = [*claude.command, *claude.args]
    if claude.model:
        argv += ["--model", claude.model]
    if system_prompt_file is not None:
        argv += ["--append-system-prompt-file", str(system_prompt_file)]
    else:
        argv += ["--append-system-prompt", system_prompt]
    return [*argv, "--", prompt]


def decides_permissions(claude: ClaudeSettings) -> bool:
    """True when the settings say what Claude may do."""
    flags = (
        *("--dangerously-skip-permissions", "--permission-mode", "--allowedTools", "--allowed-tools", "--settings"),
        "--permission-prompt-tool",
    )
    return bool(
        claude.permission_mode
        or claude.allowed_tools
        or any(argument.split("=")[0] in flags for argument in claude.args)
    )


@contextlib.contextmanager
def file_if_long(text: str, path: str) -> Iterator[Path | None]:
    """A file with the text if it is too long for an argument, else None. The file is removed afterwards."""
    # A character takes four bytes at most: usually there is nothing to encode.
    if len(text) <= LARGEST_ARGUMENT // 4 or len(text.encode("utf-8", "replace")) <= LARGEST_ARGUMENT:
        yield None
        return
    file = Path(path)
    try:
        _write(file, text)
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        what = f"A prompt too long for a command line cannot be written: {error.strerror} ({file})."
        raise AgentProblem(what, "Check permissions and free space.") from error
