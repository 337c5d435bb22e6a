"""The tagged union Event: past-tense facts, the whole interface between running and looking on.

No formatting, no emoji, no opinion. An Entry is an event with its place in the run; entries are the journal.
"""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.reasons import Reason
from claude_iterate.core.status import Change, Status


class Tokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens by kind, as Claude's last result of a process counts them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Sum over processes."""
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
        )


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one call of the agent ended. `kind` is a name from the table in `core.outcome`; `resets_at` the moment
    (epoch seconds) at which a usage limit ends, if it was told."""

    kind: str
    message: str = ""
    advice: str = ""
    resets_at: float | None = None
    window: str = ""


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs of the workspace hand on, so that the newest journal alone tells the totals."""

    iterations: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    findings: str = ""


class Denial(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call that Claude was not allowed to make."""

    tool: str
    detail: str = ""


# -- the run


class RunStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A run began. Everything the log's header needs is here."""

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
    purpose: str = "run"
    carried: Carried = Carried()
    resumed: Resumed | None = None


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
    wait: WaitStarted | None = None
    waiting_since: float | None = None
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
    """The run waits: `why` is usage_limit, transient or reserve; `until` is wall time in epoch seconds."""

    why: str
    until: float
    detail: str = ""
    window: str = ""
    attempt: int = 1


class WaitEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The wait is over: its time came, or somebody said `retry`."""

    why: str
    by: str = "time"


class Requested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Somebody steers: `verb` is pause, resume, stop, skip, reboot, retry or go; `by` is command, key or answer."""

    verb: str
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

    cause: str
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


# -- the proof of a claim


class VerificationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The agent claims completion for the `claim`-th time; we look for ourselves."""

    claim: int
    checks: int = 0
    review: str = ""


class CheckFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A check of ours ran: its command, exit code (None: too slow or stopped), and the end of its output."""

    command: str
    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: str = ""


class ReviewStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude, with fresh context, looks whether the work is really done."""

    depth: str
    prompt_bytes: int = 0


class ReviewFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The review's verdict: verified, incomplete, invalid when its report cannot be trusted, or unheld when it could
    not be held at all, for the reason in `outcome`."""

    verdict: str
    summary: str = ""
    findings: tuple[str, ...] = ()
    report: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    outcome: Outcome | None = None


class VerificationFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What the proof came to. `findings` goes into the next prompt; `tree` is git's name for what was proven."""

    claim: int
    passed: bool
    findings: str = ""
    tree: str = ""


# -- other calls of Claude


class ErrandStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A call that is no iteration began: `purpose` is setup, edit or validate."""

    purpose: str
    prompt_bytes: int = 0


class ErrandFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """It is over. `text` is Claude's answer."""

    purpose: str
    outcome: Outcome
    text: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    cut: int = 0


# -- what Claude prints


class SessionOpened(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude introduced itself."""

    session: str = ""
    model: str = ""
    version: str = ""
    permission_mode: str = ""
    credential: str = ""
    problems: tuple[str, ...] = ()


class Said(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Text by the model, or (with `error`) an error message that Claude Code put in the model's mouth."""

    text: str
    parent: str = ""
    error: str = ""
    cut: int = 0


class Thought(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Thinking that Claude showed."""

    text: str
    parent: str = ""
    cut: int = 0


class Told(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Text given to the model in mid-session: a sub-agent's task, an interruption, a summary."""

    text: str
    parent: str = ""
    cut: int = 0


class ToolCalled(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The model uses a tool."""

    id: str
    name: str
    input: dict[str, Any] = {}
    parent: str = ""


class ToolAnswered(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A tool's result. `name` is the tool's, found by the id; `facts` is Claude Code's structured result."""

    id: str
    name: str = ""
    text: str = ""
    is_error: bool = False
    facts: dict[str, Any] = {}
    parent: str = ""
    cut: int = 0


class TaskStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A sub-agent or a background command began."""

    id: str
    kind: str = ""
    description: str = ""


class TaskEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """It ended: completed, failed, stopped or killed."""

    id: str
    status: str = ""
    summary: str = ""


class ApiRetried(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude Code met an API error and tries again by itself."""

    attempt: int = 0
    max_retries: int = 0
    delay: float = 0.0
    status: int | None = None
    error: str = ""


class LimitReported(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """State of a usage window of the subscription."""

    status: str
    window: str = ""
    resets_at: float | None = None
    utilization: float | None = None


class AgentNoted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Any other thing Claude Code reports: hooks, compaction, model changes, kinds we do not know yet."""

    kind: str
    text: str = ""


class ResultReported(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude's own word on how it went. There may be several in one process; the last one counts."""

    subtype: str = ""
    is_error: bool = False
    text: str = ""
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    terminal_reason: str = ""
    session: str = ""
    turns: int = 0
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    denials: tuple[Denial, ...] = ()
    context: float | None = None
    cut: int = 0


class GarbageSeen(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A line of output that is no event: kept, shown, never fatal."""

    text: str
    bytes: int = 0


class ErrorPrinted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A line on Claude's standard error."""

    text: str


StreamEvent = (
    SessionOpened
    | Said
    | Thought
    | Told
    | ToolCalled
    | ToolAnswered
    | TaskStarted
    | TaskEnded
    | ApiRetried
    | LimitReported
    | AgentNoted
    | ResultReported
    | GarbageSeen
    | ErrorPrinted
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
    """An event in its place: `seq` counts from 1 without gaps, `at` is wall time (epoch seconds, UTC),
    `elapsed` is time since the run began on a clock that never jumps."""

    seq: int
    at: float
    elapsed: float
    event: Event
