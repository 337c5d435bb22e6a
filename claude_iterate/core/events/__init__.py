"""The tagged union Event: past-tense facts, the whole interface between running and looking on.

No formatting, no emoji, no opinion. An Entry is an event with its place in the run; entries are the journal.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.iteration_events import (
    AgentExited,
    AgentStarted,
    CutStarted,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    Outcome,
    StatusChanged,
)
from claude_iterate.core.events.run_events import (
    Carried,
    Requested,
    Resumed,
    RunFinished,
    RunStarted,
    StopRequested,
    WaitEnded,
    WaitStarted,
    Warned,
)
from claude_iterate.core.events.stream_events import (
    AgentNoted,
    ApiRetried,
    Denial,
    ErrorPrinted,
    GarbageSeen,
    LimitReported,
    ResultReported,
    Said,
    SessionOpened,
    StreamEvent,
    TaskEnded,
    TaskStarted,
    Thought,
    Tokens,
    Told,
    ToolAnswered,
    ToolCalled,
)
from claude_iterate.core.events.verification_events import (
    CheckFinished,
    ErrandFinished,
    ErrandStarted,
    ReviewFinished,
    ReviewStarted,
    VerificationFinished,
    VerificationStarted,
)

Event = (
    RunStarted
    | StopRequested
    | WaitStarted
    | WaitEnded
    | Requested
    | Warned
    | RunFinished
    | IterationStarted
    | AgentStarted
    | CutStarted
    | AgentExited
    | LeftoversEnded
    | StatusChanged
    | IterationFinished
    | VerificationStarted
    | CheckFinished
    | ReviewStarted
    | ReviewFinished
    | VerificationFinished
    | ErrandStarted
    | ErrandFinished
    | StreamEvent
)


class Entry(msgspec.Struct, frozen=True):
    """An event in its place: `seq` counts from 1, and a gap is where a flood was thinned out; `at` is wall time (epoch
    seconds, UTC), `elapsed` is time since the run began on a clock that never jumps."""

    seq: int
    at: float
    elapsed: float
    event: Event


__all__ = [
    "AgentExited",
    "AgentNoted",
    "AgentStarted",
    "ApiRetried",
    "Carried",
    "CheckFinished",
    "CutStarted",
    "Denial",
    "Entry",
    "ErrandFinished",
    "ErrandStarted",
    "ErrorPrinted",
    "Event",
    "GarbageSeen",
    "IterationFinished",
    "IterationStarted",
    "LeftoversEnded",
    "LimitReported",
    "Outcome",
    "Requested",
    "ResultReported",
    "Resumed",
    "ReviewFinished",
    "ReviewStarted",
    "RunFinished",
    "RunStarted",
    "Said",
    "SessionOpened",
    "StatusChanged",
    "StopRequested",
    "StreamEvent",
    "TaskEnded",
    "TaskStarted",
    "Thought",
    "Tokens",
    "Told",
    "ToolAnswered",
    "ToolCalled",
    "VerificationFinished",
    "VerificationStarted",
    "WaitEnded",
    "WaitStarted",
    "Warned",
]
