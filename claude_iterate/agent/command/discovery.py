"""Finds Claude and asks for its version: a missing, broken or hanging one is known before anything is written."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from claude_iterate.errors import AgentProblem
from claude_iterate.system import temporary_files

PATIENCE = 10.0
_MEND = "Reinstall Claude Code, or set `claude.command`."


def find(command: Sequence[str], environ: Mapping[str, str], root: Path) -> str:
    """The program's path, or an AgentProblem. A relative path is one from the project root, where Claude runs."""
    program = command[0]
    if os.path.sep in program:
        program = str(root / program)
    found = shutil.which(program, path=environ.get("PATH"))
    if found is not None:
        return found
    if os.path.sep in program and Path(program).exists():
        raise AgentProblem(f"{program} is not an executable file.", f"Make it one: chmod +x {program}")
    hint = "Install it: npm install -g @anthropic-ai/claude-code"
    if list(command) != ["claude"]:
        hint = f"`claude.command` is {command[0]!r}; see: claude-iterate config claude.command"
    raise AgentProblem("Claude CLI not found. Make sure 'claude' is installed and in PATH.", hint)


def version(command: Sequence[str], environ: Mapping[str, str], root: Path, patience: float = PATIENCE) -> str:
    """What `--version` prints, or an AgentProblem when it fails or does not answer."""
    program = find(command, environ, root)
    temporary_files.refuse_if_impossible()
    # Files, not pipes: a child that it leaves behind may hold a pipe open for ever.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _call([program, *command[1:], "--version"], environ, root, (out, err), patience)
        printed, complained = _words(out), _words(err)
    if code is None:
        raise AgentProblem(f"{program} --version did not answer within {patience:.0f} seconds.", _MEND)
    if code != 0:
        said = complained or printed
        raise AgentProblem(f"{program} --version failed with exit code {code}{': ' + said if said else ''}.", _MEND)
    return printed[:100]


def _call(
    argv: list[str],
    environ: Mapping[str, str],
    root: Path,
    files: tuple[IO[bytes], IO[bytes]],
    patience: float,
) -> int | None:
    """Its exit code; None when it took too long. Whatever it started is ended with it."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=files[0],
            stderr=files[1],
            env=dict(environ),
            cwd=root,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise AgentProblem(f"{argv[0]} cannot be started: {said}.", _MEND) from None
    try:
        return process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _words(file: IO[bytes]) -> str:
    file.seek(0)
    return " ".join(file.read(2000).decode("utf-8", "replace").split())[:200]
