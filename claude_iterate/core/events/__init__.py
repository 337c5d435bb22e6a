"""The tagged union Event: past-tense facts, the whole interface between running and watching.

No formatting, no emoji, no opinion. An Entry is an event with its place in the run; entries are the journal.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.call import (
    AgentExited,
    AgentStarted,
    Changes,
    CutStarted,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    OneOffCallFinished,
    OneOffCallStarted,
    Outcome,
    PlanFinished,
    PlanRead,
    Rebooted,
    ReviewFinished,
    SnapshotTaken,
    StatusChanged,
    TestCounts,
    WorkMeasured,
)
from claude_iterate.core.events.proof import (
    CheckFinished,
    CheckResult,
    ChecksPassed,
    ClaimDropped,
    ProofChange,
    ProofDefined,
    ProofTestsCounted,
    ReviewStarted,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.run import (
    Breaker,
    BreakerReset,
    Carried,
    Hints,
    PatternSeen,
    Resumed,
    RunFinished,
    RunStarted,
    ScriptResult,
    StopScriptsRun,
    Trip,
    Warned,
    WorktreeLeft,
    WorktreeMade,
)
from claude_iterate.core.events.steering import (
    HeldBack,
    HookFinished,
    HookStarted,
    Requested,
    StopRequested,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.stream import (
    AgentNoted,
    ApiRetried,
    AssistantText,
    ContextCompacted,
    Denial,
    ErrorPrinted,
    LimitReported,
    PromptSent,
    ResultReported,
    SessionOpened,
    StreamEvent,
    TaskEnded,
    TasksListed,
    TaskStarted,
    Thought,
    Tokens,
    ToolCalled,
    ToolDenied,
    ToolResult,
    UnparsedLine,
    UsageReported,
)

RunEvent = RunStarted | WorktreeMade | WorktreeLeft | BreakerReset | Warned | RunFinished
SteeringEvent = StopRequested | Requested | WaitStarted | WaitEnded | HeldBack | HookStarted | HookFinished
IterationEvent = IterationStarted | Rebooted | StatusChanged | IterationFinished | PatternSeen | StopScriptsRun
CallEvent = AgentStarted | CutStarted | AgentExited | LeftoversEnded | OneOffCallStarted | OneOffCallFinished
WorkEvent = SnapshotTaken | WorkMeasured | PlanRead | PlanFinished
ProofEvent = ProofDefined | ProofTestsCounted | ReviewStarted | ReviewFinished | CheckFinished | ChecksPassed
ClaimEvent = VerificationStarted | VerificationFinished | ClaimDropped
Event = RunEvent | SteeringEvent | IterationEvent | CallEvent | WorkEvent | ProofEvent | ClaimEvent | StreamEvent


class Entry(msgspec.Struct, frozen=True):
    """An event in its place: `seq` counts from 1, with a gap where a flood was thinned out or a full disk left no room
    for Claude's words; `at` is wall time (epoch seconds, UTC), `elapsed` the time since the run began, on a clock that
    never jumps."""

    seq: int
    at: float
    elapsed: float
    event: Event
