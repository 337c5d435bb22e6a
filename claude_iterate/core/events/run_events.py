"""Events about the run as a whole: its beginning and end, what it takes over, waits, and what the user asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.events.breaker_events import Hints, PatternSeen, Standing, StopScriptsRun, Trip
from claude_iterate.core.events.call_events import IterationFinished, Outcome, Rebooted
from claude_iterate.core.events.check_events import (
    CheckResult,
    ChecksPassed,
    ProofChange,
    ProofDefined,
    VerificationFinished,
)
from claude_iterate.core.events.reasons import Reason
from claude_iterate.core.events.stream_events import LimitReported, Tokens
from claude_iterate.core.events.vocabulary import Point, Purpose, Verb, Why
from claude_iterate.core.events.work_events import SnapshotTaken, WorkMeasured
from claude_iterate.core.reports.status import Status


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs of the workspace hand on, so that the totals can be read from the newest journal alone.
    `changes` of what defines the proof stand until they are undone or accepted; `refuses`: no claim holds until
    then. `calls` are the moments of calls of Claude within the last hour. `replaced` is what a run without a proof saw
    of the instructions: their identity before they were replaced, and after. `report` is the last one that claims
    nothing: how far the work is when the run begins."""

    iterations: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    findings: str = ""
    results: dict[str, CheckResult] = {}
    cost_is_lower_bound: bool = False
    changes: tuple[ProofChange, ...] = ()
    refuses: bool = False
    breaker: Standing = Standing()
    calls: tuple[float, ...] = ()
    replaced: tuple[str, ...] = ()
    report: Status | None = None


JOURNAL_FORMAT = 1
"""Raised when an event of a journal comes to mean something else. New events and fields are no new format."""


class RunStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A run began. Everything the log's header needs is here. `birth` and `pid` together name the runner's process.
    `format` is that of the journal: a version that knows only a smaller number does not go on with it. `hooks` are the
    points that have a hook; `settings` are those that differ from their defaults, secrets masked. `measures`: each
    iteration is followed by a measure of its work. `cassette` is the recorded run that a dry run plays; `again` is the
    command that goes on with the run if it is killed. `to_prove`: nothing but Claude's word will say that the task is
    done, and this command adds a check. `task` is the identity of the instructions."""

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
    format: int = 1
    sandbox: str = ""
    hooks: tuple[Point, ...] = ()
    settings: dict[str, Any] = {}
    measures: bool = False
    cassette: str = ""
    again: str = ""
    to_prove: str = ""
    task: str = ""

    @property
    def made_up(self) -> bool:
        """What Claude says is made up: a dry run that plays no recorded run."""
        return self.dry_run and not self.cassette


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
    checked: ChecksPassed | None = None
    results: dict[str, CheckResult] = {}
    flaky: tuple[str, ...] = ()
    task: str = ""
    sound: bool = True
    refuted: VerificationFinished | None = None
    problems: tuple[str, ...] = ()
    defined: ProofDefined | None = None
    changes: tuple[ProofChange, ...] = ()
    last_outcome: Outcome | None = None
    windows: dict[str, LimitReported] = {}
    calls: tuple[float, ...] = ()
    wait: WaitStarted | None = None
    waits: int = 0
    waited: float = 0.0
    hours_waived: float = 0.0
    denied: str = ""
    denials: int = 0
    session: str = ""
    context: float | None = None
    session_used: float = 0.0
    reboot: Rebooted | None = None
    session_cost_usd: float = 0.0
    session_tokens: Tokens = Tokens()
    reboots: int = 0
    tokens: Tokens = Tokens()
    absences: int = 0
    cost_is_lower_bound: bool = False
    unmoved: int = 0
    last_measure: WorkMeasured | None = None
    snapshot: SnapshotTaken | None = None
    measured: int = 0
    files_changed: int = 0
    commits: int = 0
    hook_point: str = ""
    hook_number: int = 0
    hooks_ran: tuple[str, ...] = ()
    hook_running: str = ""
    hook_prepared: int = 0
    hook_owed: int = 0
    hook_skips: int = 0
    hook_record: IterationFinished | None = None
    hooks_failed: tuple[str, ...] = ()
    errors: int = 0
    error: str = ""
    error_said: str = ""
    red: int = 0
    trip: Trip | None = None
    pattern: PatternSeen | None = None
    scripts: StopScriptsRun | None = None
    hints: Hints = Hints()


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
    """The user steers: `by` is command, key or answer. `detach`: from now on the run goes on without its terminal."""

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
    changed, since the run began, of that which defines the proof. `tripped`: the breaker ended it, and why;
    `task` is the identity of the instructions as they were left. `duration` counts the killed run that it went on with.
    `replaced` are the identities of the instructions before and after, if they were replaced and no proof looks at
    them."""

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
    tripped: str = ""
    task: str = ""
    replaced: tuple[str, ...] = ()
