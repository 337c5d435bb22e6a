"""The words that fields of events can have. On disk they are plain strings.

A journal of another version may hold a word that is not listed here: it is kept as it is, so the journal can be read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


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
    """How a call of Claude ended; a view says `unfinished` of one that has not."""

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
    """Why a fresh session begins where one could have gone on."""

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
