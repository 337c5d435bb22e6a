"""Events of the breaker, which ends a run when nothing moves, and what a run hands on of it."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.reasons import Reason


class PatternSeen(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What Claude said or a tool answered matches one of `stop.patterns`; `text` is the place."""

    pattern: str
    text: str = ""


class ScriptResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command of `stop.scripts`: its exit code (None: not started, too slow or stopped), the end of its output."""

    command: str
    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: str = ""


class StopScriptsRun(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The commands of `stop.scripts` ran after iteration `number`. One that ended with 0 says that the run has to
    end."""

    number: int
    results: tuple[ScriptResult, ...] = ()


class BreakerReset(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The counters of the breaker begin again at 0: `by` is run (`run --reset`), reset (the command `reset`) or
    instructions (they are another task now)."""

    by: str


class Trip(msgspec.Struct, frozen=True, omit_defaults=True):
    """The breaker ended a run: `why` is a part of a sentence, such as `after 3 iterations without progress`."""

    reason: Reason
    why: str
    run: str
    at: float


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the breaker counts, handed on to the next run: iterations without progress, failures in a row, iterations
    with the same error, and test runs in a row that were red. `task` is the identity of the instructions."""

    unmoved: int = 0
    failures: int = 0
    errors: int = 0
    error: str = ""
    error_said: str = ""
    red: int = 0
    trip: Trip | None = None
    task: str = ""

    @property
    def counts(self) -> bool:
        """Something is counted, or the breaker ended the last run."""
        return bool(self.unmoved or self.failures or self.errors or self.red or self.trip)


class Hints(msgspec.Struct, frozen=True, omit_defaults=True):
    """Signs that a run gets nowhere, each counted in a row: tokens of the last output, how often it shrank, reports of
    nothing but tests, last words that say that all is done. They never decide."""

    output: int = 0
    shrunk: int = 0
    testing: int = 0
    said_done: int = 0
