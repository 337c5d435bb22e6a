"""Events about the run as a whole: its beginning and end, its breaker, its worktree, and what it takes over.

What a run counts, waits for, claims and did is kept in groups that change together. The state of a run is made of them,
and `Resumed` hands them to the run that continues after a kill."""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.events.call import (
    IterationFinished,
    Outcome,
    Rebooted,
    ReviewFinished,
    SnapshotTaken,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Cause, Point, Purpose, Reason
from claude_iterate.core.events.proof import (
    CheckFinished,
    CheckResult,
    ChecksPassed,
    ProofChange,
    ProofDefined,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.steering import HeldBack, HookFinished, StopRequested, WaitStarted
from claude_iterate.core.events.stream import BaseEvent, LimitReported, Tokens
from claude_iterate.core.reports.status import Status


class WorktreeMade(BaseEvent, frozen=True):
    """The run works in the git worktree `path` on `branch`, which began at the commit `base`; `again`: an earlier run
    made the branch. `main` is the main checkout, where the workspace stays."""

    path: str
    branch: str
    base: str
    main: str = ""
    again: bool = False


class WorktreeLeft(BaseEvent, frozen=True):
    """What the run leaves in its worktree: `commits` of its branch that the main checkout does not have, and whether it
    is `clean`; a clean one is removed after the run. `trouble` says why this is not known."""

    commits: int = 0
    clean: bool = False
    trouble: str = ""


class PatternSeen(BaseEvent, frozen=True):
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


class StopScriptsRun(BaseEvent, frozen=True):
    """The commands of `stop.scripts` ran after iteration `number`. One that exits with 0 ends the run."""

    number: int
    results: tuple[ScriptResult, ...] = ()


class BreakerReset(BaseEvent, frozen=True):
    """The counters of the breaker restart at 0: `by` is run (`run --reset`), reset (the command `reset`) or
    instructions (they describe another task now)."""

    by: str


class Trip(msgspec.Struct, frozen=True, omit_defaults=True):
    """The breaker ended a run: `why` is a part of a sentence, such as `after 3 iterations without progress`."""

    reason: Reason
    why: str
    run: str
    at: float


class Breaker(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the breaker counts, also in the next run: iterations without measured progress (`unmoved`), failures in a
    row, iterations with the same error, of which `error` is the signature and `error_said` the words, and test runs in
    a row that failed (`red`). `trip`: it ended an earlier run, and nothing has moved since; `task` is the identity of
    the instructions. Of this run alone: `pattern` was seen in the last iteration; `scripts` are the results of the stop
    scripts after it."""

    unmoved: int = 0
    failures: int = 0
    errors: int = 0
    error: str = ""
    error_said: str = ""
    red: int = 0
    trip: Trip | None = None
    task: str = ""
    pattern: PatternSeen | None = None
    scripts: StopScriptsRun | None = None

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


class Streaks(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened several times in a row in this run. `denied` are the permission rules that the last iteration
    lacked, `denials` how many iterations lacked the same; `retries` counts tries of the same iteration;
    `idle_iterations` are those whose report says `worked: false`; `absences` counts how often Claude could not be
    called since it worked."""

    idle_iterations: int = 0
    denied: str = ""
    denials: int = 0
    retries: int = 0
    absences: int = 0


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """The wait under way and what waits depend on. `ends` is on the run's own clock, which cannot be set back; `waits`
    and `waited` count the waits in a row and their planned seconds; `calls` are the moments of recent calls of Claude;
    until `hours_waived` (epoch seconds) the user does not want `limits.hours` to be kept."""

    wait: WaitStarted | None = None
    ends: float = 0.0
    waits: int = 0
    waited: float = 0.0
    windows: dict[str, LimitReported] = {}
    calls: tuple[float, ...] = ()
    hours_waived: float = 0.0
    held: HeldBack | None = None
    """Another run met a limit, and this one has not waited for it yet."""


class Verification(msgspec.Struct, frozen=True, omit_defaults=True):
    """The proof under way: how it began, the checks that have run since, and what the review said."""

    started: VerificationStarted
    checks: tuple[CheckFinished, ...] = ()
    review: ReviewFinished | None = None


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many claims of completion were judged, and the proof of the last one. `checked`: its checks are green, the
    review is still to come. `results` are the last ones of each check, over all claims; `flaky` are the checks of this
    claim with another result than before, although nothing changed. `task` is the identity of the instructions that the
    claim is about; `sound`: the iteration that made it was not cut off, or the API refused everything after it.
    `refuted` is the proof that failed last, if none has held since; `problems` are what was odd about its report.
    `verification` is its proof as long as that is under way."""

    judged: int = 0
    proof: VerificationFinished | None = None
    checked: ChecksPassed | None = None
    results: dict[str, CheckResult] = {}
    flaky: tuple[str, ...] = ()
    task: str = ""
    sound: bool = True
    refuted: VerificationFinished | None = None
    problems: tuple[str, ...] = ()
    verification: Verification | None = None


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """The session that the next iteration may resume, how full its context is (0 to 1), and when it was last used
    (epoch seconds). `reboot`: it was given up, which the next iteration has to record. `session_cost_usd` and
    `session_tokens` are the last total that Claude Code named in it."""

    id: str = ""
    context: float | None = None
    used: float = 0.0
    reboot: Rebooted | None = None
    session_cost_usd: float = 0.0
    session_tokens: Tokens = Tokens()


class Requests(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user asked for. `approved` is the iteration that may begin in an attended run; `cut` how the call under
    way is to be ended."""

    paused: bool = False
    approved: int = 0
    cut: Cause | None = None
    stop: StopRequested | None = None


class Work(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the iterations of the run did, as we measured it. `measured` is the number of the last iteration that was;
    `snapshot` is the last one, with which the next is compared; `files_changed` sums the files of all iterations."""

    last_measure: WorkMeasured | None = None
    snapshot: SnapshotTaken | None = None
    measured: int = 0
    files_changed: int = 0
    commits: int = 0


class HookState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which hooks have run. `hooks_ran` are those (project, workspace) that have ended for the point and iteration that
    is under way, `hook_running` one that has not; `hook_prepared` is the iteration that `next_iteration` has allowed,
    `hook_owed` the one that `iteration_finished` has still to hear of; `hook_skips` counts skips in a row,
    `hook_signals` signals since the hook began; `hook_record` is the last iteration; `hooks_failed` are
    the paths of those that failed without ending the run."""

    hook_point: str = ""
    hook_number: int = 0
    hooks_ran: tuple[str, ...] = ()
    hook_running: str = ""
    hook_prepared: int = 0
    hook_owed: int = 0
    hook_skips: int = 0
    hook_record: IterationFinished | None = None
    hooks_begun: bool = False
    last_hook: HookFinished | None = None
    hook_signals: int = 0
    hooks_failed: tuple[str, ...] = ()


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """What earlier runs of the workspace hand on, so that the newest journal alone gives the totals. `changes` to what
    defines the proof stand until they are undone or accepted; `refuses`: until then no claim holds. `calls` are the
    moments of Claude's calls within the last hour. `report` is the last report without a claim: how far the work is
    when the run begins."""

    iterations: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    findings: str = ""
    cost_is_lower_bound: bool = False
    changes: tuple[ProofChange, ...] = ()
    refuses: bool = False
    breaker: Breaker = Breaker()
    calls: tuple[float, ...] = ()
    report: Status | None = None


JOURNAL_FORMAT = 1
"""Raised when the meaning of an event changes. New events and fields do not raise it."""


class RunStarted(BaseEvent, frozen=True):
    """A run began. This event has everything that the log's header needs. `birth` and `pid` together identify the
    runner's process. `format` is that of the journal: a version that knows only smaller numbers does not continue it.
    `hooks` are the points that have a hook; `settings` are those that differ from their defaults, secrets masked.
    `measures`: the work of each iteration is measured. `cassette` is the recorded run that a dry run plays; `again` is
    the command that continues the run if it is killed. `to_prove`: only Claude's word would say that the task is done,
    and this command adds a check; with `proof_is_example` that check is made up. `task` identifies the
    instructions."""

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
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    measures: bool = False
    cassette: str = ""
    again: str = ""
    to_prove: str = ""
    proof_is_example: bool = False
    task: str = ""

    @property
    def made_up(self) -> bool:
        """What Claude says is made up: a dry run that plays no recorded run."""
        return self.dry_run and not self.cassette


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a run's state that a run takes over when it continues this one after a kill."""

    iterations: int = 0
    cost_usd: float = 0.0
    cost_is_lower_bound: bool = False
    """Of some calls only a part of the cost is known."""
    tokens: Tokens = Tokens()
    findings: str = ""
    """What the next prompt says about the last failure or proof."""
    last_status: Status | None = None
    last_outcome: Outcome | None = None
    defined: ProofDefined | None = None
    """What defines the proof, as it was when the run began."""
    changes: tuple[ProofChange, ...] = ()
    """What was changed of it, as far as it is known."""
    reboots: int = 0
    """How many iterations began with a fresh session where one could have gone on."""
    streaks: Streaks = Streaks()
    waiting: Waiting = Waiting()
    claim: Claim = Claim()
    session: Session = Session()
    work: Work = Work()
    hooks: HookState = HookState()
    breaker: Breaker = Breaker()
    hints: Hints = Hints()


class Resumed(Standing, frozen=True, omit_defaults=True):
    """What a run that continues after a crash takes over from the one that was killed. Beside `run` and `elapsed` each
    field is one of the state, of the same name."""

    run: str
    elapsed: float = 0.0


class Warned(BaseEvent, frozen=True):
    """The runner warns of something that does not stop it."""

    text: str
    hint: str = ""


class RunFinished(BaseEvent, frozen=True):
    """The run is over. `cause` says why in one sentence, `detail` is the evidence; `advice` says what to do about it,
    `next` is the next step as a command for a shell. `known_by` says how it is known that the task is done: checks,
    review, checks_and_review; or not proven: report (Claude's word), plan (all of its tasks are ticked), changed (what
    defines the proof was changed). `about_claim` says what matters about the last claim of completion: that it was not
    checked or did not hold, or what the report adds. `changes` are those to what defines the proof since the run began.
    `tripped` says why the breaker ended the run. `task` identifies the instructions at the end. `duration` includes the
    killed run that this one continued."""

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
