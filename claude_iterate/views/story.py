"""The story of one run: what its journal says, folded once, for every reader; and the records of a workspace's runs.

`Story.take` gets every entry once, in order; `RunRecords` reads the journals of a workspace. Whether a run is alive is
not in its journal: the lock knows. Money and tokens of a dry run are made up: `summarise` and `history_of` leave them
out. Memory does not grow with the journal: it has a row for each iteration, and the last of everything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import get_args

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.formats import moment
from claude_iterate.core.rules.endings import changed_proof
from claude_iterate.core.rules.proof import has_no_verdict, proof_of
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import Tone
from claude_iterate.text import local_times
from claude_iterate.text.event_lines import is_worth_a_line, short_line
from claude_iterate.text.tool_lines import headline
from claude_iterate.views.iteration_rows import IterationRows
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_reader import story_entries
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.run_folder.run_lock import Holder
from claude_iterate.workspace.run_summary import ChangeView, changes

RECENT = 200
"""How many of the last things that happened are kept."""
_WARNINGS = 20
_END = 256 * 1024
"""Bytes at the end of a journal without an end that are read whole."""
_HEARD = frozenset({events.AgentStarted, *get_args(events.StreamEvent)})
"""Events that Claude causes."""


class Happening(msgspec.Struct, frozen=True):
    """Something that happened, as a line that is safe to print. `event` is the name of its event, `iteration` 0 between
    iterations, `clock` local time: `14:03:59`."""

    seq: int
    clock: str
    iteration: int
    event: str
    text: str


class WaitView(msgspec.Struct, frozen=True, rename="camel"):
    """A wait of the run: what for, from when to when. `ended` is null while it lasts."""

    why: str
    began: str
    ended: str | None
    duration: float
    by: str


class Now(msgspec.Struct, frozen=True, rename="camel"):
    """What a run does at this moment. Durations are seconds."""

    iteration: int
    """0 when no iteration is under way."""
    tool: str | None
    """The tool that Claude called last and that has not answered, in a few words."""
    tool_duration: float | None
    silence: float
    """Time since Claude was last heard."""


class Story:
    """The story so far. Give it every entry once, in order."""

    def __init__(self, run: str, entries: Iterable[events.Entry] = ()) -> None:
        self.run = run
        self.state = RunState()
        self.rows = IterationRows(run)
        self.proofs: deque[EvidenceView] = deque(maxlen=RECENT)
        self.waits: deque[WaitView] = deque(maxlen=RECENT)
        self.wait_count = 0
        self.waited = 0.0
        """Seconds of all waits that are over."""
        self.warnings: deque[events.Warned] = deque(maxlen=_WARNINGS)
        self._wait_began: float | None = None
        """When the wait under way began."""
        self.said = ""
        """Claude's last words, as far as the journal has them."""
        self.heard_at = 0.0
        """When Claude was last heard."""
        self.last: events.Entry | None = None
        self._recent: deque[tuple[events.Entry, RunState, RunState]] = deque(maxlen=RECENT)
        self.take_all(entries)

    def take_all(self, entries: Iterable[events.Entry]) -> None:
        """These entries, which follow those before."""
        for entry in entries:
            self.take(entry)

    def take(self, entry: events.Entry) -> None:
        """One more entry."""
        before, event = self.state, entry.event
        after = self.state = reduce(before, entry)
        self.rows.take(entry, before, after)
        self.last = entry
        if type(event) in _HEARD:
            self.heard_at = entry.at
        match event:
            case events.AssistantText() if not event.error and not event.parent:
                self.said = event.text
            case events.WaitStarted():
                self.waits.append(WaitView(event.why, moment(entry.at), None, 0.0, ""))
                self.wait_count += 1
                self._wait_began = entry.at
            case events.WaitEnded():
                self._end_wait(entry.at, event.by)
            case events.RunFinished():
                self._end_wait(entry.at, "end")
            case events.Warned():
                self.warnings.append(event)
            case events.VerificationStarted():
                green = before.claim.checked.checks[: event.green] if before.claim.checked is not None else ()
                known = tuple(map(_check, green))  # they need not run again
                dry_run, purpose = before.run.dry_run, before.run.purpose
                self.proofs.append(EvidenceView(self.run, event.claim, checks=known, dry_run=dry_run, purpose=purpose))
            case events.CheckFinished() | events.ReviewFinished() | events.VerificationFinished() if self.proofs:
                self.proofs[-1] = _add_to_proof(self.proofs[-1], event)
        if is_worth_a_line(event):
            self._recent.append((entry, before, after))

    def _end_wait(self, at: float, by: str) -> None:
        if self._wait_began is not None:
            took = max(0.0, at - self._wait_began)
            self.waits[-1] = replace(self.waits[-1], ended=moment(at), duration=round(took, 3), by=by)
            self.waited, self._wait_began = self.waited + took, None

    @property
    def last_proof(self) -> EvidenceView | None:
        """The last verification; None when there was none."""
        return self.proofs[-1] if self.proofs else None

    def waited_by(self, at: float) -> float:
        """Seconds of all waits up to the moment `at`; one under way has lasted until then."""
        return self.waited + (max(0.0, at - self._wait_began) if self._wait_began is not None else 0.0)

    @property
    def recent(self) -> list[Happening]:
        """The last things that happened, oldest first, as lines."""
        found = []
        for entry, before, after in self._recent:
            if line := sanitize_terminal(short_line(entry, before, after)):
                clock = local_times.whole(moment(entry.at)).rpartition(" ")[2]
                number = after.iteration or before.iteration
                found.append(Happening(entry.seq, clock, number, type(entry.event).__name__, line))
        return found

    @property
    def started(self) -> events.RunStarted | None:
        """The first event; None when the journal has lost it."""
        return self.state.started

    def elapsed(self, at: float) -> float:
        """The run's own clock at the moment `at`."""
        return self.last.elapsed + max(0.0, at - self.last.at) if self.last is not None else 0.0

    def now(self, at: float) -> Now:
        """What it does at the moment `at`. Our own entries, such as a request, are no signs of life of Claude."""
        elapsed, call = self.elapsed(at), self.state.call
        heard = self.heard_at or (self.last.at if self.last is not None else at)
        tool, since = call.open_tools[-1] if call is not None and call.open_tools else (None, elapsed)
        took = round(elapsed - since, 3) if tool is not None else None
        name = headline(tool) if tool is not None else None
        return Now(self.state.iteration, name, took, round(max(0.0, at - heard), 3))


class RunRecords:
    """The lock and the journals of a workspace. Each is read when it is asked for, and once."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._stories: dict[str, Story] = {}

    @cached_property
    def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return self.layout.run_ids()

    @cached_property
    def holder(self) -> Holder | None:
        """Who runs this workspace now."""
        return run_lock.holder(self.layout.lock)

    def is_under_way(self, run: str) -> bool:
        """The run holds the lock."""
        return self.holder is not None and self.holder.runs(run)

    def story(self, run: str) -> Story:
        """The story of one run. One whose journal has lost its beginning has not `started`."""
        if run not in self._stories:
            # Of a run without an end the last part is read whole: there stands what its last call did.
            self._stories[run] = Story(run, story_entries(self.layout.journal(run), _END))
        return self._stories[run]

    def newest(self, purposes: Collection[str] = ()) -> Story | None:
        """The newest run that has begun; of these purposes, if any are named: then without dry runs."""
        for run in reversed(self.runs):
            known = run in self._stories or not purposes
            started = self.story(run).started if known else journal_reader.beginning(self.layout.journal(run))
            if started is not None and (not purposes or (started.purpose in purposes and not started.dry_run)):
                return self.story(run)
        return None

    def evidence(self, about: Metadata) -> EvidenceView | None:
        """The newest evidence since the last reset: of the newest run, or of the run that the metadata names. A dry run
        is no evidence, and a `verify` that judged nothing leaves what stood before."""
        newest = self.newest()
        runs = [newest.run if newest is not None else "", about.verified_by]
        proofs = (self.story(run).last_proof for run in runs if run in self.runs and run > about.reset_after)
        found = [proof for proof in proofs if proof is not None and not proof.dry_run]
        counts = (one for one in found if one.is_judged or one.purpose == "run" or self.is_under_way(one.run))
        return next(counts, found[0] if found else None)


class CheckView(msgspec.Struct, frozen=True, rename="camel"):
    """One check. `exitCode` is null if it was ended before it finished; `cut` says why. `flaky`: its result is not the
    same as before, although nothing changed. `gone` are files of the check that existed when the run began."""

    command: str
    code: int | None = msgspec.field(name="exitCode")
    duration: float
    output: str
    cut: str
    flaky: bool = False
    gone: tuple[str, ...] = ()


class RequirementView(msgspec.Struct, frozen=True, rename="camel"):
    """A requirement of the instructions; `status` is met, not_met, not_checked, or empty: not clear. `shownBy` is the
    file that the reviewer read or the command that succeeded."""

    number: int
    text: str
    status: str
    evidence: str
    shown_by: str


class ReviewView(msgspec.Struct, frozen=True, rename="camel"):
    """The verdict of Claude's review; `report` is the path of its report."""

    verdict: str
    summary: str
    findings: tuple[str, ...]
    report: str
    cost_usd: float
    requirements: tuple[RequirementView, ...] = ()
    """Empty for a review without an answer."""


class EvidenceView(msgspec.Struct, frozen=True, rename="camel"):
    """One verification. `passed` is null if it did not finish, and in a dry run, which is no evidence;
    `tree` is git's name for what was proven."""

    run: str
    claim: int = 0
    passed: bool | None = None
    findings: str = ""
    tree: str = ""
    checks: tuple[CheckView, ...] = ()
    review: ReviewView | None = None
    dry_run: bool = False
    purpose: str = "run"
    """run, or verify, which needs no claim."""
    changes: tuple[ChangeView, ...] = ()

    @property
    def is_judged(self) -> bool:
        """It proves the work or refutes it."""
        return self.passed is not None and not has_no_verdict(self.findings)


def verdict(proof: EvidenceView) -> tuple[str, Tone]:
    """What a verification came to, in words and in the colour of its tone: of a claim, or of `verify`, which looks for
    itself. A proof that was changed proves nothing."""
    if proof.passed is None:
        return "not judged", "plain"
    if has_no_verdict(proof.findings):
        return "the review gave no verdict", "warning"
    if proof.passed and proof.changes:
        rests_on = proof_of(bool(proof.checks), proof.review is not None)
        return changed_proof(rests_on, [change.path for change in proof.changes]), "warning"
    if proof.purpose == "run":
        return ("the claim holds", "good") if proof.passed else ("the claim does not hold", "bad")
    return ("the task is done", "good") if proof.passed else ("the task is not done", "bad")


def _add_to_proof(
    proof: EvidenceView, event: events.CheckFinished | events.ReviewFinished | events.VerificationFinished
) -> EvidenceView:
    """The verification after one more event of it."""
    match event:
        case events.CheckFinished():
            return replace(proof, checks=(*proof.checks, _check(event)))
        case events.ReviewFinished():
            return replace(proof, review=msgspec.convert(event, ReviewView, from_attributes=True))
    return replace(
        proof,
        passed=None if proof.dry_run else event.passed,
        checks=tuple(replace(check, flaky=check.command in event.flaky) for check in proof.checks),
        findings=event.findings,
        tree=event.tree,
        changes=changes(event.changes),
    )


def _check(check: events.CheckFinished) -> CheckView:
    return CheckView(check.command, check.code, round(check.duration, 3), check.output, check.cut, gone=check.gone)
