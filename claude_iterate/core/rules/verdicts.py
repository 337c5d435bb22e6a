"""What `decide` is told beyond the state, and what it can say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from claude_iterate.core.events.reasons import Reason

NOTHING: Mapping[str, float] = MappingProxyType({})


class Facts(NamedTuple):
    """What the state cannot know: the time, and the bounds that hold for this run.

    `now` and `last_heard` are seconds since the run began; `wall` is epoch seconds; `chance` is between 0 and 1.
    """

    now: float
    wall: float = 0.0
    chance: float = 0.0
    max_iterations: int = 0
    delay: float = 0.0
    stagnates: bool = False
    stagnation_threshold: int = 0
    failures_allowed: int = 3
    max_duration: float | None = None
    max_cost_usd: float | None = None
    max_cost_per_iteration_usd: float | None = None
    iteration_timeout: float = 3600.0
    idle_timeout: float = 900.0
    result_grace: float = 15.0
    last_heard: float = 0.0
    wait_for_limits: bool = True
    max_wait: float = 86400.0
    reset_margin: float = 60.0
    reserve: Mapping[str, float] = NOTHING
    wait_for_reserve: bool = False
    calls_per_hour: int = 0
    attended: bool = False
    proof_wanted: bool = False
    review_wanted: bool = False
    claims_allowed: int = 1
    only_verify: bool = False
    only_errand: bool = False


class Begin(msgspec.Struct, frozen=True):
    """Start iteration `number`."""

    number: int


class Ask(msgspec.Struct, frozen=True):
    """Ask the person whether iteration `number` may begin."""

    number: int


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do before `until` (seconds since the run began)."""

    until: float


class StartWait(msgspec.Struct, frozen=True):
    """Begin a wait that the journal knows of: until a moment on the wall clock."""

    why: str
    until: float
    detail: str = ""
    window: str = ""
    attempt: int = 1


class EndWait(msgspec.Struct, frozen=True):
    """The moment has come."""

    why: str


class Verify(msgspec.Struct, frozen=True):
    """Look whether the claim of completion holds."""

    claim: int


class RunErrand(msgspec.Struct, frozen=True):
    """Make the one call that this run is for."""


class Cut(msgspec.Struct, frozen=True):
    """End Claude now. `after` is how long the thing that tripped lasted."""

    cause: str
    after: float = 0.0


class Finish(msgspec.Struct, frozen=True):
    """The run is over."""

    reason: Reason
    detail: str = ""
    advice: str = ""


Verdict = Begin | Ask | Wait | StartWait | EndWait | Verify | RunErrand | Finish
