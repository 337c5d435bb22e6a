"""Finds Claude and asks for its version: a missing, broken or hanging one is known before anything is written."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from claude_iterate.errors import AgentProblem

PATIENCE = 10.0


def find(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """The program's path, or an AgentProblem."""
    program = command[0]
    found = shutil.which(program, path=environ.get("PATH"))
    if found is not None:
        return found
    if os.path.sep in program and Path(program).exists():
        raise AgentProblem(f"{program} is not an executable file.", f"Make it one: chmod +x {program}")
    hint = "Install it: npm install -g @anthropic-ai/claude-code"
    if list(command) != ["claude"]:
        hint = f"`claude.command` is {program!r}; see: claude-iterate config claude.command"
    raise AgentProblem("Claude CLI not found. Make sure 'claude' is installed and in PATH.", hint)


def version(command: Sequence[str], environ: Mapping[str, str], patience: float = PATIENCE) -> str:
    """What `--version` prints, or an AgentProblem when it fails or does not answer."""
    program = find(command, environ)
    try:
        process = subprocess.Popen(
            [program, *command[1:], "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        raise AgentProblem(
            f"{program} cannot be started: {error.strerror}.", "Reinstall Claude Code, or set `claude.command`."
        ) from None
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        _end(process)
        raise AgentProblem(
            f"{program} --version did not answer within {patience:.0f} seconds.",
            "Reinstall Claude Code, or set `claude.command`.",
        ) from None
    if process.returncode != 0:
        said = " ".join((err or out).decode("utf-8", "replace").split())[:200]
        raise AgentProblem(
            f"{program} --version failed with exit code {process.returncode}{': ' + said if said else ''}.",
            "Reinstall Claude Code, or set `claude.command`.",
        )
    return " ".join(out.decode("utf-8", "replace").split())[:100]


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()
