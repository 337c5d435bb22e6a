"""Which steps of a fault script this call has to do, and the record that it leaves for tests.

Calls may come at the same time: a call takes its number by making a file that must not exist yet.
"""

from __future__ import annotations

import os
import sys

from claude_iterate.fake_claude.json_alone import dumps, indented, loads
from claude_iterate.fake_claude.shapes import Document
from claude_iterate.fake_claude.tools import contents, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")


class ScriptProblem(Exception):
    """The script cannot be followed; the text says why. Exit code 97."""


def state_folder(environ: Mapping[str, str]) -> str | None:
    """Where calls are counted and recorded: `CLAUDE_ITERATE_FAKE_STATE`, or beside the script."""
    if folder := environ.get("CLAUDE_ITERATE_FAKE_STATE"):
        return folder
    script = environ.get("CLAUDE_ITERATE_FAKE_SCRIPT")
    return f"{script}.state" if script else None


def claim(state: str) -> int:
    """Take the next number, from 1. No two calls get the same number."""
    os.makedirs(state, exist_ok=True)
    number = sum("." not in claimed for claimed in os.listdir(state)) + 1
    while True:
        try:
            os.close(os.open(f"{state}/call-{number:04d}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return number
        except FileExistsError:
            number += 1


def record(state: str, number: int, argv: list[str], stdin: bytes, environ: Mapping[str, str]) -> None:
    """Keep what arrived: `call-NNNN.json` and, as bytes, `call-NNNN.stdin`. Values of secrets are left out."""
    stdin_file = f"{state}/call-{number:04d}.stdin"
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
        "cwd": os.getcwd(),
        "program": sys.executable,
        "argv": argv,
        "stdin": stdin_file,
        "env": shown,
    }
    replace(f"{state}/call-{number:04d}.json", indented(arrived, " ").encode("utf-8", "replace"))


def steps_for(script: str, number: int, verbs: frozenset[str]) -> list[tuple[str, object]] | None:
    """The steps of call `number`, each a verb and its value; None when the call has to work as usual."""
    try:
        document = loads(contents(script))
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
        raise ScriptProblem(f"a step has exactly one verb: {dumps(one)}")
    ((verb, value),) = one.items()
    if verb not in verbs:
        raise ScriptProblem(f"unknown step {verb!r}; known are {', '.join(sorted(verbs))}")
    return verb, value
