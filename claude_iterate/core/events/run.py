"""Events about the run as a whole: its beginning and end, what it takes over, and the worktree in which it works."""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.events.call import Outcome
from claude_iterate.core.events.enums import Point, Purpose, Reason
from claude_iterate.core.events.groups import (
    Breaker,
    BreakerCarryOver,
    Claim,
    Hints,
    HookState,
    Session,
    Streaks,
    Waiting,
    Work,
)
from claude_iterate.core.events.proof import CheckResult, ProofChange, ProofDefined
from claude_iterate.core.events.stream import Tokens
from claude_iterate.core.reports.status import Status


class WorktreeMade(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run works in the git worktree `path` on `branch`, which began at the commit `base`; `again`: an earlier run
    made the branch. The workspace stays in the project,
    `main`."""

    path: str
    branch: str
    base: str
    main: str = ""
    again: bool = False


class WorktreeLeft(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What the run leaves in its worktree: `commits` of its branch that the main checkout does not have, and whether it
    is `clean`: then it is removed after the run. `trouble` says why that is not known."""

    commits: int = 0
    clean: bool = False
    trouble: str = ""


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
    breaker: BreakerCarryOver = BreakerCarryOver()
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
    """What a run that goes on after a crash takes over from the one that was killed. Beside `run` and `elapsed` each
    field is one of the state, of the same name."""

    run: str
    elapsed: float = 0.0
    iterations: int = 0
    cost_usd: float = 0.0
    cost_is_lower_bound: bool = False
    tokens: Tokens = Tokens()
    findings: str = ""
    last_status: Status | None = None
    last_outcome: Outcome | None = None
    defined: ProofDefined | None = None
    changes: tuple[ProofChange, ...] = ()
    reboots: int = 0
    streaks: Streaks = Streaks()
    waiting: Waiting = Waiting()
    claim: Claim = Claim()
    session: Session = Session()
    work: Work = Work()
    hooks: HookState = HookState()
    breaker: Breaker = Breaker()
    hints: Hints = Hints()


class Warned(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The runner has something to say that does not stop it."""

    text: str
    hint: str = ""


class RunFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run is over. `cause` says why in one sentence, `detail` is the evidence; `advice` says what to do about it,
    `next` is the next step as a command for a shell. `known_by` says how it is known that the task is done: checks,
    review, checks_and_review; or not proven: report (Claude's word), plan (all of its tasks are ticked), changed (what
    defines the proof was changed). `about_claim` is what has to be known of the last
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
