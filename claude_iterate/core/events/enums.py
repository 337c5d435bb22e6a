"""The words that fields of events can have, and the exit code of each reason why a run ends.

On disk they are plain strings. A journal of another version may hold a word that is not listed here: it is kept as it
is, so the journal can be read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

import msgspec

from claude_iterate.core.tones import CHANGED, PLAN, REPORT


class Word(StrEnum):
    """A word of one vocabulary."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = value
        return unknown


class Kind(Word):
    """How a call of Claude ended; views say `unfinished` for one that has not."""

    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"
    REBOOTED = "rebooted"
    DENIED = "denied"
    OK = "ok"
    MAX_TURNS = "max_turns"
    BUDGET = "budget"
    IDLE = "idle"
    TIMEOUT = "timeout"
    USAGE_LIMIT = "usage_limit"
    BILLING = "billing"
    AUTH = "auth"
    AWAY = "away"
    SESSION = "session"
    CONFIG = "config"
    REFUSED = "refused"
    TRANSIENT = "transient"
    CRASH = "crash"
    UNFINISHED = "unfinished"


class Cause(Word):
    """Why the run ended a process before it ended by itself."""

    IDLE = "idle"
    TIMEOUT = "timeout"
    DURATION = "duration"
    LINGERING = "lingering"
    STOPPED = "stopped"
    SKIP = "skip"
    REBOOT = "reboot"


class Reboot(Word):
    """Why a fresh session begins instead of the last one."""

    REDLINE = "redline"
    USER = "user"
    SESSION = "session"
    EXPIRED = "expired"


class Verb(Word):
    """What a user can ask of a run."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SKIP = "skip"
    REBOOT = "reboot"
    RETRY = "retry"
    GO = "go"
    DETACH = "detach"


class Why(Word):
    """What a run waits for."""

    USAGE_LIMIT = "usage_limit"
    TRANSIENT = "transient"
    RATE_LIMIT = "rate_limit"
    AWAY = "away"
    RESERVE = "reserve"
    PACE = "pace"
    FAILURES = "failures"
    SCHEDULE = "schedule"


class Point(Word):
    """Where a run calls the user's hooks."""

    STARTED = "started"
    NEXT_ITERATION = "next_iteration"
    ITERATION_FINISHED = "iteration_finished"
    FINISHED = "finished"


class Meaning(Word):
    """What the end of a hook means for the run."""

    GO_ON = "go_on"
    SKIP = "skip"
    ABORT = "abort"
    FAILED = "failed"
    STOPPED = "stopped"


class Purpose(Word):
    """What a run is for: the task, the proof of it, or a one-off call."""

    RUN = "run"
    VERIFY = "verify"
    SETUP = "setup"
    EDIT = "edit"
    VALIDATE = "validate"


ONE_OFF = frozenset({Purpose.SETUP, Purpose.EDIT, Purpose.VALIDATE})
"""Purposes of a run that makes one call and no iteration."""


Reason = Literal[
    "completed",
    "max_iterations",
    "stagnation",
    "no_progress",
    "same_error",
    "test_failures",
    "pattern",
    "script",
    "blocked",
    "verification_failed",
    "agent_failed",
    "budget",
    "duration",
    "usage_limit",
    "reserve",
    "hook_abort",
    "stopped",
    "interrupted",
    "terminated",
]


class Ending(msgspec.Struct, frozen=True):
    """One row of the table."""

    simple: int
    detailed: int
    meaning: str
    good: bool = False


ENDINGS: dict[Reason, Ending] = {
    "completed": Ending(0, 0, "The task is done, and that is proven.", good=True),
    "max_iterations": Ending(0, 3, "The allowed number of iterations is used up.", good=True),
    "stagnation": Ending(0, 4, "Several iterations in a row did no work.", good=True),
    "no_progress": Ending(1, 4, "Several iterations in a row changed nothing (`stop.no_progress`)."),
    "same_error": Ending(1, 4, "Several iterations in a row met the same error (`stop.same_error`)."),
    "test_failures": Ending(1, 4, "The tests failed after several iterations in a row (`stop.test_failures`)."),
    "pattern": Ending(1, 4, "Claude's output matches one of `stop.patterns`."),
    "script": Ending(1, 4, "A command of `stop.scripts` ended the run."),
    "blocked": Ending(1, 5, "The agent says that it needs help."),
    "verification_failed": Ending(1, 5, "The agent claimed completion, and the proof failed."),
    "agent_failed": Ending(
        1,
        6,
        "Claude crashed, hung, was misconfigured, not logged in or not allowed to work; the API did not recover; the"
        " workspace or its plan is gone; or the disk is full.",
    ),
    "budget": Ending(1, 7, "The money allowed for the workspace is spent."),
    "duration": Ending(1, 7, "The time allowed for the run is up."),
    "usage_limit": Ending(1, 7, "The provider's usage limit is reached."),
    "reserve": Ending(1, 7, "Less of a usage window is left than `limits.reserve` keeps."),
    "hook_abort": Ending(1, 9, "A hook ended the run."),
    "stopped": Ending(0, 8, "A stop was requested.", good=True),
    "interrupted": Ending(130, 130, "Ctrl-C."),
    "terminated": Ending(143, 143, "SIGTERM, or SIGHUP because the terminal was closed."),
}


NOT_PROVEN: dict[str, Ending] = {
    REPORT: Ending(0, 10, "Claude reports that it is done; nothing has proven it.", good=True),
    PLAN: Ending(0, 10, "All tasks of the plan are ticked; nothing has proven that they are done.", good=True),
    CHANGED: Ending(0, 11, "Checks or review passed, but a part of the proof was changed during the run.", good=True),
}
"""The rows of `completed` by how it is known, where it is not proven."""


def ending_of(reason: Reason, known_by: str | None = None) -> Ending:
    """The row of a reason; `known_by` is that of a completion."""
    return NOT_PROVEN.get(known_by or "", ENDINGS[reason]) if reason == "completed" else ENDINGS[reason]


def exit_code(reason: Reason, detailed: bool, known_by: str | None = None) -> int:
    """The process exit code for a reason."""
    ending = ending_of(reason, known_by)
    return ending.detailed if detailed else ending.simple
