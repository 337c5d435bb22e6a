"""The state of a run: what its entries come to, in groups that change together. `core.state.steps` folds it.

Counters live here, never in a file of their own, so a crash cannot make them disagree with the journal. Named tuples,
because mypy checks the names in their `_replace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from claude_iterate.core import events
from claude_iterate.core.events.reasons import Reason
from claude_iterate.core.events.vocabulary import Cause, Purpose
from claude_iterate.core.named_tuples import NamedTuple
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.call_state import Call, Spending

_NO_RESULTS: Mapping[str, events.CheckResult] = MappingProxyType({})
_NO_WINDOWS: Mapping[str, events.LimitReported] = MappingProxyType({})


class Streaks(NamedTuple):
    """What happened several times in a row. `denied` are the permission rules that the last iteration lacked,
    `denials` how many iterations lacked the same; `retries` counts tries of the same iteration; `idle_iterations` are
    those whose report says `worked: false`; `absences` counts how often Claude could not be called since it worked;
    `unmoved` are iterations without measured progress; `errors` are those with the same error, of which `error` is the
    signature and `error_said` the words; `red` are test runs that were not green."""

    idle_iterations: int = 0
    failures: int = 0
    denied: str = ""
    denials: int = 0
    retries: int = 0
    absences: int = 0
    unmoved: int = 0
    errors: int = 0
    error: str = ""
    error_said: str = ""
    red: int = 0


class Waiting(NamedTuple):
    """The wait under way and what waits depend on. `began` and `ends` are on the run's own clock, which cannot be set
    back; `waits` and `waited` count the waits in a row and their planned seconds; `calls` are the moments of recent
    calls of Claude; until `hours_waived` (epoch seconds) the user does not want `limits.hours` to be kept."""

    wait: events.WaitStarted | None = None
    began: float = 0.0
    ends: float = 0.0
    waits: int = 0
    waited: float = 0.0
    windows: Mapping[str, events.LimitReported] = _NO_WINDOWS
    calls: tuple[float, ...] = ()
    hours_waived: float = 0.0
    held: events.HeldBack | None = None
    """Another run met a limit, and this one has not waited for it yet."""


class Claim(NamedTuple):
    """How many claims of completion were judged, and the proof of the last one. `checked`: its checks are green, the
    review is still to come. `results` are the last ones of each check, over all claims; `flaky` are the checks of this
    claim with another result than before, although nothing changed. `task` is the identity of the instructions that the
    claim is about; `sound`: the iteration that made it came to its own end, or the API refused all that was to follow.
    `refuted` is the proof that failed last, if none has held since; `problems` are what was odd about its report."""

    judged: int = 0
    proof: events.VerificationFinished | None = None
    checked: events.ChecksPassed | None = None
    results: Mapping[str, events.CheckResult] = _NO_RESULTS
    flaky: tuple[str, ...] = ()
    task: str = ""
    sound: bool = True
    refuted: events.VerificationFinished | None = None
    problems: tuple[str, ...] = ()


class Session(NamedTuple):
    """The session that the next iteration may resume, how full its context is (0 to 1), and when it was last used
    (epoch seconds). `reboot`: it was given up, which the next iteration has to record. `session_cost_usd` and
    `session_tokens` are the last total that Claude Code named in it."""

    id: str = ""
    context: float | None = None
    used: float = 0.0
    reboot: events.Rebooted | None = None
    session_cost_usd: float = 0.0
    session_tokens: events.Tokens = events.Tokens()


class Requests(NamedTuple):
    """What the user asked for. `approved` is the iteration that may begin in an attended run; `cut` how the call under
    way is to be ended."""

    paused: bool = False
    approved: int = 0
    cut: Cause | None = None
    stop: events.StopRequested | None = None


class Work(NamedTuple):
    """What the iterations of the run did, as we measured it. `measured` is the number of the last iteration that was;
    `snapshot` is the last one, with which the next is compared; `files_changed` sums the files of all iterations."""

    last_measure: events.WorkMeasured | None = None
    snapshot: events.SnapshotTaken | None = None
    measured: int = 0
    files_changed: int = 0
    commits: int = 0


class Hooked(NamedTuple):
    """Which hooks have run. `hooks_ran` are those (project, workspace) that have ended for the point and iteration that
    is under way, `hook_running` one that has not; `hook_prepared` is the iteration that `next_iteration` has let go on,
    `hook_owed` the one that `iteration_finished` has still to hear of; `hook_skips` counts skips in a row,
    `hook_signals` signals since the hook began; `hook_record` is the last iteration; `hooks_failed` are
    the paths of those that failed and let the run go on."""

    hook_point: str = ""
    hook_number: int = 0
    hooks_ran: tuple[str, ...] = ()
    hook_running: str = ""
    hook_prepared: int = 0
    hook_owed: int = 0
    hook_skips: int = 0
    hook_record: events.IterationFinished | None = None
    hooks_begun: bool = False
    last_hook: events.HookFinished | None = None
    hook_signals: int = 0
    hooks_failed: tuple[str, ...] = ()


class Breaker(NamedTuple):
    """What the breaker knows beside the streaks. `trip`: it ended an earlier run, and nothing has moved since;
    `pattern` was seen in the last iteration; `scripts` are the results of the stop scripts after the last one."""

    trip: events.Trip | None = None
    pattern: events.PatternSeen | None = None
    scripts: events.StopScriptsRun | None = None


class WorktreeState(NamedTuple):
    """The worktree that the run works in, and what it left there."""

    made: events.WorktreeMade | None = None
    left: events.WorktreeLeft | None = None


class Plans(NamedTuple):
    """The plan of the modes plan and build: as it was last read, and its checksum when the last iteration began."""

    now: events.PlanRead | None = None
    before: str = ""


class RunState(NamedTuple):
    """Everything that rules and views want to know of a run."""

    started: events.RunStarted | None = None
    started_at: float = 0.0
    last_at: float = 0.0
    call: Call | None = None
    iterations: int = 0
    last_ended: float = 0.0
    last_outcome: events.Outcome | None = None
    last_status: Status | None = None
    status: Status | None = None
    status_before: Status | None = None
    """The report as it was when the iteration began."""
    unclaimed: Status | None = None
    """The last report that claims nothing: what stands when a claim does not hold."""
    findings: str = ""
    """What the next prompt says about the last failure or proof."""
    cost_usd: float = 0.0
    tokens: events.Tokens = events.Tokens()
    streaks: Streaks = Streaks()
    waiting: Waiting = Waiting()
    claim: Claim = Claim()
    session: Session = Session()
    requests: Requests = Requests()
    one_off: events.ErrandFinished | None = None
    finished: events.RunFinished | None = None
    worked: bool = False
    """Claude was called in this run, and that went well."""
    cost_is_lower_bound: bool = False
    """Of some calls only a part of the cost is known."""
    defined: events.ProofDefined | None = None
    """What defines the proof, as it was when the run began."""
    changes: tuple[events.ProofChange, ...] = ()
    """What was changed of it, as far as it was looked at."""
    work: Work = Work()
    hooks: Hooked = Hooked()
    reboots: int = 0
    """How many iterations began with a fresh session where one could have gone on."""
    breaker: Breaker = Breaker()
    hints: events.Hints = events.Hints()
    worktree: WorktreeState = WorktreeState()
    plans: Plans = Plans()
    instructions: str = ""
    """The hash of the instructions that the last iteration of this process had."""

    def with_call(self, call: Call) -> RunState:
        """As `_replace(call=call)`, in less time: this is done for every tool that Claude uses."""
        return tuple.__new__(RunState, self[:3] + (call,) + self[4:])  # noqa: RUF005 - this is faster

    @property
    def wait(self) -> events.WaitStarted | None:
        """The wait under way."""
        return self.waiting.wait

    @property
    def proof(self) -> events.VerificationFinished | None:
        """The proof of the last claim."""
        return self.claim.proof

    @property
    def paused(self) -> bool:
        """The user said `pause`."""
        return self.requests.paused

    @property
    def stop(self) -> events.StopRequested | None:
        """The user or the system wants the run to end."""
        return self.requests.stop

    @property
    def iteration(self) -> int:
        """The number of the iteration under way; 0 when there is none."""
        return self.call.number if self.call is not None else 0

    @property
    def result(self) -> events.ResultReported:
        """What Claude said at the end of the call under way; an empty one as long as it has not."""
        return self.call.result if self.call and self.call.result else events.ResultReported()

    @property
    def carried(self) -> events.Carried:
        """What earlier runs handed on."""
        return self.started.carried if self.started else events.Carried()

    @property
    def elapsed_before(self) -> float:
        """How long this run had taken before it was killed and went on."""
        return self.started.resumed.elapsed if self.started and self.started.resumed else 0.0

    @property
    def total_cost_usd(self) -> float:
        """Over all runs of the workspace."""
        return self.carried.cost_usd + self.cost_usd

    @property
    def spending(self) -> Spending:
        """What the call under way cost and used so far."""
        return self.call.spending if self.call is not None else Spending()

    @property
    def total_is_lower_bound(self) -> bool:
        """Of some calls of the workspace only a part of the cost is known."""
        return self.carried.cost_is_lower_bound or self.cost_is_lower_bound

    @property
    def total_iterations(self) -> int:
        """Over all runs of the workspace. One that is under way counts when it has ended: a kill takes it back."""
        return self.carried.iterations + self.iterations

    @property
    def reason(self) -> Reason | None:
        """Why the run ended, once it has."""
        return self.finished.reason if self.finished else None

    @property
    def task_is_done(self) -> bool:
        """A run of iterations completed the task. `verify`, `validate`, `edit` and `setup` end as completed, too, and
        settle nothing of what earlier runs left."""
        return self.reason == "completed" and (self.started is None or self.started.purpose == Purpose.RUN)


Batch = Sequence[tuple[events.Entry, RunState]]
"""Entries that were recorded together, in order, each with the state of the run after it, or after more of them that
Claude printed."""
