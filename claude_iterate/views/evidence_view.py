"""The evidence of the last verification in a journal: which checks ran, how they ended, what the review said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.views.run_view import Recorded
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.run_summary import ChangeView, changes
from claude_iterate.workspace.metadata import VERIFIED_BY, Metadata

_LOOKED_AT = 3
"""Journals that are searched when nothing says which run verified last."""


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
    """A requirement of the instructions; `status` is met, not_met, not_checked, or empty: not clear."""

    number: int
    text: str
    status: str
    evidence: str


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


def of_run(layout: Layout, run: str) -> EvidenceView | None:
    """The last verification of a run; None when there was none."""
    return of_entries(run, reader.milestones(layout.journal(run)))


def of_entries(run: str, entries: Iterable[events.Entry]) -> EvidenceView | None:
    """The last verification in these entries."""
    found: EvidenceView | None = None
    green: tuple[events.CheckFinished, ...] = ()
    dry_run, purpose = False, "run"
    for entry in entries:
        match entry.event:
            case events.RunStarted() as started:
                dry_run, purpose = started.dry_run, str(started.purpose)
                green = started.resumed.checked.checks if started.resumed and started.resumed.checked else ()
            case events.VerificationStarted() as begun:
                known = tuple(map(_check, green[: begun.green]))  # they need not run again
                found = EvidenceView(run, begun.claim, checks=known, dry_run=dry_run, purpose=purpose)
            case events.CheckFinished() as check if found is not None:
                found = replace(found, checks=(*found.checks, _check(check)))
            case events.ChecksPassed(_, _, green):
                pass
            case events.ReviewFinished() as review if found is not None:
                found = replace(found, review=_review(review))
            case events.VerificationFinished() as judged if found is not None:
                found = _judged(found, judged)
    return found


def _judged(found: EvidenceView, judged: events.VerificationFinished) -> EvidenceView:
    checks = tuple(replace(check, flaky=check.command in judged.flaky) for check in found.checks)
    passed = None if found.dry_run else judged.passed
    told = {"findings": judged.findings, "tree": judged.tree, "changes": changes(judged.changes)}
    return replace(found, passed=passed, checks=checks, **told)


def _check(check: events.CheckFinished) -> CheckView:
    return CheckView(check.command, check.code, round(check.duration, 3), check.output, check.cut, gone=check.gone)


def _review(event: events.ReviewFinished) -> ReviewView:
    rows = tuple(RequirementView(one.number, one.text, one.status, one.evidence) for one in event.requirements)
    return ReviewView(event.verdict, event.summary, event.findings, event.report, event.cost_usd, rows)


def newest(layout: Layout, about: Metadata, last: Recorded | None) -> EvidenceView | None:
    """The newest evidence: of the newest run, or of the run that the metadata names. The number of runs does not
    matter: it costs the same after a thousand. A dry run is no evidence."""
    found = _real(of_entries(last.view.id, last.milestones)) if last is not None else None
    candidates = iter(()) if found is not None or last is None else _candidates(layout, about)
    return found or next((proof for run in candidates if (proof := _real(of_run(layout, run))) is not None), None)


def _real(found: EvidenceView | None) -> EvidenceView | None:
    return found if found is not None and not found.dry_run else None


def _candidates(layout: Layout, about: Metadata) -> Iterator[str]:
    """Runs that may have verified, newest first. Workspaces of older versions do not say which one did, only whether
    one did; then all of them are candidates."""
    runs = layout.run_ids()[-2::-1]
    noted = about.document.get("verification")
    noted = noted if isinstance(noted, dict) else {}
    named = noted.get(VERIFIED_BY)
    started = reader.beginning(layout.journal(named)) if named in runs else None
    if started is not None and started.dry_run:  # noted by an earlier version
        yield from runs[:_LOOKED_AT]
    elif named in runs:
        # A run that goes on with a killed one may have taken over its proof: then the evidence is there.
        yield from runs[runs.index(named) :][:_LOOKED_AT]
    elif named is None and noted.get("lastVerificationStatus"):
        yield from runs
    else:
        yield from runs[:_LOOKED_AT]
