"""The process of a run that another program started: reads its order, runs it, says how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from claude_iterate.core.settings.declared import PERMISSION_MODES
from claude_iterate.engine.plan import Plan
from claude_iterate.errors import ExpectedError
from claude_iterate.operations import completed_task
from claude_iterate.operations.launch import launch
from claude_iterate.operations.permissions import Permissions
from claude_iterate.operations.run_processes.run_order import Answer, Began, Ended, Noted, Refused, RunOrder
from claude_iterate.system import crash_reports

_LARGEST = 16 * 1024 * 1024
INTERRUPTED = 130


class _Line:
    """The way back to the program. When it is gone, the run goes on as it was asked to."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def say(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):
            os.write(self._handle, msgspec.json.encode(answer) + b"\n")


class _Absent:
    """Implements `operations.user.User`: there is no user to ask, and what is said reaches the program."""

    can_answer = False

    def __init__(self, line: _Line) -> None:
        self._line = line

    def warn(self, text: str) -> None:
        self._line.say(Noted(text, warning=True))

    def note(self, text: str) -> None:
        self._line.say(Noted(text))

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> Permissions:  # noqa: ARG002 - as the protocol has it
        return Permissions(PERMISSION_MODES[0])

    def confirms(self, question: str) -> bool:  # noqa: ARG002 - as the protocol has it
        return False

    def ask_amount(self, question: str) -> float | None:  # noqa: ARG002 - as the protocol has it
        return None

    @contextlib.contextmanager
    def steers(self, plan: Plan) -> Iterator[Plan]:
        self._line.say(Began(plan.run))
        yield plan


def main() -> int:
    """Run what the first line of standard input orders; returns the exit code."""
    source, line = os.dup(0), _Line(os.dup(1))  # not inherited by what is started here
    with Path(os.devnull).open("r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    ended: Ended | Refused
    try:
        order = _order(source)
        ended = _performed(order, source, line)
    except ExpectedError as problem:
        ended = Refused(problem.message, problem.hint, problem.exit_code)
    except KeyboardInterrupt:
        ended = Refused("Interrupted before the run began.", exit_code=INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - the boundary of this process
        ended = Refused(*crash_reports.told(bug, sys.argv[1:]), exit_code=crash_reports.EXIT_CODE)
    line.say(ended)
    return ended.exit_code


def _order(source: int) -> RunOrder:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LARGEST:
        more = os.read(source, 65536)
        if not more:
            raise KeyboardInterrupt  # the program is gone already
        data += more
    return msgspec.json.decode(data, type=RunOrder)


def _performed(order: RunOrder, source: int, line: _Line) -> Ended:
    if not order.outlives:
        threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    project, options, user = order.project(os.environ), order.asked(), _Absent(line)
    layout = project.layout(order.workspace)
    if (left := completed_task.to_leave(project, layout, options, user)) is not None:
        return Ended(left.exit_code)
    done = launch(project, layout, options, user)
    return Ended(done.exit_code, done.run)


def _end_with(source: int) -> None:
    """When the program that started the run is gone, however it died, the run ends as after SIGTERM."""
    with contextlib.suppress(OSError):
        while os.read(source, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
