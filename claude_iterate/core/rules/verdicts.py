"""What the rules can say."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events import (
    ChecksPassed,
    ClaimDropped,
    IterationFinished,
    PlanFinished,
    PlanRead,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Cause, Point, Reason


class Begin(msgspec.Struct, frozen=True):
    """Start iteration `number`."""

    number: int


class Ask(msgspec.Struct, frozen=True):
    """Ask the user whether iteration `number` may begin."""

    number: int


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do before `until` (seconds since the run began)."""

    until: float


class Verify(msgspec.Struct, frozen=True):
    """Begin to prove the claim of completion. Without `review` only the checks run: either no review is wanted, or
    Claude cannot be called now."""

    claim: int
    review: bool = False


class RunCheck(msgspec.Struct, frozen=True):
    """Run the next check of the proof; after the `last` one, find out what the checks changed."""

    command: str
    last: bool = True


class HoldReview(msgspec.Struct, frozen=True):
    """Let Claude review the work with fresh context."""

    depth: str


class JudgeClaim(msgspec.Struct, frozen=True):
    """All evidence is there: decide whether the claim holds."""


ProofStep = Verify | RunCheck | HoldReview | JudgeClaim


class Measure(msgspec.Struct, frozen=True):
    """Measure what iteration `number` changed."""

    number: int


class MakeOneOffCall(msgspec.Struct, frozen=True):
    """Make the one call that this run is for."""


class RunStopScripts(msgspec.Struct, frozen=True):
    """Run the commands of `stop.scripts` after iteration `number`."""

    number: int


class RunHook(msgspec.Struct, frozen=True):
    """Run the user's hooks of this point, about iteration `number`."""

    point: Point
    number: int


class Cut(msgspec.Struct, frozen=True):
    """End Claude now. `after` is the time that was exceeded."""

    cause: Cause
    after: float = 0.0


Limit = tuple[float, Cut]
"""The moment at which a rule would end what is under way, and how."""


class Finish(msgspec.Struct, frozen=True):
    """The run is over. `cause` and `next` are set where the usual words for the reason do not fit
    (`core.rules.endings`). `tripped`: the breaker ends it, and why; the next run is refused with these words."""

    reason: Reason
    detail: str = ""
    advice: str = ""
    cause: str = ""
    next: str = ""
    tripped: str = ""


Recorded = (
    WaitStarted
    | WaitEnded
    | ClaimDropped
    | IterationFinished
    | PlanRead
    | PlanFinished
    | VerificationStarted
    | ChecksPassed
)
"""Verdicts that are events themselves and only have to be recorded."""

Verdict = Begin | Measure | RunHook | Ask | Wait | ProofStep | MakeOneOffCall | RunStopScripts | Finish | Recorded
