"""Events that the runner makes: the run as a whole, its iterations and their processes, proofs, one-off calls, waits,
and what the user asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.events.check_events import (
    CheckResult,
    ChecksPassed,
    ProofChange,
    ProofDefined,
    VerificationFinished,
)
from claude_iterate.core.events.reasons import Reason
from claude_iterate.core.events.stream_events import Denial, LimitReported, Tokens
from claude_iterate.core.events.vocabulary import Cause, Kind, Purpose, Verb, Why
from claude_iterate.core.reports.status import Change, Status


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one call of the agent ended. `kind` is a row of `core.outcomes.classes`; `resets_at` the moment (epoch
    seconds) at which a usage limit ends, if it is known. `called` is false when it could not even be started.
    `allowed_by` are the options of `run` that would have allowed what was denied."""

    kind: Kind
    message: str = ""
    advice: str = ""
    resets_at: float | None = None
    window: str = ""
    called: bool = True
    allowed_by: tuple[tuple[str, str], ...] = ()


class IterationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A prompt was rendered and is about to be sent. The texts are for the log; the journal leaves them out.
    `resumes` is the session that goes on; empty: a fresh one begins. `notes` counts the notes in the prompt. The prompt
    asks for `report_id` in the report."""

    number: int
    instructions: str = ""
    status_instructions: str = ""
    system_prompt: str = ""
    prompt_bytes: int = 0
    resumes: str = ""
    notes: int = 0
    report_id: str = ""


class AgentStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude is running."""

    pid: int


class CutStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """We began to end Claude. `doing` is what it was busy with."""

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
    """One iteration is over. `status` is the report if the agent wrote one in this iteration. `changed` is False if it
    wrote none, and neither the project nor TODO.md changed; with a report it is not measured. With a claim,
    `task` is the identity of the instructions in the prompt. `cost_is_lower_bound`: Claude was gone before it named the
    cost, so `cost_usd` is only what its messages cost at least."""

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
    changed: bool = True
    task: str = ""
    cost_is_lower_bound: bool = False

    @property
    def reported(self) -> bool:
        """The agent wrote a report. Boxes that are counted for it are none."""
        return self.status is not None and self.status.source != "boxes"


class JudgedRequirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A requirement of the instructions as the review saw it: met, not_met, not_checked, or empty: not clear."""

    number: int
    text: str
    status: str = ""
    evidence: str = ""


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
    tokens: Tokens = Tokens()
    requirements: tuple[JudgedRequirement, ...] = ()
    cost_is_lower_bound: bool = False


class ErrandStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A one-off call began: `purpose` is setup, edit or validate."""

    purpose: Purpose
    prompt_bytes: int = 0


class ErrandFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A one-off call is over. `text` is Claude's answer, `structured` its answer in our schema, which the journal
    leaves out. `changed` are files of the project that changed while Claude was only to look; `trouble` says why its
    answer cannot count."""

    purpose: Purpose
    outcome: Outcome
    text: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    cut: int = 0
    tokens: Tokens = Tokens()
    structured: dict[str, Any] | None = None
    changed: tuple[str, ...] = ()
    trouble: str = ""
    cost_is_lower_bound: bool = False


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs of the workspace hand on, so that the totals can be read from the newest journal alone.
    `changes` of what defines the proof stand until they are undone or accepted; `refuses`: no claim holds until
    then."""

    iterations: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    findings: str = ""
    results: dict[str, CheckResult] = {}
    cost_is_lower_bound: bool = False
    changes: tuple[ProofChange, ...] = ()
    refuses: bool = False


class RunStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A run began. Everything the log's header needs is here. `birth` and `pid` together name the runner's process."""

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
    silent_iterations: int = 0
    failures: int = 0
    retries: int = 0
    claims: int = 0
    cost_usd: float = 0.0
    elapsed: float = 0.0
    findings: str = ""
    last_status: Status | None = None
    proof: VerificationFinished | None = None
    checked: ChecksPassed | None = None
    results: dict[str, CheckResult] = {}
    flaky: tuple[str, ...] = ()
    task: str = ""
    defined: ProofDefined | None = None
    changes: tuple[ProofChange, ...] = ()
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
    absences: int = 0
    cost_is_lower_bound: bool = False


class StopRequested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The user or the system wants the run to end: after this iteration, or now."""

    by: str
    now: bool = False


class WaitStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run waits: `until` is wall time in epoch seconds."""

    why: Why
    until: float
    detail: str = ""
    window: str = ""
    attempt: int = 1


class WaitEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The wait is over: its time came, or the user said `retry` or `skip`."""

    why: Why
    by: str = "time"


class Requested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The user steers: `by` is command, key or answer."""

    verb: Verb
    by: str = "command"
    now: bool = False


class Warned(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The runner has something to say that does not stop it."""

    text: str
    hint: str = ""


class RunFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run is over. `cause` says why in one sentence, `detail` is the evidence; `advice` says what to do about it,
    `next` is the next step as a command for a shell. `known_by` says how it is known that the task is done: checks,
    review, checks_and_review, or report for Claude's word alone. `about_claim` is what has to be known of the last
    claim of completion: that it was not checked or did not hold, or what the report says beside it. `changes` is what
    changed, since the run began, of that which defines the proof."""

    reason: Reason
    detail: str = ""
    advice: str = ""
    iterations: int = 0
    cost_usd: float = 0.0
    duration: float = 0.0
    known_by: str = ""
    about_claim: str = ""
    cause: str = ""
    next: str = ""
    cost_is_lower_bound: bool = False
    changes: tuple[ProofChange, ...] = ()
