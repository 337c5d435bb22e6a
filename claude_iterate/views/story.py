"""The story of one run: what its journal says, folded once, for every reader.

`show` and `history` start here, and so does every later view; none folds a journal in a way of its own.

How to use it:

    followed = FollowedJournal(layout, run)     # nothing is read yet
    followed.read()                             # all that was added since the last time; True if there was anything
    story = followed.story
    story.condition(alive=True)                 # one word: running, verifying, waiting, ..., then the reason
    story.state                                 # RunState: cost, tokens, streaks, work, session, requests
    story.rows.every()                          # one Row for each iteration, the call under way included
    story.evidence.proofs                       # claims and their proof; story.evidence.last
    story.waits, story.recent, story.said       # waits, the last things that happened as lines, Claude's last words
    story.warnings                              # what the run warned of
    story.now(time.time())                      # what Claude is busy with, and since when
    story.windows                               # usage windows by name: how full, when they reset

`told(run, entries)` makes the story of a run that is over from its entries. Whether a run is alive is not in its
journal: `run_lock.holder(layout.lock)` knows. Money and tokens of a dry run are made up: `summarise` and `history_view`
leave them out. Texts are shortened in the journal; `views/full_texts.py` has them whole, where `raw/` is kept.

Memory does not grow with the journal: a row per iteration, and the last of everything else.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import get_args

import msgspec
from msgspec.structs import asdict, replace

from claude_iterate.core import events
from claude_iterate.core.rules.completion import changed_proof
from claude_iterate.core.rules.proof import proof_of
from claude_iterate.core.state import condition as conditions
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import reduce
from claude_iterate.core.tones import Tone
from claude_iterate.text.event_lines import is_worth_a_line, short_line
from claude_iterate.text.tool_lines import headline
from claude_iterate.views.iteration_rows import IterationRows
from claude_iterate.workspace.journal.follower import JournalFollower
from claude_iterate.workspace.journal.reader import story_entries
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import ChangeView, changes

RECENT = 200
"""How many of the last things that happened are kept."""
_WAITS = 200
_WARNINGS = 20
_WHOLE = 256 * 1024
_HEARD = frozenset({events.AgentStarted, *get_args(events.StreamEvent)})
"""Events that Claude causes."""


class Happening(msgspec.Struct, frozen=True):
    """Something that happened, as a line. `event` is the name of its event, `iteration` 0 between iterations."""

    seq: int
    at: float
    iteration: int
    event: str
    line: str


class Words(msgspec.Struct, frozen=True):
    """What Claude said; `cut` characters are missing, because the journal is abridged."""

    at: float
    iteration: int
    text: str
    cut: int


class PastWait(msgspec.Struct, frozen=True):
    """A wait: what for, when it began, until when it was planned, when it ended (None: it goes on) and by what."""

    why: str
    began: float
    until: float
    ended: float | None = None
    by: str = ""


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

    def __init__(self, run: str) -> None:
        self.run = run
        self.state = RunState()
        self.rows = IterationRows(run)
        self.evidence = Evidence(run)
        self.waits: deque[PastWait] = deque(maxlen=_WAITS)
        self.wait_count = 0
        self.waited = 0.0
        """Seconds of all waits that are over."""
        self.outcomes: Counter[str] = Counter()
        """How many calls for iterations ended in each way."""
        self._recent: deque[tuple[events.Entry, RunState, RunState]] = deque(maxlen=RECENT)
        self.warnings: deque[events.Warned] = deque(maxlen=_WARNINGS)
        self.said: Words | None = None
        self.heard_at = 0.0
        """When Claude was last heard."""
        self.last: events.Entry | None = None

    def take(self, entry: events.Entry) -> None:
        """One more entry."""
        before, event = self.state, entry.event
        after = self.state = reduce(before, entry)
        self.rows.take(entry, before, after)
        self.last = entry
        if type(event) in _HEARD:
            self.heard_at = entry.at
        if isinstance(event, events.Said):
            if not event.error and not event.parent:
                self.said = Words(entry.at, after.iteration, event.text, event.cut)
        else:
            self._note(entry)
        if is_worth_a_line(event):
            self._recent.append((entry, before, after))

    def _note(self, entry: events.Entry) -> None:
        """What the run itself did."""
        event = entry.event
        self.evidence.take(event)
        if isinstance(event, events.WaitStarted):
            self.waits.append(PastWait(event.why, entry.at, event.until))
            self.wait_count += 1
        elif isinstance(event, events.WaitEnded | events.RunFinished):
            self._end_wait(entry.at, event.by if isinstance(event, events.WaitEnded) else "end")
        elif isinstance(event, events.Warned):
            self.warnings.append(event)
        elif isinstance(event, events.IterationFinished):
            self.outcomes[str(event.outcome.kind)] += 1

    def _end_wait(self, at: float, by: str) -> None:
        if self.waits and self.waits[-1].ended is None:
            self.waited += max(0.0, at - self.waits[-1].began)
            self.waits[-1] = replace(self.waits[-1], ended=at, by=by)

    def waited_by(self, at: float) -> float:
        """Seconds of all waits up to the moment `at`; one that goes on has lasted until then."""
        open_wait = self.waits[-1] if self.waits and self.waits[-1].ended is None else None
        return self.waited + (max(0.0, at - open_wait.began) if open_wait is not None else 0.0)

    @property
    def recent(self) -> list[Happening]:
        """The last things that happened, oldest first, as lines."""
        return [
            Happening(entry.seq, entry.at, after.iteration or before.iteration, type(entry.event).__name__, line)
            for entry, before, after in self._recent
            if (line := short_line(entry, before, after))
        ]

    @property
    def started(self) -> events.RunStarted | None:
        """The first event; None when the journal has lost it."""
        return self.state.started

    @property
    def windows(self) -> Mapping[str, events.LimitReported]:
        """The usage windows that are known, by name."""
        return self.state.waiting.windows

    def condition(self, *, alive: bool) -> str:
        """What the run is doing, in one word. `alive`: a process holds the lock of the workspace for it."""
        return conditions.condition(self.state, alive=alive)

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


def read_story(layout: Layout, run: str) -> Story:
    """The story of a run as its journal has it now. Of one without an end the last part is read whole: only there
    stands what its last call did and when it was last heard of."""
    return told(run, story_entries(layout.journal(run), _WHOLE))


def told(run: str, entries: Iterable[events.Entry]) -> Story:
    """The story of these entries."""
    found = Story(run)
    for entry in entries:
        found.take(entry)
    return found


WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that are read whole. Of what lies before them only the milestones are: what Claude
said hours ago has no effect on any figure."""


class FollowedJournal:
    """One journal and its story so far."""

    def __init__(self, layout: Layout, run: str, whole: int = WHOLE) -> None:
        self.journal = JournalFollower(layout.journal(run), whole)
        self.story = Story(run)

    def read(self, pieces: int = 0) -> bool:
        """Take what was added since the last time; True if there was anything. `pieces` as in `JournalFollower`."""
        before = self.story.last
        for entry in self.journal.entries(pieces):
            self.story.take(entry)
        return self.story.last is not before


_KEPT = 100
"""Verifications of a run that are kept."""


class CheckView(msgspec.Struct, frozen=True, rename="camel"):
    """One check. `exit_code` is null when it was ended before its end; `cut` says why. `flaky`: it ended in another way
    before, although nothing changed. `gone` are files of it that were there when the run began."""

    command: str
    exit_code: int | None
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
    """Empty for a review in prose, by an agent that does not know our schema."""


class EvidenceView(msgspec.Struct, frozen=True, rename="camel"):
    """One verification. `passed` is null when it did not come to its end, and in a dry run, which is no evidence;
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
    """run, or verify: then there need not be a claim."""
    changes: tuple[ChangeView, ...] = ()
    wavered: bool = False
    """The review says yes after saying no, and nothing changed in between."""


class Verdict(msgspec.Struct, frozen=True):
    """What a verification came to, in words and in the colour of its tone."""

    words: str
    tone: Tone


def verdict(proof: EvidenceView) -> Verdict:
    """Of a claim, or of `verify`, which looks for itself. A proof that was changed proves nothing."""
    if proof.passed is None:
        return Verdict("not judged", "plain")
    if proof.passed and proof.changes:
        rests_on = proof_of(bool(proof.checks), proof.review is not None)
        return Verdict(changed_proof(rests_on, [change.path for change in proof.changes]), "warning")
    if proof.purpose == "run":
        return Verdict("the claim holds", "good") if proof.passed else Verdict("the claim does not hold", "bad")
    return Verdict("the task is done", "good") if proof.passed else Verdict("the task is not done", "bad")


class Evidence:
    """The verifications of one run, folded entry by entry; the last ones are kept."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._green: tuple[events.CheckFinished, ...] = ()
        self._dry_run, self._purpose = False, "run"
        self.proofs: deque[EvidenceView] = deque(maxlen=_KEPT)

    @property
    def last(self) -> EvidenceView | None:
        """The last verification; None when there was none."""
        return self.proofs[-1] if self.proofs else None

    def take(self, event: events.Event) -> None:
        """One more event."""
        if isinstance(event, events.RunStarted):
            self._dry_run, self._purpose = event.dry_run, str(event.purpose)
            self._green = event.resumed.claim.checked.checks if event.resumed and event.resumed.claim.checked else ()
        elif isinstance(event, events.VerificationStarted):
            known = tuple(map(_check, self._green[: event.green]))  # they need not run again
            found = EvidenceView(self._run, event.claim, checks=known, dry_run=self._dry_run, purpose=self._purpose)
            self.proofs.append(found)
        elif isinstance(event, events.ChecksPassed):
            self._green = event.checks
        elif self.proofs:
            self.proofs[-1] = _told(self.proofs[-1], event)


def _told(found: EvidenceView, event: events.Event) -> EvidenceView:
    match event:
        case events.CheckFinished():
            return replace(found, checks=(*found.checks, _check(event)))
        case events.ReviewFinished():
            return replace(found, review=_review(event))
        case events.VerificationFinished():
            return _judged(found, event)
    return found


def _judged(found: EvidenceView, judged: events.VerificationFinished) -> EvidenceView:
    checks = tuple(replace(check, flaky=check.command in judged.flaky) for check in found.checks)
    passed = None if found.dry_run else judged.passed
    told = {"findings": judged.findings, "tree": judged.tree, "changes": changes(judged.changes)}
    return replace(found, passed=passed, checks=checks, wavered=judged.wavered, **told)


def _check(check: events.CheckFinished) -> CheckView:
    return CheckView(check.command, check.code, round(check.duration, 3), check.output, check.cut, gone=check.gone)


def _review(event: events.ReviewFinished) -> ReviewView:
    rows = tuple(RequirementView(**asdict(one)) for one in event.requirements)
    return ReviewView(event.verdict, event.summary, event.findings, event.report, event.cost_usd, rows)
