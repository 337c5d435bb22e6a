"""Steps of the fold about claims of completion: what defines their proof, their checks, and the results."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.events.run import Claim, Verification
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.run_state import RunState

_OTHER_TEXT = (
    "Your report `complete: true` did not count, because the instructions have changed since."
    " Read them again, and bring TODO.md in line with them."
)

CUT_OFF = (
    "Your report `complete: true` did not count, because the session that wrote it was cut off."
    " Check whether every requirement holds, then report again."
)
"""What the next prompt says after a claim without a proof, in an iteration that was cut off."""


def on_proof_tests_counted(state: RunState, event: events.ProofTestsCounted, _entry: events.Entry) -> RunState:
    """Its tests are counted a little later."""
    before = state.defined or events.ProofDefined()
    return replace(state, defined=replace(before, files={**before.files, "test": event.files}))


def on_verification_started(state: RunState, event: events.VerificationStarted, _entry: events.Entry) -> RunState:
    """A run makes its claim in an iteration; `verify` has only the task as it finds it."""
    claim = replace(state.claim, task=event.task or state.claim.task, verification=Verification(event))
    return replace(state, claim=claim if event.green else replace(claim, flaky=(), checked=None))


def on_check_finished(state: RunState, event: events.CheckFinished, _entry: events.Entry) -> RunState:
    """A check that ends in another way than before on the same project is flaky. One that was stopped says nothing."""
    claim = state.claim
    if claim.verification is not None:
        checks = (*claim.verification.checks, event)
        claim = replace(claim, verification=replace(claim.verification, checks=checks))
    if event.cut in {Cause.STOPPED, Cause.DURATION} or not event.project:
        return replace(state, claim=claim)
    now, before = events.CheckResult(event.code == 0, event.project), claim.results.get(event.command)
    differs = before is not None and before.project == now.project and before.green != now.green
    flaky = (*claim.flaky, event.command) if differs and event.command not in claim.flaky else claim.flaky
    return replace(state, claim=replace(claim, results={**claim.results, event.command: now}, flaky=flaky))


def on_checks_passed(state: RunState, event: events.ChecksPassed, _entry: events.Entry) -> RunState:
    """All checks passed. A review that has to wait is a proof of its own."""
    verification = None if event.review_waits else state.claim.verification
    return replace(state, claim=replace(state.claim, checked=event, verification=verification))


def claim_after_review(claim: Claim, event: events.ReviewFinished) -> Claim:
    """The claim after its review. One that could not run is tried again later, as a proof of its own."""
    verification = claim.verification
    if verification is None:
        return claim
    return replace(claim, verification=replace(verification, review=event) if event.outcome is None else None)


def on_verification_finished(state: RunState, event: events.VerificationFinished, _entry: events.Entry) -> RunState:
    """Only a proof that finished spends a claim."""
    refuted = None if event.passed else event
    claim = replace(state.claim, judged=event.claim, proof=event, checked=None, refuted=refuted, verification=None)
    odd = f"About your report: {'; '.join(claim.problems)}." if refuted is not None and claim.problems else ""
    findings = "\n\n".join(filter(None, (event.findings, odd)))
    status = standing_report(state, claim=event.passed)
    return replace(state, claim=claim, findings=findings, status=status, changes=event.changes)


def on_claim_dropped(state: RunState, event: events.ClaimDropped, _entry: events.Entry) -> RunState:
    """The claim does not count: it and its evidence are forgotten."""
    said = f"{CUT_OFF}\n{state.findings}".strip() if event.cut else event.findings or _OTHER_TEXT
    status = standing_report(state, claim=False)
    return replace(state, last_status=None, status=status, claim=without_proof(state.claim), findings=said)


def on_run_finished(state: RunState, event: events.RunFinished, _entry: events.Entry) -> RunState:
    """The end. What changed is known only where it was measured."""
    status = standing_report(state, claim=event.reason == "completed")
    changes = event.changes if state.defined is not None else state.changes
    return replace(state, finished=event, status=status, changes=changes)


def without_proof(claim: Claim, task: str = "") -> Claim:
    """Nothing is known yet of the next claim, which is about these instructions."""
    return replace(claim, proof=None, checked=None, flaky=(), task=task, verification=None)


def claim_is_open(state: RunState) -> bool:
    """The last iteration reported that all is done, and that has not been judged yet: it is being verified, unless the
    run waits to do so or ends."""
    return state.last_status is not None and state.last_status.complete and state.proof is None


def standing_report(state: RunState, *, claim: bool) -> Status | None:
    """The last report that stands: where a claim does not count, the one before it."""
    is_claim = state.status is not None and state.status.complete
    return state.unclaimed if is_claim and not claim else state.status


def with_report(state: RunState, status: Status | None) -> RunState:
    """What the agent says of its progress now."""
    is_claim = status is not None and status.complete
    return replace(state, status=status, unclaimed=state.unclaimed if is_claim else status)
