"""Which steps of a fault script this call has to do, and the record that it leaves for tests.

Calls may come at the same time: a call takes its number by making a file that must not exist yet.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from claude_iterate.fake_claude.shapes import Document
from claude_iterate.fake_claude.tools import replace

SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")


class ScriptProblem(Exception):
    """The script cannot be followed; the text says why. Exit code 97."""


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """Where calls are counted and recorded: `CLAUDE_ITERATE_FAKE_STATE`, or beside the script."""
    if folder := environ.get("CLAUDE_ITERATE_FAKE_STATE"):
        return Path(folder)
    script = environ.get("CLAUDE_ITERATE_FAKE_SCRIPT")
    return Path(script + ".state") if script else None


def claim(state: Path) -> int:
    """Take the next number, from 1. No two calls get the same number."""
    state.mkdir(parents=True, exist_ok=True)
    number = sum(1 for claimed in state.iterdir() if not claimed.suffix) + 1
    while True:
        try:
            os.close(os.open(state / f"call-{number:04d}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return number
        except FileExistsError:
            number += 1


def record(state: Path, number: int, argv: list[str], stdin: bytes, environ: Mapping[str, str]) -> None:
    """Keep what arrived: `call-NNNN.json` and, as bytes, `call-NNNN.stdin`. Values of secrets are left out."""
    stdin_file = state / f"call-{number:04d}.stdin"
    replace(stdin_file, stdin)
    shown = {
        name: f"<secret, {len(value)} characters>" if name.upper().endswith(SECRET_ENDINGS) else value
        for name, value in environ.items()
    }
    arrived = {
        "call": number,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgid(0),
        "session": os.getsid(0),
        "cwd": str(Path.cwd()),
        "program": sys.executable,
        "argv": argv,
        "stdin": str(stdin_file),
        "env": shown,
    }
    replace(state / f"call-{number:04d}.json", json.dumps(arrived, indent=1).encode("utf-8", "replace"))


def steps_for(script: Path, number: int, verbs: frozenset[str]) -> list[tuple[str, object]] | None:
    """The steps of call `number`, each a verb and its value; None when the call has to work as usual."""
    try:
        document = json.loads(script.read_bytes())
        calls, after = document["calls"], document.get("after", "repeat")
        scripted = [[step(one, verbs) for one in steps] for steps in calls]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ScriptProblem(f"cannot read the script {script}: {problem!r}") from problem
    if after not in ("repeat", "work"):
        raise ScriptProblem(f"'after' must be 'repeat' or 'work', not {after!r}")
    if number <= len(scripted):
        return scripted[number - 1]
    return scripted[-1] if scripted and after == "repeat" else None


def step(one: Document, verbs: frozenset[str]) -> tuple[str, object]:
    """A step of a script as its verb and its value."""
    if len(one) != 1:
        raise ScriptProblem(f"a step has exactly one verb: {json.dumps(one)}")
    ((verb, value),) = one.items()
    if verb not in verbs:
        raise ScriptProblem(f"unknown step {verb!r}; known are {', '.join(sorted(verbs))}")
    return verb, value
