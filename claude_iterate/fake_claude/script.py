"""Scripts of faults and recorded calls: the steps that each call has to do, and the verbs of the steps.

A verb does one thing that Claude Code, a tool of it or the system might do. It is a function of the call and the step's
value; one that returns a number ends the call with that exit code.

A recording is played as fast as it is read: what Claude printed, its reports, its exit code. Its cassette is a JSON
file: `iterations` and `reviews` are lists of calls, each a list of steps like those of a script, and `journal` is that
of the run that listens. A call that is only to look is a review; each kind has its own order.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.call_log import claim
from claude_iterate.fake_claude.stream import Document, Stream, put
from claude_iterate.fake_claude.work import find_asked_fields

LONGEST_WAIT = 300.0
"""Seconds: a handshake that never comes must not leave a process."""
_AT_A_TIME = 1 << 20
_NEWS = b'"event":"StatusChanged"'


class ScriptProblem(Exception):
    """The script cannot be followed; the text says why. Exit code 97."""


class Call:
    """What the verbs act on. `work` does what an unscripted call does; `asked` is what the prompt asks for in each
    report, by its name."""

    def __init__(self, stream: Stream, workspace: Path | None, work: Callable[[], None], asked: dict[str, str]) -> None:
        self.asked = asked
        self.stream = stream
        self.workspace = workspace
        self.work = work

    def path(self, name: str) -> Path:
        """The path; a relative one is in the workspace."""
        return (self.workspace or Path.cwd()) / name

    def new_path(self, name: str) -> Path:
        """The same, of a file to be made: its folder is there."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def perform(
    call: Call, steps: list[tuple[str, object]], verbs: dict[str, Callable[[Call, Any], int | None]] | None = None
) -> int:
    """Do the steps, by these verbs or the usual ones. Without `exit` the code is that of Claude Code: 1 after a result
    with an error, else 0."""
    for verb, value in steps:
        try:
            code = (verbs or VERBS)[verb](call, value)
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as problem:
            raise ScriptProblem(f"step {verb!r} failed: {problem!r}") from problem
        if code is not None:
            return code
    return 1 if call.stream.failed else 0


def _write(call: Call, value: Document) -> None:
    path, data = call.new_path(value["path"]), str(value["text"]).encode()
    if value.get("in_place"):
        path.write_bytes(data)
    else:
        tools.replace(path, data)


def _status(call: Call, value: Any) -> None:
    """A report, with the id that the prompt asks for, as Claude would write it; `iteration: null` leaves it out."""
    if isinstance(value, dict):
        value = {
            key: held for key, held in {**value, **call.asked, **value}.items() if (key, held) != ("iteration", None)
        }
    tools.replace(call.path(".status.json"), json.dumps(value, indent=2).encode())


def _append(call: Call, value: Document) -> None:
    with call.path(value["path"]).open("ab") as file:
        file.write(str(value["text"]).encode())


def _touch(call: Call, value: str) -> None:
    call.new_path(value).touch()


def _wait_for(call: Call, value: str) -> None:
    path = call.path(value)
    deadline = time.monotonic() + LONGEST_WAIT
    while not path.exists():
        if time.monotonic() > deadline:
            raise ScriptProblem(f"{path} did not appear within {LONGEST_WAIT:g} seconds")
        time.sleep(0.01)


def _tool(call: Call, value: Document) -> None:
    is_error = bool(value.get("is_error"))
    text = str(value.get("result", ""))
    identity = call.stream.call(value["name"], value.get("input", {}))
    facts: Any = {"stdout": text, "stderr": "", "interrupted": False} if value["name"] == "Bash" else {}
    call.stream.answer(identity, text, value.get("facts", facts), is_error)


def _flood(call: Call, value: Document) -> None:
    """Many lines at once: of x, or with `events` of valid events that carry as much text."""
    lines, size = int(value["lines"]), int(value["bytes"])
    if value.get("events"):
        for _ in range(lines):
            call.stream.say("x" * size)
        return
    descriptor = 2 if value.get("stream") == "stderr" else 1
    line = b"x" * size + b"\n"
    batch = max(1, 65536 // len(line))
    for done in range(0, lines, batch):
        put(line * min(batch, lines - done), descriptor)


def _reject(call: Call, value: Document) -> None:
    """A usage window that is used up and opens again in so many seconds: the moment is known only now."""
    moment = round(time.time() + value["seconds"])
    info = {"status": "rejected", "resetsAt": moment, "rateLimitType": value["window"], "isUsingOverage": False}
    call.stream.send({"type": "rate_limit_event", "rate_limit_info": info})


def _ignore(_call: Call, value: list[str]) -> None:
    for name in value:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def _leave_behind(call: Call, value: Document) -> None:
    """Start a `sleep` and do not wait for it, as tools of Claude Code do: in its own session, holding stdout, without
    the run's id. It ignores the signals that this process ignores."""
    argv = ["sleep", str(value.get("seconds", 300))]
    if value.get("orphan"):
        # Its parent, a shell, ends at once, so that another process adopts it.
        argv = ["/bin/sh", "-c", '"$0" "$1" & echo $! > "$2"', *argv, str(call.path(value["pidfile"]))]
    sleeper = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=None if value.get("hold_stdout") else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={} if value.get("clear_environment") else dict(os.environ),
        start_new_session=bool(value.get("own_session")),
    )
    if value.get("orphan"):
        sleeper.wait()
    elif "pidfile" in value:
        tools.replace(call.new_path(value["pidfile"]), str(sleeper.pid).encode())


def _shell(call: Call, value: str) -> None:
    """A command of the agent in the project, to its end. It finds the workspace in $WORKSPACE. One that fails is a
    mistake in the script."""
    environment = {**os.environ, "WORKSPACE": str(call.workspace or "")}
    done = subprocess.run(
        ["/bin/sh", "-ec", value], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise ValueError(f"exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")


def _hang(_call: Call, _value: Any) -> int:
    """Silent until it is ended; an hour at most, so that no process stays."""
    time.sleep(3600)
    return 0


def _kill_self(_call: Call, value: str | int) -> None:
    """By a signal, which is given by its name or its number."""
    number = signal.Signals[value] if isinstance(value, str) else value
    with contextlib.suppress(OSError):  # of SIGKILL it cannot be changed
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(LONGEST_WAIT)  # the signal ends this process before the next step


def _close_stdout(_call: Call, _value: Any) -> None:
    # Not close(1): the next file to be opened would become standard output.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


VERBS: dict[str, Callable[[Call, Any], int | None]] = {
    "structured": lambda call, value: call.stream.answer_by_schema(value),
    "say": lambda call, value: call.stream.say(str(value)),
    "event": lambda call, value: call.stream.line(value),
    "raw": lambda _call, value: put(value.encode("utf-8", "surrogateescape")),
    "fixture": lambda _call, value: put(Path(value).read_bytes()),
    "stderr": lambda _call, value: put(value.encode(), 2),
    "status": _status,
    "write": _write,
    "append": _append,
    "remove": lambda call, value: call.path(value).unlink(missing_ok=True),
    "sleep": lambda _call, value: time.sleep(value),
    "wait_for": _wait_for,
    "touch": _touch,
    "ignore": _ignore,
    "grandchild": _leave_behind,
    "shell": _shell,
    "flood": _flood,
    "tool": _tool,
    "init": lambda call, value: call.stream.init(**value),
    "rejected": _reject,
    "result": lambda call, value: call.stream.result(**value),
    "work": lambda call, _value: call.work(),
    "exit": lambda _call, value: int(value),
    "kill_self": _kill_self,
    "hang": _hang,
    "close_stdout": _close_stdout,
}


def steps_for(script: Path, number: int) -> list[tuple[str, object]] | None:
    """The steps of call `number`, each a verb and its value; None when the call has to work as usual."""
    try:
        document = json.loads(script.read_bytes())
        calls, after = document["calls"], document.get("after", "repeat")
        scripted = [[step(one, VERBS) for one in steps] for steps in calls]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ScriptProblem(f"cannot read the script {script}: {problem!r}") from problem
    if after not in ("repeat", "work"):
        raise ScriptProblem(f"'after' must be 'repeat' or 'work', not {after!r}")
    if number <= len(scripted):
        return scripted[number - 1]
    return scripted[-1] if scripted and after == "repeat" else None


def step(one: Document, verbs: Collection[str]) -> tuple[str, object]:
    """A step of a script as its verb and its value."""
    if len(one) != 1:
        raise ScriptProblem(f"a step has exactly one verb: {json.dumps(one)}")
    ((verb, value),) = one.items()
    if verb not in verbs:
        raise ScriptProblem(f"unknown step {verb!r}; known are {', '.join(sorted(verbs))}")
    return verb, value


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
    call = Call(stream, workspace, lambda: None, find_asked_fields(prompt))
    journal, patience = Path(cassette["journal"]), float(cassette["patience"])
    known = VERBS | {
        "part": _part,
        "wait_for_cut": _wait_for_cut,
        "reported": lambda call, value: _report(journal, patience, call, value),
    }
    return perform(call, [step(one, known) for one in calls[number - 1]], known)


def _part(_call: Call, value: Document) -> None:
    """A part of what was printed."""
    with Path(value["path"]).open("rb") as file:
        file.seek(value["start"])
        left = value["end"] - value["start"]
        while left > 0 and (data := file.read(min(left, _AT_A_TIME))):
            put(data)
            left -= len(data)


def _report(journal: Path, patience: float, call: Call, value: Any) -> None:
    """A report in the middle of a call. The run had noticed it before Claude went on, so that is waited for."""
    before = journal.stat().st_size if journal.exists() else 0
    VERBS["status"](call, value)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and not _is_noticed(journal, before):
        time.sleep(0.02)


def _wait_for_cut(_call: Call, _value: Any) -> None:
    """Here the run had cut the call: silent until it does so again. What was printed after that comes then."""
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(86_400)


def _is_noticed(journal: Path, before: int) -> bool:
    try:
        with journal.open("rb") as file:
            file.seek(before)
            return _NEWS in file.read()
    except OSError:
        return False
