"""The environment of Claude and of everything else that a run starts. Pure: nothing is started here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from claude_iterate.core.settings.declared import ClaudeSettings

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
