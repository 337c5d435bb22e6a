"""The process of a run that another program started: reads what to start, runs it, says how it ended."""

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
from claude_iterate.core.settings.layers import layer_from_document
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import ExpectedError
from claude_iterate.operations import run_checks
from claude_iterate.operations.launch import launch
from claude_iterate.operations.permissions import Permissions
from claude_iterate.operations.run_processes.run_process import Answer, Began, Ended, Noted, Refused, Start
from claude_iterate.system import crash_reports
from claude_iterate.workspace.project import Project

_LARGEST = 16 * 1024 * 1024
INTERRUPTED = 130


class _Line:
    """The way back to the program. When it is gone, the run goes on as it was asked to."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def say(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):
            os.write(self._handle, msgspec.json.encode(answer) + b"\n")


class _NonInteractiveUser:
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
    def steers(self, plan: RunSpec) -> Iterator[RunSpec]:
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
        ended = _perform(_read_start(source), source, line)
    except ExpectedError as problem:
        ended = Refused(problem.message, problem.hint, problem.exit_code)
    except KeyboardInterrupt:
        ended = Refused("Interrupted before the run began.", exit_code=INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - the boundary of this process
        ended = Refused(*crash_reports.report_crash(bug, sys.argv[1:]), exit_code=crash_reports.EXIT_CODE)
    line.say(ended)
    return ended.exit_code


def _read_start(source: int) -> Start:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LARGEST:
        more = os.read(source, 65536)
        if not more:
            raise KeyboardInterrupt  # the program is gone already
        data += more
    return msgspec.json.decode(data, type=Start)


def _perform(start: Start, source: int, line: _Line) -> Ended:
    if not start.outlives:
        threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    flags = layer_from_document("flag", "command line", start.project_settings) if start.project_settings else None
    project, user = Project(Path(start.root), os.environ, flags), _NonInteractiveUser(line)
    layout = project.layout(start.workspace)
    if (left := run_checks.to_leave(project, layout, start.request, user)) is not None:
        return Ended(left.exit_code)
    done = launch(project, layout, start.request, user)
    return Ended(done.exit_code, done.run)


def _end_with(source: int) -> None:
    """When the program that started the run is gone, however it died, the run ends as after SIGTERM."""
    with contextlib.suppress(OSError):
        while os.read(source, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
