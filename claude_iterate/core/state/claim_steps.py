"""Steps of the fold about claims of completion: what defines their proof, their checks, and what came of them."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.events.groups import Claim, Verification
from claude_iterate.core.reports.review import INCOMPLETE, VERIFIED
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.run_state import RunState

THE_REVIEW = ""
"""Where the results of the checks have what the last review said: no check has this command."""

_OTHER_TEXT = (
    "Your report `complete: true` did not count, because the instructions were changed since."
    " Read them again, and bring TODO.md in line with them."
)

CUT_OFF = (
    "Your report `complete: true` did not count, because the session that wrote it did not come to its own end."
    " Look whether every requirement holds, then report again."
)
"""What the next prompt says after a claim without a proof, in an iteration that was cut off."""


def checking(
    state: RunState,
    event: events.ProofDefined | events.ProofTestsCounted | events.VerificationStarted | events.CheckFinished,
) -> RunState:
    """What defines the proof (its tests are counted a little later), its beginning, a check."""
    match event:
        case events.ProofDefined():
            return replace(state, defined=event, changes=event.changes)
        case events.ProofTestsCounted():
            before = state.defined or events.ProofDefined()
            return replace(state, defined=replace(before, files={**before.files, "test": event.files}))
        case events.VerificationStarted():
            # A run makes its claim in an iteration; `verify` has only the task as it finds it.
            claim = replace(state.claim, task=event.task or state.claim.task, verification=Verification(event))
            return replace(state, claim=claim if event.green else replace(claim, flaky=(), checked=None))
        case events.CheckFinished():
            return _checked(state, event)


def _checked(state: RunState, event: events.CheckFinished) -> RunState:
    """A check that ends in another way than before on the same project is flaky. One that was stopped says nothing."""
    claim = state.claim
    if claim.verification is not None:
        checks = (*claim.verification.checks, event)
        claim = replace(claim, verification=replace(claim.verification, checks=checks))
        state = replace(state, claim=claim)
    if event.cut in {Cause.STOPPED, Cause.DURATION} or not event.project:
        return state
    now, before = events.CheckResult(event.code == 0, event.project), claim.results.get(event.command)
    differs = before is not None and before.project == now.project and before.green != now.green
    flaky = (*claim.flaky, event.command) if differs and event.command not in claim.flaky else claim.flaky
    return replace(state, claim=replace(claim, results={**claim.results, event.command: now}, flaky=flaky))


def claim_after_review(state: RunState, event: events.ReviewFinished) -> Claim:
    """The claim after its review. What it said of which project is remembered, over claims and runs."""
    claim = state.claim
    if claim.verification is not None:
        said_no = bool(event.project) and claim.results.get(THE_REVIEW) == events.CheckResult(False, event.project)
        wavered = said_no and event.verdict == VERIFIED
        verification = replace(claim.verification, review=event, wavered=wavered)
        # One that could not be held is tried again later, as a proof of its own.
        claim = replace(claim, verification=verification if event.outcome is None else None)
    if not event.project or event.verdict not in {VERIFIED, INCOMPLETE}:
        return claim
    said = events.CheckResult(event.verdict == VERIFIED, event.project)
    return replace(claim, results={**claim.results, THE_REVIEW: said})


def judged(state: RunState, event: events.ChecksPassed | events.VerificationFinished | events.ClaimDropped) -> RunState:
    """Only a proof that came to its end spends a claim."""
    if isinstance(event, events.ChecksPassed):
        verification = None if event.review_waits else state.claim.verification
        return replace(state, claim=replace(state.claim, checked=event, verification=verification))
    if isinstance(event, events.ClaimDropped):
        return _dropped(state, event)
    refuted = None if event.passed else event
    claim = replace(state.claim, judged=event.claim, proof=event, checked=None, refuted=refuted, verification=None)
    status = standing(state, claim=event.passed)
    odd = f"About your report: {'; '.join(claim.problems)}." if refuted is not None and claim.problems else ""
    findings = "\n\n".join(filter(None, (event.findings, odd)))
    return replace(state, claim=claim, findings=findings, status=status, changes=event.changes)


def run_finished(state: RunState, event: events.RunFinished) -> RunState:
    """The end. What changed is known only where it was looked at."""
    status = standing(state, claim=event.reason == "completed")
    changes = event.changes if state.defined is not None else state.changes
    return replace(state, finished=event, status=status, changes=changes)


def standing(state: RunState, *, claim: bool) -> Status | None:
    """The last report that stands: where a claim does not count, the one before it."""
    is_claim = state.status is not None and state.status.complete
    return state.unclaimed if is_claim and not claim else state.status


def reported(state: RunState, status: Status | None) -> RunState:
    """What the agent says of its progress now."""
    is_claim = status is not None and status.complete
    return replace(state, status=status, unclaimed=state.unclaimed if is_claim else status)


def _dropped(state: RunState, event: events.ClaimDropped) -> RunState:
    """The claim does not count: it and all that was looked at for it are forgotten."""
    claim = replace(state.claim, proof=None, checked=None, flaky=(), task="", verification=None)
    said = f"{CUT_OFF}\n{state.findings}".strip() if event.cut else event.findings or _OTHER_TEXT
    return replace(state, last_status=None, status=standing(state, claim=False), claim=claim, findings=said)
