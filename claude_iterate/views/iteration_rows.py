"""One row for each call of Claude for an iteration: what it took, what it did, what came of it.

A call that was killed before its end is a row too: its money is spent. Nothing is taken from a state that a run took
over from a killed one, so no row is counted twice.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import moment
from claude_iterate.core.outcomes.call import Call, Spending
from claude_iterate.core.outcomes.classes import is_done_again
from claude_iterate.core.state.condition import Progress, counted_items
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text.run_lines import denied_call
from claude_iterate.workspace.run_summary import TokenCounts, counts

_MESSAGE = 500
"""Characters that are kept of how an iteration ended: there may be thousands of rows."""
_DENIALS = 10


class FileCounts(msgspec.Struct, frozen=True, rename="camel"):
    """How many files of the project an iteration changed, as measured."""

    created: int = 0
    modified: int = 0
    deleted: int = 0


class TestsView(msgspec.Struct, frozen=True, rename="camel"):
    """The result of the test command after an iteration."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One call of Claude for an iteration."""

    run: str
    number: int
    attempt: int
    """Above 1 if the iteration was repeated."""
    began: str
    duration: float = 0.0
    """Of a call without an end: until its last sign of life."""
    cost_usd: float | None = 0.0
    """null: Claude worked and did not report the cost."""
    known_cost_usd: float = 0.0
    """The part of the cost that is known; the sums include it."""
    cost_is_lower_bound: bool = False
    """The known cost is what Claude's messages cost at least, or what it had reported before further messages."""
    tokens: TokenCounts = TokenCounts()
    turns: int = 0
    tools: int = 0
    progress: Progress | None = None
    worked: bool | None = None
    complete: bool | None = None
    """Claude claims that the task is done."""
    outcome: str = Kind.UNFINISHED
    """unfinished: the call has no outcome yet, or never will."""
    message: str = ""
    summary: str = ""
    """What Claude reported about its work, in its own words."""
    denied: tuple[str, ...] = ()
    """The first tool calls that Claude was not allowed to make, each once."""
    done_again: bool = False
    """The iteration is repeated, so this row does not count as one."""
    resumed_session: str | None = None
    session: str = ""
    """Claude's session."""
    claim_held: bool | None = None
    """Whether the proof of the claim held; null: no claim, or not judged yet."""
    files: FileCounts | None = None
    """null: not measured."""
    commits: int | None = None
    """null: not measured, or the project is no git repository."""
    tests: TestsView | None = None
    """null: the tests did not run, or their output was not understood."""
    moved: tuple[str, ...] | None = None
    """The progress that was measured: commits, files, tests, in plan mode the plan; empty: none; null: not measured."""
    context: float | None = None
    """How full the context was at the end, from 0 to 1."""
    compactions: int = 0
    """How often Claude Code made its context smaller."""
    rebooted: str | None = None
    """Why it began with a fresh session instead of the last one: redline, user, session or expired."""
    exit_code: int | None = None
    """null: Claude was not started, or is still working."""
    said: int = 0
    """Characters of Claude's own text."""
    prompt_hash: str = ""
    instructions_hash: str = ""
    tree_before: str = ""
    """Git's name for the whole project when it began, for `git diff`; empty: no snapshot."""
    tree_after: str = ""
    """The same when it ended."""


class IterationRows:
    """The rows of one run, folded entry by entry."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._retries_before = (0, 0)
        self._begun: Row | None = None
        self._began = self._last_at = 0.0
        self._state = RunState()
        self.ended: list[Row] = []
        self._other = Spending()
        self.claim_before_held: bool | None = None
        """The result of a claim of the killed run that this one continues."""

    def every(self, at: float = 0.0) -> tuple[Row, ...]:
        """All rows. That of the call under way is the last, with what is known of it; it has lasted until the moment
        `at` of the run's own clock, or until its last sign of life."""
        if self._begun is None:
            return tuple(self.ended)
        call = self._state.call or Call(0, 0.0)
        under_way = replace(
            _with_cost(self._begun, self._state.spending),
            duration=round(max(0.0, self._last_at - self._began, at - self._began), 3),
            turns=self._state.result.turns,
            tools=call.tools,
            said=call.said,
            compactions=call.compactions,
        )
        return (*self.ended, under_way)

    @property
    def other(self) -> Spending:
        """What calls cost that were no iterations: reviews, one-off calls, the one under way included."""
        return self._other if self._begun is not None else self._other + self._state.spending

    def take(self, entry: events.Entry, before: RunState, after: RunState) -> None:
        """One more entry, and the states before and after it."""
        self._last_at, self._state = max(self._last_at, entry.elapsed), after
        match event := entry.event:
            case events.RunStarted(resumed=events.Resumed() as killed):
                self._retries_before = killed.iterations + 1, killed.streaks.retries
            case events.IterationStarted():
                self._began = self._last_at = entry.elapsed
                self._begun = Row(
                    self._run,
                    event.number,
                    self._attempt(event.number),
                    moment(entry.at),
                    resumed_session=event.resumes or None,
                    prompt_hash=event.prompt_hash,
                    instructions_hash=event.instructions_hash,
                    tree_before=after.work.snapshot.tree if after.work.snapshot is not None else "",
                )
            case events.Rebooted() if self._begun is not None:
                self._begun = replace(self._begun, rebooted=str(event.why))
            case events.IterationFinished():
                begun = self._begun or Row(self._run, event.number, 1, moment(entry.at - event.duration))
                self.ended.append(_finish_row(begun, event, before))
                self._begun = None
            case events.ReviewFinished() | events.OneOffCallFinished():
                self._other += Spending(event.cost_usd, at_least=event.cost_is_lower_bound)
            case events.PlanRead() if self.ended:
                row = self.ended[-1]
                self.ended[-1] = replace(row, progress=counted_items(None, event) or row.progress)
            case events.WorkMeasured():
                self._add_measure(event, after)
            case events.VerificationFinished() if not self.ended:
                self.claim_before_held = event.passed
            case events.VerificationFinished() if self.ended[-1].complete:
                self.ended[-1] = replace(self.ended[-1], claim_held=event.passed)

    def _attempt(self, number: int) -> int:
        """Which attempt at this iteration it is; a run that continues a killed one remembers its attempts."""
        earlier = self._retries_before[1] if number == self._retries_before[0] else 0
        for row in reversed(self.ended):  # attempts at one iteration stand together
            if row.number != number:
                break
            earlier += 1
        return earlier + 1

    def _add_measure(self, event: events.WorkMeasured, after: RunState) -> None:
        place = next((at for at in reversed(range(len(self.ended))) if self.ended[at].number == event.number), None)
        if place is None:
            return  # it was measured for an iteration of a killed run
        changes, tests = event.changes, event.tests
        known = changes is not None or tests is not None or bool(event.progress)
        self.ended[place] = replace(
            self.ended[place],
            files=msgspec.convert(changes, FileCounts | None, from_attributes=True),
            commits=changes.commits if changes is not None and changes.how == "git" else None,
            tests=msgspec.convert(tests, TestsView | None, from_attributes=True),
            moved=event.progress if known else None,
            tree_after=after.work.snapshot.tree if after.work.snapshot is not None and changes is not None else "",
        )


def _with_cost(row: Row, spent: Spending) -> Row:
    return replace(
        row,
        cost_usd=None if spent.at_least else spent.cost_usd,
        known_cost_usd=spent.cost_usd,
        cost_is_lower_bound=spent.at_least,
        tokens=counts(spent.tokens),
    )


def _finish_row(row: Row, event: events.IterationFinished, before: RunState) -> Row:
    """A row of a call that is over."""
    status = event.status
    return replace(
        _with_cost(row, Spending(event.cost_usd, event.tokens, event.cost_is_lower_bound)),
        duration=round(event.duration, 3),
        turns=event.turns,
        tools=event.tools,
        progress=counted_items(status, before.plans.now),
        worked=status.worked if status else None,
        complete=status.complete if status else None,
        outcome=str(event.outcome.kind),
        message=event.outcome.message[:_MESSAGE],
        summary=status.summary[:_MESSAGE] if status and status.summary else "",
        denied=tuple(dict.fromkeys(map(denied_call, event.denials)))[:_DENIALS],
        done_again=is_done_again(event),
        context=event.context,
        compactions=before.call.compactions if before.call is not None else 0,
        exit_code=event.exit_code,
        said=event.said,
        session=event.session,
    )
