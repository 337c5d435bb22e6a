"""The verbs of a fault script. Each does one thing that Claude Code, a tool of it or the system might do.

A verb is a function of the stage and its value; one that returns a number ends the call with that exit code.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from claude_iterate.fake_claude import grandchildren, tools
from claude_iterate.fake_claude.printer import Stream, put
from claude_iterate.fake_claude.script import ScriptProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_WAIT = 300.0
"""A handshake that never comes must not leave a process for ever."""


class Stage:
    """What the verbs act on. `work` is one ordinary call."""

    def __init__(self, stream: Stream, workspace: Path | None, work: Callable[[], None]) -> None:
        self.stream = stream
        self.workspace = workspace
        self.work = work

    def path(self, name: str) -> Path:
        """Relative paths are in the workspace."""
        return (self.workspace or Path.cwd()) / name


def play(stage: Stage, steps: list[tuple[str, Any]]) -> int:
    """Play the steps. Without `exit` the code is what the real one gives: 1 after a result with an error, else 0."""
    for verb, value in steps:
        try:
            code = VERBS[verb](stage, value)
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as problem:
            raise ScriptProblem(f"step {verb!r} failed: {problem!r}") from problem
        if code is not None:
            return code
    return 1 if stage.stream.failed else 0


def _write(stage: Stage, value: dict[str, Any]) -> None:
    path = stage.path(value["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if value.get("in_place"):
        path.write_bytes(_content(value))
    else:
        tools.replace(path, _content(value))


def _append(stage: Stage, value: dict[str, Any]) -> None:
    with stage.path(value["path"]).open("ab") as file:
        file.write(_content(value))


def _content(value: dict[str, Any]) -> bytes:
    """The text to write, or with `base64` any bytes."""
    return base64.b64decode(value["base64"]) if "base64" in value else str(value["text"]).encode()


def _status(stage: Stage, value: Any) -> None:
    tools.replace(stage.path(".status.json"), json.dumps(value, indent=2).encode())


def _remove(stage: Stage, value: str) -> None:
    stage.path(value).unlink(missing_ok=True)


def _touch(stage: Stage, value: str) -> None:
    path = stage.path(value)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def _wait_for(stage: Stage, value: str) -> None:
    path = stage.path(value)
    deadline = time.monotonic() + LONGEST_WAIT
    while not path.exists():
        if time.monotonic() > deadline:
            raise ScriptProblem(f"{path} did not appear within {LONGEST_WAIT:g} seconds")
        time.sleep(0.01)


def _tool(stage: Stage, value: dict[str, Any]) -> None:
    is_error = bool(value.get("is_error"))
    text = str(value.get("result", ""))
    identity = stage.stream.call(value["name"], value.get("input", {}))
    facts: Any = {"stdout": text, "stderr": "", "interrupted": False} if value["name"] == "Bash" else {}
    stage.stream.answer(identity, text, value.get("facts", facts), is_error)


def _flood(stage: Stage, value: dict[str, Any]) -> None:
    """Many lines at once: of x, or with `events` of valid events that carry as much text."""
    lines, size = int(value["lines"]), int(value["bytes"])
    if value.get("events"):
        for _ in range(lines):
            stage.stream.say("x" * size)
        return
    descriptor = 2 if value.get("stream") == "stderr" else 1
    line = b"x" * size + b"\n"
    batch = max(1, 65536 // len(line))
    for done in range(0, lines, batch):
        put(line * min(batch, lines - done), descriptor)


def _result(stage: Stage, value: dict[str, Any]) -> None:
    stage.stream.result(**value)


def _init(stage: Stage, value: dict[str, Any]) -> None:
    stage.stream.init(**value)


def _rejected(stage: Stage, value: dict[str, Any]) -> None:
    """A usage window that is used up and opens again in so many seconds: the moment is known only now."""
    moment = round(time.time() + value["seconds"])
    info = {"status": "rejected", "resetsAt": moment, "rateLimitType": value["window"], "isUsingOverage": False}
    stage.stream.send({"type": "rate_limit_event", "rate_limit_info": info})


def _ignore(_stage: Stage, value: list[str]) -> None:
    for name in value:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def _hang(_stage: Stage, _value: Any) -> int:
    """Silent until it is ended; an hour at most, so that nothing stays for ever."""
    time.sleep(3600)
    return 0


def _kill_self(_stage: Stage, value: str) -> None:
    os.kill(os.getpid(), getattr(signal, value))
    time.sleep(LONGEST_WAIT)  # the signal ends this process before the next step


def _close_stdout(_stage: Stage, _value: Any) -> None:
    # Not close(1): the next file to be opened would become standard output.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


VERBS: dict[str, Callable[[Stage, Any], int | None]] = {
    "say": lambda stage, value: stage.stream.say(str(value)),
    "event": lambda stage, value: stage.stream.line(value),
    "raw": lambda _stage, value: put(value.encode("utf-8", "surrogatepass")),
    "raw_base64": lambda _stage, value: put(base64.b64decode(value)),
    "fixture": lambda _stage, value: put(Path(value).read_bytes()),
    "stderr": lambda _stage, value: put(value.encode(), 2),
    "status": _status,
    "write": _write,
    "append": _append,
    "remove": _remove,
    "sleep": lambda _stage, value: time.sleep(value),
    "wait_for": _wait_for,
    "touch": _touch,
    "ignore": _ignore,
    "grandchild": lambda stage, value: grandchildren.leave_behind(value, stage.path),
    "flood": _flood,
    "long_line": lambda stage, value: stage.stream.say("x" * int(value)),
    "tool": _tool,
    "init": _init,
    "rejected": _rejected,
    "result": _result,
    "work": lambda stage, _value: stage.work(),
    "exit": lambda _stage, value: int(value),
    "kill_self": _kill_self,
    "hang": _hang,
    "close_stdout": _close_stdout,
}
