"""The traces of a call: its record for tests, and one line in `/tmp/mock-claude.log`, to see what a dry run did.

Calls may come at the same time: a call takes its number by making a file that must not exist yet. In the log only the
size is shown of a prompt and of every value that is not known to be harmless. Failures to write it are ignored.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from claude_iterate.fake_claude.stream import timestamp
from claude_iterate.fake_claude.tools import replace

PLACE = "/tmp/mock-claude.log"  # noqa: S108 - the seed promises this name; a link in its place is not followed
SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
HARMLESS = ("--output-format", "--model", "--max-turns", "--max-budget-usd", "--permission-mode", "--resume")
"""Options whose values are shown in the log."""
LONGEST = 80


def claim(state: Path) -> int:
    """Take the next number, from 1. No two calls get the same number."""
    state.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        try:
            (state / f"call-{number:04d}").touch(0o600, exist_ok=False)
            return number
        except FileExistsError:
            number += 1


def record(state: Path, number: int, argv: list[str], stdin: bytes, environ: Mapping[str, str]) -> None:
    """Keep what arrived: `call-NNNN.json` and, as bytes, `call-NNNN.stdin`. Values of secrets are left out."""
    stdin_file = state / f"call-{number:04d}.stdin"
    replace(stdin_file, stdin)
    secrets = {name: len(value) for name, value in environ.items() if name.upper().endswith(SECRET_ENDINGS)}
    shown = {**environ, **{name: f"<secret, {length} characters>" for name, length in secrets.items()}}
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
    replace(state / f"call-{number:04d}.json", json.dumps(arrived, indent=1).encode())


class CallLog:
    """The line of this call, written when its exit code is known."""

    def __init__(self, argv: list[str], environ: Mapping[str, str]) -> None:
        self.prompt_bytes = 0
        self._argv = argv
        self._place = environ.get("CLAUDE_ITERATE_MOCK_LOG") or PLACE

    def write(self, code: int) -> None:
        """Append the line in one write, so that lines of simultaneous calls do not mix."""
        line = (
            f"{timestamp()} pid={os.getpid()} cwd={Path.cwd()} argv={' '.join(_shorten(self._argv))} "
            f"prompt={self.prompt_bytes} bytes exit={code}\n"
        )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            descriptor = os.open(self._place, flags, 0o600)
            os.write(descriptor, line.encode("utf-8", "replace"))
            os.close(descriptor)
        except OSError:
            return


def _shorten(argv: list[str]) -> list[str]:
    """The arguments as they may be shown: names of options, harmless values, and the length of everything else."""
    shown = []
    before = ""
    for word in argv:
        harmless = before in HARMLESS and len(word) <= LONGEST
        option = word.startswith("-") and "=" not in word and " " not in word and len(word) <= LONGEST
        shown.append(word if harmless or option else f"<{len(word)} characters>")
        before = word
    return shown
