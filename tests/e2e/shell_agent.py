"""Claude as a shell script, for deeds that are short in the shell: git, links, background processes."""

from __future__ import annotations

import json
import shlex
import subprocess

from tests.e2e.conftest import Loop

_SCRIPT = """#!/bin/sh
[ "$1" = --version ] && { echo 9.9.9; exit; }
here=%s W=%s last=%d
S=$W/.status.json
n=$(cat "$here/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$here/count"
cat > "$here/prompt-$n"
id() { sed -n 's/^ *"iteration": "\\(.*\\)".*/\\1/p' "$here/prompt-${1:-$n}" | tail -n 1; }
report() { printf '%%s\\n' "$1" > "$S"; }
SAY="did call $n"
if [ -e "$here/deed-$n" ]; then . "$here/deed-$n"; else . "$here/deed-$last"; fi
printf '%%s\\n' '{"type":"system","subtype":"init","session_id":"s"}'
printf '%%s\\n' '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$SAY"'"}'
"""


def acts(loop: Loop, *deeds: str) -> None:
    """In its first call Claude does the first of these deeds, and so on; then the last one again.

    In a deed, `$S` is the report, `report TEXT` writes it, `$W` is the workspace, `$(id)` the id that the prompt asks
    for (`id 1`: that of the first call), and `SAY` the answer, a string within JSON.
    """
    folder = loop.folder / "agent"
    folder.mkdir(exist_ok=True)
    for number, deed in enumerate(deeds, 1):
        (folder / f"deed-{number}").write_text(deed + "\n")
    program = folder / "claude"
    program.write_text(_SCRIPT % (shlex.quote(str(folder)), shlex.quote(str(loop.workspace)), len(deeds)))
    program.chmod(0o755)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = json.dumps([str(program)])


def prompt(loop: Loop, number: int) -> str:
    """The prompt of a call, from 1."""
    return (loop.folder / "agent" / f"prompt-{number}").read_text()


def git(loop: Loop, *arguments: str) -> None:
    """Git in the project, without any settings of the computer."""
    who = {f"GIT_{role}_{part}": "t@t" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    loop.env |= who | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", *arguments], cwd=loop.root, env=loop.env, check=True, capture_output=True)


def with_git(loop: Loop) -> None:
    """Make the project a repository in which everything is committed."""
    git(loop, "init", "-q")
    git(loop, "add", "-A", "-f")
    git(loop, "commit", "-q", "--allow-empty", "-m", "begin")
