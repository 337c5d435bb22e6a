"""The tagged union Event: past-tense facts, the whole interface between running and looking on.

No formatting, no emoji, no opinion. An Entry is an event with its place in the run; entries are the journal.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.proof_events import (
    CheckFinished,
    ErrandFinished,
    ErrandStarted,
    ReviewFinished,
    ReviewStarted,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.reasons import Reason
from claude_iterate.core.events.results import Denial, Outcome, Tokens
from claude_iterate.core.events.stream_events import (
    AgentNoted,
    ApiRetried,
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
    Told,
    ToolAnswered,
    ToolCalled,
)
from claude_iterate.core.events.vocabulary import Cause, Purpose, Verb, Why
from claude_iterate.core.reports.status import Change, Status


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs of the workspace hand on, so that the newest journal alone tells the totals."""

    iterations: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    findings: str = ""


# -- the run


class RunStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A run began. Everything the log's header needs is here. `birth` and `pid` name the runner for ever."""

    run: str
    workspace: str
    mode: str
    max_iterations: int
    pid: int
    host: str
    version: str
    command: tuple[str, ...]
    log: str = ""
    agent_version: str = ""
    dry_run: bool = False
    purpose: Purpose = Purpose.RUN
    carried: Carried = Carried()
    resumed: Resumed | None = None
    birth: str = ""


class Resumed(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run that goes on after a crash takes over from the one that was killed."""

    run: str
    iterations: int = 0
    idle_iterations: int = 0
    failures: int = 0
    retries: int = 0
    claims: int = 0
    cost_usd: float = 0.0
    elapsed: float = 0.0
    findings: str = ""
    last_status: Status | None = None
    proof: VerificationFinished | None = None
    last_outcome: Outcome | None = None
    windows: dict[str, LimitReported] = {}
    calls: tuple[float, ...] = ()
    wait: WaitStarted | None = None
    waits: int = 0
    waited: float = 0.0
    denied: str = ""
    denials: int = 0
    session: str = ""
    context: float | None = None
    tokens: Tokens = Tokens()


class StopRequested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A person or the system wants the run to end: after this iteration, or now."""

    by: str
    now: bool = False


class WaitStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run waits: `why` is usage_limit, transient, reserve or pace; `until` is wall time in epoch seconds."""

    why: Why
    until: float
    detail: str = ""
    window: str = ""
    attempt: int = 1


class WaitEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The wait is over: its time came, or somebody said `retry`."""

    why: Why
    by: str = "time"


class Requested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Somebody steers: `verb` is pause, resume, stop, skip, reboot, retry or go; `by` is command, key or answer."""

    verb: Verb
    by: str = "command"
    now: bool = False


class Warned(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The runner has something to say that does not stop it."""

    text: str
    hint: str = ""


class RunFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run is over. `detail` is evidence, `advice` the way on."""

    reason: Reason
    detail: str = ""
    advice: str = ""
    iterations: int = 0
    cost_usd: float = 0.0
    duration: float = 0.0


# -- one iteration


class IterationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A prompt was rendered and is about to be sent. The texts are for the log; the journal keeps their sizes.
    `resumes` is the session that goes on; empty: a fresh one begins. `notes` counts the notes in the prompt."""

    number: int
    instructions: str = ""
    status_instructions: str = ""
    system_prompt: str = ""
    prompt_bytes: int = 0
    system_prompt_bytes: int = 0
    resumes: str = ""
    notes: int = 0


class AgentStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude is running."""

    pid: int


class CutStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """We began to end Claude. `cause` is idle, timeout, duration, lingering, stopped, skip or reboot; `doing` what it
    was busy with."""

    cause: Cause
    doing: str = ""
    after: float = 0.0


class AgentExited(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude is gone: its exit code, negative for the signal that killed it."""

    code: int


class LeftoversEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Processes that a tool left behind were ended."""

    processes: tuple[str, ...]


class StatusChanged(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The agent's report has news."""

    status: Status
    change: Change


class IterationFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """One iteration is over. `status` is the report if the agent wrote one in this iteration."""

    number: int
    outcome: Outcome
    status: Status | None = None
    problems: tuple[str, ...] = ()
    denials: tuple[Denial, ...] = ()
    duration: float = 0.0
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    turns: int = 0
    tools: int = 0
    session: str = ""
    context: float | None = None


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
    """An event in its place: `seq` counts from 1, and a gap is what was left out of a flood; `at` is wall time (epoch
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
