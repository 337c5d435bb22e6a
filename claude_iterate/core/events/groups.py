"""What a run has counted, waits for, claims and did, in groups that change together.

The state of a run is made of them, and `Resumed` hands them to the run that goes on after a kill.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.call import IterationFinished, Rebooted, ReviewFinished, SnapshotTaken, WorkMeasured
from claude_iterate.core.events.enums import Cause, Reason
from claude_iterate.core.events.proof import (
    CheckFinished,
    CheckResult,
    ChecksPassed,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.steering import HeldBack, HookFinished, StopRequested, WaitStarted
from claude_iterate.core.events.stream import LimitReported, Tokens


class PatternSeen(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
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


class StopScriptsRun(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The commands of `stop.scripts` ran after iteration `number`. One that ended with 0 says that the run has to
    end."""

    number: int
    results: tuple[ScriptResult, ...] = ()


class BreakerReset(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The counters of the breaker begin again at 0: `by` is run (`run --reset`), reset (the command `reset`) or
    instructions (they are another task now)."""

    by: str


class Trip(msgspec.Struct, frozen=True, omit_defaults=True):
    """The breaker ended a run: `why` is a part of a sentence, such as `after 3 iterations without progress`."""

    reason: Reason
    why: str
    run: str
    at: float


class BreakerCarryOver(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the breaker counts, handed on to the next run: iterations without progress, failures in a row, iterations
    with the same error, and test runs in a row that were red. `task` is the identity of the instructions."""

    unmoved: int = 0
    failures: int = 0
    errors: int = 0
    error: str = ""
    error_said: str = ""
    red: int = 0
    trip: Trip | None = None
    task: str = ""

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


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """The wait under way and what waits depend on. `began` and `ends` are on the run's own clock, which cannot be set
    back; `waits` and `waited` count the waits in a row and their planned seconds; `calls` are the moments of recent
    calls of Claude; until `hours_waived` (epoch seconds) the user does not want `limits.hours` to be kept."""

    wait: WaitStarted | None = None
    began: float = 0.0
    ends: float = 0.0
    waits: int = 0
    waited: float = 0.0
    windows: dict[str, LimitReported] = {}
    calls: tuple[float, ...] = ()
    hours_waived: float = 0.0
    held: HeldBack | None = None
    """Another run met a limit, and this one has not waited for it yet."""


class Verification(msgspec.Struct, frozen=True, omit_defaults=True):
    """The proof under way: how it began, the checks that have run since, and what the review said. `wavered`: the
    review says yes after saying no, and nothing changed in between."""

    started: VerificationStarted
    checks: tuple[CheckFinished, ...] = ()
    review: ReviewFinished | None = None
    wavered: bool = False


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many claims of completion were judged, and the proof of the last one. `checked`: its checks are green, the
    review is still to come. `results` are the last ones of each check, over all claims; `flaky` are the checks of this
    claim with another result than before, although nothing changed. `task` is the identity of the instructions that the
    claim is about; `sound`: the iteration that made it came to its own end, or the API refused all that was to follow.
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
    hook_record: IterationFinished | None = None
    hooks_begun: bool = False
    last_hook: HookFinished | None = None
    hook_signals: int = 0
    hooks_failed: tuple[str, ...] = ()


class Breaker(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the breaker knows beside the streaks. `trip`: it ended an earlier run, and nothing has moved since;
    `pattern` was seen in the last iteration; `scripts` are the results of the stop scripts after the last one."""

    trip: Trip | None = None
    pattern: PatternSeen | None = None
    scripts: StopScriptsRun | None = None
