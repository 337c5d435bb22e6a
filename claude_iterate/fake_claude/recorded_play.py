"""Plays a recorded call again, as fast as it is read: what Claude printed, its reports, its exit code.

A cassette is a JSON file: `iterations` and `reviews` are lists of calls, each a list of steps like those of a script,
and `journal` is that of the run that listens. A call that is only to look is a review; each kind has its own order.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

from claude_iterate.fake_claude.call_log import claim
from claude_iterate.fake_claude.script import VERBS, Call, ScriptProblem, perform, step
from claude_iterate.fake_claude.stream import Document, Stream, put
from claude_iterate.fake_claude.work import asked_for

_AT_A_TIME = 1 << 20
_LONGEST = 86_400.0
"""Seconds: longer than a run waits for a call."""
_NEWS = b'"event":"StatusChanged"'


def play(path: Path, stream: Stream, workspace: Path | None, prompt: str) -> int:
    """Play the next recorded call of the kind that is asked for. The exit code is the recorded one."""
    try:
        cassette: Document = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise ScriptProblem(f"cannot read the cassette {path}: {problem!r}") from problem
    kind = "reviews" if "Write" in stream.arguments.lists.get("--disallowedTools", ()) else "iterations"
    calls = cassette[kind]
    number = claim(path.parent / kind)
    if number > len(calls):
        raise ScriptProblem(f"the recording has no more {kind}: {len(calls)} calls, and this is call {number}")
    call = Call(stream, workspace, lambda: None, asked_for(prompt))
    found = re.search(r"^VERIFICATION-ID: (\S+)", prompt, re.MULTILINE)
    asked = found[1] if found else ""
    journal, patience = Path(cassette["journal"]), float(cassette["patience"])
    known = VERBS | {
        "part": lambda _call, value: _part(asked, value),
        "wait_for_cut": _wait_for_cut,
        "die": _die,
        "reported": lambda call, value: _report(journal, patience, call, value),
    }
    return perform(call, [step(one, known) for one in calls[number - 1]], known)


def _part(asked: str, value: Document) -> None:
    """A part of what was printed. A review in prose repeats the id that it was given: that of this run."""
    given = value.get("named", "")
    with Path(value["path"]).open("rb") as file:
        file.seek(value["start"])
        left = value["end"] - value["start"]
        if asked and given:
            put(file.read(left).replace(given.encode(), asked.encode()))
            return
        while left > 0 and (data := file.read(min(left, _AT_A_TIME))):
            put(data)
            left -= len(data)


def _report(journal: Path, patience: float, call: Call, value: Any) -> None:
    """A report in the middle of a call. The run had noticed it before Claude went on, so that is waited for."""
    before = journal.stat().st_size if journal.exists() else 0
    VERBS["status"](call, value)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and not _noticed(journal, before):
        time.sleep(0.02)


def _wait_for_cut(_call: Call, _value: Any) -> None:
    """Here the run had cut the call: silent until it does so again. What was printed after that comes then."""
    try:
        time.sleep(_LONGEST)
    except KeyboardInterrupt:
        return


def _die(_call: Call, value: int) -> None:
    """By a signal."""
    signal.signal(value, signal.SIG_DFL)
    os.kill(os.getpid(), value)
    time.sleep(_LONGEST)  # the signal ends this process before the next step


def _noticed(journal: Path, before: int) -> bool:
    try:
        with journal.open("rb") as file:
            file.seek(before)
            return _NEWS in file.read()
    except OSError:
        return False
