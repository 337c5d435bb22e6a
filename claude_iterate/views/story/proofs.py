"""The proofs of a run: for each verification which checks ran, how they ended, what the review said."""

from __future__ import annotations

from collections import deque

import msgspec
from msgspec.structs import asdict, replace

from claude_iterate.core import events
from claude_iterate.core.rules.proving import changed_proof, proof_of
from claude_iterate.core.tones import Tone
from claude_iterate.workspace.run_summary import ChangeView, changes

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
