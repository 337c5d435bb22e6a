"""Settings become the command line and the environment of Claude. Nothing is started here; `discovery.prepare` makes it
ready to start.

The command line is the same at every output level: a level changes what is shown, never what is done.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem
from claude_iterate.system import untrusted_files

LARGEST_ARGUMENT = 100 * 1024
"""Linux refuses an argument of 128 KiB; a longer text goes through a file."""
ACTING_TOOLS = ("Bash", "Edit", "Write", "NotebookEdit")
"""Tools that a read-only call does not get."""
LASTING_TOOLS = ("Monitor", "ScheduleWakeup", "CronCreate")
"""Tools that keep a call running after its result and cost further turns."""
SKIP = "--dangerously-skip-permissions"
RUN_VARIABLE = "CLAUDE_ITERATE_RUN"
"""Holds the run's id in every process that the run starts: so they are found, however they hide."""
BESIDE = ".beside"
"""Ends the id in a process that serves the run beside Claude: no leftover of Claude's, but it ends with the run."""
WORKSPACE_VARIABLE = "CLAUDE_ITERATE_WORKSPACE"
CONTAINER_LABEL = "iterate.run"
"""Holds the run's id in every container that the run starts. The guardian names it when it looks for them, so it does
not have our name, by which a user may be killing at that moment."""

_NOT_INHERITED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT")
"""Claude refuses to start inside itself when it finds these."""


class ReadOnlyCall(msgspec.Struct, frozen=True):
    """A call that changes nothing; its answer has this schema (JSON Schema), if there is one. `settings_file`: the
    user's own settings of Claude Code, which have the login of some; `restricted`: no other settings files count."""

    schema: str = ""
    settings_file: str = ""
    restricted: bool = True


class Known(msgspec.Struct, frozen=True):
    """What is known of the Claude that is called: the options that its `--help` names; None: it was not asked."""

    options: frozenset[str] | None = None

    def has(self, option: str) -> bool:
        """True when it certainly knows the option."""
        return self.options is not None and option in self.options

    def lacks(self, option: str) -> bool:
        """True when it certainly does not."""
        return self.options is not None and option not in self.options


NOT_ASKED = Known()


def arguments(
    claude: ClaudeSettings,
    system_prompt: Sequence[str],
    *,
    skip_permissions: bool = False,
    budget_usd: float | None = None,
    session: str | None = None,
    read_only: ReadOnlyCall | None = None,
    known: Known = NOT_ASKED,
    folders: Sequence[str] = (),
    mode: str = "",
) -> list[str]:
    """The command line of one call. The prompt itself goes in on standard input; `system_prompt` are the words of
    `system_prompt_words`.

    `session` is the id of a session to resume; empty: a new one that can be resumed later; None: keep no session.
    `read_only` is for a call that is to look and answer, and to change nothing. `folders` are those beside the one that
    Claude works in; `mode` is the permission mode where the settings name none.
    """
    args = claude.args if read_only is None else [word for word in claude.args if word != SKIP]
    argv = [*claude.command, *args, "-p", "--output-format", "stream-json", "--verbose"]
    if claude.model:
        argv += ["--model", claude.model]
    if claude.max_turns:
        argv += ["--max-turns", str(claude.max_turns)]
    for option, value in tuning(claude).items():
        argv += [] if known.lacks(option) else [option, value]
    if budget_usd is not None:
        argv += ["--max-budget-usd", f"{max(budget_usd, 0.0001):.4f}"]
    argv += _permissions(claude, skip_permissions, read_only, known, mode)
    # Flags that take several words take all that follow, so another option comes after them: see the last lines.
    if folders:
        argv += ["--add-dir", *folders]
    if claude.allowed_tools:
        argv += ["--allowedTools", *claude.allowed_tools]
    # Claude Code adds this list to one in `claude.args`.
    denied = (*(() if read_only is None else ACTING_TOOLS), *(() if claude.background else LASTING_TOOLS))
    argv += ["--disallowedTools", *denied] if denied else []
    if read_only is not None and read_only.schema and not known.lacks("--json-schema"):
        argv += ["--json-schema", read_only.schema]
    if session is None:
        argv.append("--no-session-persistence")
    else:
        # Else a resumed session has the system prompt of its first call.
        argv += ["--system-prompt-snapshot", "off"] if known.has("--system-prompt-snapshot") else []
        argv += ["--resume", session] if session else []
    return [*argv, *system_prompt]


def tuning(claude: ClaudeSettings) -> dict[str, str]:
    """Options that not every Claude Code knows, as the user set them."""
    options = {
        "--effort": claude.effort,
        "--fallback-model": claude.fallback_model,
        "--autocompact": claude.autocompact,
    }
    return {option: value for option, value in options.items() if value}


def _permissions(
    claude: ClaudeSettings, skip_permissions: bool, read_only: ReadOnlyCall | None, known: Known, mode: str
) -> list[str]:
    """What Claude may do, and that nobody is there to ask."""
    words = {argument.split("=")[0] for argument in claude.args}
    alone = known.has("--permission-prompts") and not words & {"--permission-prompts", "--permission-prompt-tool"}
    prompts = ["--permission-prompts", "none"] if alone else []
    if read_only is not None:
        prompts += ["--permission-mode", "default"]
        if read_only.restricted and known.has("--restricted"):
            prompts += ["--restricted"]
            if read_only.settings_file and "--settings" not in words:
                prompts += ["--settings", read_only.settings_file]
        return prompts
    if skip_permissions:
        return prompts if SKIP in words else [*prompts, SKIP]
    # Older versions do not know `manual`, newer ones know both names.
    mode = {"manual": "default"}.get(claude.permission_mode or "", claude.permission_mode) or (
        "" if words & {SKIP, "--permission-mode", "--settings"} else mode
    )
    return [*prompts, "--permission-mode", mode] if mode else prompts


def conversation_arguments(
    claude: ClaudeSettings, system_prompt: Sequence[str], prompt: str, folders: Sequence[str] = ()
) -> list[str]:
    """The command line of a conversation with the user. Claude asks the user for permissions, so none are given."""
    argv = [*claude.command, *claude.args]
    if claude.model:
        argv += ["--model", claude.model]
    if claude.effort:
        argv += ["--effort", claude.effort]
    if folders:
        argv += ["--add-dir", *folders]
    return [*argv, *system_prompt, "--", prompt]


def decides_permissions(claude: ClaudeSettings) -> bool:
    """True when the settings say what Claude may do."""
    words = {argument.split("=")[0] for argument in claude.args}
    flags = {SKIP, "--permission-mode", "--allowedTools", "--allowed-tools", "--settings", "--permission-prompt-tool"}
    return bool(claude.permission_mode or claude.allowed_tools or words & flags)


@contextlib.contextmanager
def system_prompt_words(text: str, path: str) -> Iterator[list[str]]:
    """The words that give Claude the system prompt: one that is too long for an argument is in a file at this path,
    which is removed afterwards."""
    data = text.encode("utf-8", "replace")
    if len(data) <= LARGEST_ARGUMENT:
        yield ["--append-system-prompt", text]
        return
    file = Path(path)
    try:
        try:
            untrusted_files.make_folder(file.parent, parents=True)
            untrusted_files.write_bytes(file, data)
        except OSError as error:
            what = f"A prompt too long for a command line cannot be written: {error.strerror} ({file})."
            raise AgentProblem(what, "Check permissions and free space.") from error
        yield ["--append-system-prompt-file", path]
    finally:
        with contextlib.suppress(OSError):
            untrusted_files.unlink(file)


def claude_environment(environ: Mapping[str, str], claude: ClaudeSettings) -> dict[str, str]:
    """Our environment with what `claude.env` adds: for looking at Claude, outside of any run."""
    return {**environ, **claude.env}


def call_environment(environ: Mapping[str, str], claude: ClaudeSettings, run: str, workspace: Path) -> dict[str, str]:
    """The environment of a call that nobody attends. Unless the user gives these variables other values, an answer
    that stands still for a minute is cut and asked for again by Claude Code itself, and nothing works on in the
    background."""
    usual = {"CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "60000"}
    if not claude.background:
        usual["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
    return usual | run_environment(environ, claude, run, workspace)


def run_environment(environ: Mapping[str, str], claude: ClaudeSettings, run: str, workspace: Path) -> dict[str, str]:
    """The environment of what a run starts: with the run's id, without the variables of a Claude around us."""
    kept = {name: value for name, value in environ.items() if name not in _NOT_INHERITED}
    return claude_environment(kept, claude) | {RUN_VARIABLE: run, WORKSPACE_VARIABLE: str(workspace)}


def environment_outside(environ: Mapping[str, str], folders: Iterable[str]) -> dict[str, str]:
    """This environment with a PATH that leads neither into these folders nor to where the program happens to stand."""
    inside = tuple(f"{os.path.realpath(folder).rstrip('/')}/" for folder in folders)
    listed = environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [path for path in listed if path.startswith("/") and not f"{os.path.realpath(path)}/".startswith(inside)]
    return {**environ, "PATH": os.pathsep.join(safe)}
