"""The state of a run: what its entries add up to, in groups that change together. `core.state.fold` makes it.

Counters live here, never in a file of their own, so a crash cannot make them disagree with the journal.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core import events
from claude_iterate.core.events.enums import Purpose, Reason
from claude_iterate.core.events.run import Requests, Standing
from claude_iterate.core.outcomes.call import Call, Spending
from claude_iterate.core.reports.status import Status


class WorktreeState(msgspec.Struct, frozen=True):
    """The worktree that the run works in, and what it left there."""

    made: events.WorktreeMade | None = None
    left: events.WorktreeLeft | None = None


class Plans(msgspec.Struct, frozen=True):
    """The plan of the modes plan and build: as it was last read, and its checksum when the last iteration began."""

    now: events.PlanRead | None = None
    before: str = ""


_NOT_STARTED = events.RunStarted("", "", "", 0, 0, "", "", ())


class RunState(Standing, frozen=True, kw_only=True):
    """Everything that rules and views want to know of a run."""

    started: events.RunStarted | None = None
    started_at: float = 0.0
    last_at: float = 0.0
    call: Call | None = None
    last_ended: float = 0.0
    status: Status | None = None
    status_before: Status | None = None
    """The report as it was when the iteration began."""
    unclaimed: Status | None = None
    """The last report that claims nothing: what stands when a claim does not hold."""
    requests: Requests = Requests()
    one_off: events.OneOffCallFinished | None = None
    finished: events.RunFinished | None = None
    worked: bool = False
    """Claude was called in this run, and that went well."""
    worktree: WorktreeState = WorktreeState()
    plans: Plans = Plans()
    instructions: str = ""
    """The hash of the instructions that the last iteration of this process had."""

    @property
    def run(self) -> events.RunStarted:
        """How the run was started; empty as long as that is not known."""
        return self.started if self.started is not None else _NOT_STARTED

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
    def last_iteration(self) -> int:
        """The number of the iteration under way, or of the last one that ended."""
        return self.iteration or self.iterations

    @property
    def result(self) -> events.ResultReported:
        """What Claude said at the end of the call under way; an empty one as long as it has not."""
        return self.call.result if self.call and self.call.result else events.ResultReported()

    @property
    def elapsed_before(self) -> float:
        """How long this run had taken before it was killed and went on."""
        return self.run.resumed.elapsed if self.run.resumed is not None else 0.0

    @property
    def total_cost_usd(self) -> float:
        """Over all runs of the workspace."""
        return self.run.carried.cost_usd + self.cost_usd

    @property
    def spending(self) -> Spending:
        """What the call under way cost and used so far."""
        return self.call.spending if self.call is not None else Spending()

    @property
    def spent(self) -> Spending:
        """What the run cost and used so far, the call under way included."""
        return Spending(self.cost_usd, self.tokens, self.cost_is_lower_bound) + self.spending

    @property
    def total_iterations(self) -> int:
        """Over all runs of the workspace. One that is under way counts when it has ended: a kill takes it back."""
        return self.run.carried.iterations + self.iterations

    @property
    def reason(self) -> Reason | None:
        """Why the run ended, once it has."""
        return self.finished.reason if self.finished else None

    @property
    def task_is_done(self) -> bool:
        """A run of iterations completed the task. `verify`, `validate`, `edit` and `setup` end as completed, too, and
        settle nothing of what earlier runs left."""
        return self.reason == "completed" and self.run.purpose == Purpose.RUN
