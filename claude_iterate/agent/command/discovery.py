"""Finds Claude, makes its command ready to start, and asks for its version.

So a missing, broken or hanging Claude is noticed before anything is written.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from claude_iterate.agent.command.command_line import NOT_ASKED, Known, claude_environment
from claude_iterate.agent.command.sandbox import Command, Sandbox, enclose
from claude_iterate.core import claude_versions
from claude_iterate.core.redact import Redactor, mask_secrets
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.errors import AgentProblem, WorkspaceProblem
from claude_iterate.system import signals
from claude_iterate.system.files import nameless_file, require_temporary_files

PATIENCE = 30.0
_LONGEST_HELP = 100_000
_REINSTALL = "Reinstall Claude Code, or set `claude.command`."


def prepare(
    argv: Sequence[str],
    environment: Mapping[str, str],
    root: Path,
    sandbox: Sandbox | None = None,
    *,
    for_claude: bool = True,
    given: Iterable[str] = (),
    terminal: bool = False,
) -> Command:
    """A command line, ready to start in the project root; an AgentProblem when there is no such Claude.

    Every start of Claude, and of a program of the user such as a check, goes through here: a sandbox is put around the
    command in this place. Such a program is closed in where Claude is, because Claude may have written what it runs.
    `given` are the variables that the settings give to it by name.
    """
    if for_claude and (sandbox is None or not sandbox.is_container):  # a container has a Claude of its own
        argv = [_program(argv[0], environment, root), *argv[1:]]
    if sandbox is None:
        return Command([*argv], dict(environment))
    for path, real in sandbox.settled.items():
        if os.path.realpath(path) != real:
            raise WorkspaceProblem(
                f"{path} leads to another place than when the run began, so nothing is started in the sandbox.",
                f"Look at it: ls -ld {shlex.quote(path)}",
            )
    return enclose(argv, environment, sandbox, str(root), for_claude=for_claude, terminal=terminal, given=tuple(given))


def find(claude: ClaudeSettings, environ: Mapping[str, str], root: Path) -> str:
    """Claude's path, or an AgentProblem."""
    return _program(claude.command[0], claude_environment(environ, claude), root)


def _program(name: str, environ: Mapping[str, str], root: Path) -> str:
    """A relative path is relative to the project root, where Claude runs."""
    program = name
    if os.path.sep in program:
        program = str(root / program)
    found = shutil.which(program, path=environ.get("PATH"))
    if found is not None:
        return found
    if os.path.sep in program and Path(program).exists():
        raise AgentProblem(f"{program} is not an executable file.", f"Make it one: chmod +x {program}")
    hint = (
        "Install it: npm install -g @anthropic-ai/claude-code; "
        "or say where it is, if `claude` is an alias of your shell: claude-iterate config --global claude.command PATH"
    )
    if name != "claude":
        hint = f"`claude.command` is {name!r}; see: claude-iterate config claude.command"
        if " " in name:
            words = shlex.quote(json.dumps(name.split()))
            hint += f". To give it arguments, make it a list: claude-iterate config claude.command {words}"
    raise AgentProblem("Claude CLI not found. Make sure 'claude' is installed and in PATH.", hint)


def version(claude: ClaudeSettings, environ: Mapping[str, str], root: Path, sandbox: Sandbox | None = None) -> str:
    """What `--version` prints, or an AgentProblem when it fails or does not answer."""
    return mask_secrets(" ".join(_answer("--version", claude, environ, root, sandbox).split()))[:100]


def known_options(
    version: str, claude: ClaudeSettings, environ: Mapping[str, str], root: Path, sandbox: Sandbox | None = None
) -> Known:
    """The options that `--help` names. What does not call itself Claude Code is not asked: a script may do anything
    with an argument that it does not know. One that cannot answer is called without the newer options."""
    if not claude_versions.is_claude_code(version):
        return NOT_ASKED
    try:
        return Known(options_in(_answer("--help", claude, environ, root, sandbox)))
    except AgentProblem:
        return NOT_ASKED


def options_in(said: str) -> frozenset[str]:
    """The options that a help text explains. Their names stand at the beginning of a line, before two spaces; what is
    said about them is further right."""
    named = (line.strip().split("  ")[0] for line in said.splitlines() if line.startswith("  -"))
    return frozenset(word.strip(",") for words in named for word in words.split() if word.startswith("--"))


def _answer(flag: str, claude: ClaudeSettings, environ: Mapping[str, str], root: Path, sandbox: Sandbox | None) -> str:
    require_temporary_files()
    command = prepare([*claude.command, flag], claude_environment(environ, claude), root, sandbox, given=claude.env)
    program = command.argv[0] if sandbox is None else f"Inside the sandbox ({sandbox.asked.kind}) {claude.command[0]}"
    # Files, not pipes: a child that it leaves behind may hold a pipe open without end.
    with nameless_file() as out, nameless_file() as err:
        try:
            process = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=command.environment,
                cwd=root,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise AgentProblem(f"{command.argv[0]} cannot be started: {said}.", _REINSTALL) from None
        try:
            code = process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise AgentProblem(f"{program} {flag} did not answer within {PATIENCE:.0f} seconds.", _REINSTALL) from None
        finally:
            signals.send(process.pid, signal.SIGKILL, group=True)
            process.wait()
        printed, complained = _text(out), _text(err)
    if code != 0:
        said = Redactor(environ).clean(" ".join((complained or printed).split()))[:200]
        raise AgentProblem(f"{program} {flag} failed with exit code {code}{': ' + said if said else ''}.", _REINSTALL)
    return printed


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LONGEST_HELP).decode("utf-8", "replace").strip()
