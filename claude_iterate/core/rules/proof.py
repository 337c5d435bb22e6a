"""Rules about a claim of completion: whether it still stands, how it is proven step by step, what its failure means."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from claude_iterate.core.events import (
    CheckFinished,
    ChecksPassed,
    ClaimDropped,
    ProofChange,
    ReviewFinished,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.events.run import Verification
from claude_iterate.core.fingerprints import UNREADABLE, checksum, is_same_task
from claude_iterate.core.formats import join_names, plural
from claude_iterate.core.outcomes.classes import ENDING_FAILURES
from claude_iterate.core.reports.review import INVALID, VERIFIED
from claude_iterate.core.rules import breaker, waits
from claude_iterate.core.rules.facts import Facts, Inspection
from claude_iterate.core.rules.next_steps import ACCEPT
from claude_iterate.core.rules.verdicts import Finish, HoldReview, JudgeClaim, RunCheck, Verdict, Verify, Wait
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tampering.descriptions import describe_all

NO_VERDICT = "The review gave no verdict"
"""What a finding begins with when nothing is known to be missing, and nothing is proven."""
CHECKS, REVIEW, BOTH = "checks", "review", "checks_and_review"
"""How it is known that a task is done, where it is proven; `tones.UNPROVEN` has the others."""
CANNOT_RUN = {126: "it cannot be executed", 127: "it was not found"}
"""Exit codes of a shell that could not run a program, and what they mean."""
_LISTED = 20
"""Files that are named, of those that the checks changed."""
TAMPERED = "This defines the proof and was changed"
_CLAUDE_CANNOT = frozenset({Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AWAY}) | ENDING_FAILURES
"""After these Claude cannot be called for a review: other rules say what is next."""


def claim_is_outdated(state: RunState, facts: Facts) -> Verdict | None:
    """INSTRUCTIONS.md no longer has the text that the claim or its proof is about: the claim is dropped, and the next
    iteration gets the new text."""
    claims = facts.only_verify or (state.last_status is not None and state.last_status.complete)
    stands = claims and (state.proof is None or state.proof.passed)
    if not stands or not state.claim.task or not facts.task or is_same_task(state.claim.task, facts.task):
        return None
    lost = facts.task == UNREADABLE
    return ClaimDropped(f"INSTRUCTIONS.md {'can no longer be read' if lost else 'has another text now'}")


def claim_was_cut_off(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` in an iteration that was cut off (a time-out, a skip, a crash), and no proof
    is wanted: the claim is dropped, and the next prompt asks Claude to check the work and report again. A claim after
    which the API refused everything (a limit, an overload, a lost login) counts."""
    claims = state.last_status is not None and state.last_status.complete
    if not claims or state.claim.sound or facts.proof_wanted:
        return None
    return ClaimDropped("the iteration that made it was cut off, and no proof is wanted", cut=True)


def claim_must_be_proven(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` and checks or a review are wanted: begin the proof. Checks need no Claude, so
    no limit, overload, lost login or spent money delays them. A review begins when Claude can be called, but not if
    the money is spent: **budget**."""
    if state.proof is not None or not (facts.only_verify or (facts.proof_wanted and claim_is_open(state))):
        return None
    if state.last_outcome is not None and state.last_outcome.kind == Kind.REBOOTED:
        return None  # the user wants this iteration again
    cannot = state.wait is not None or (state.last_outcome is not None and state.last_outcome.kind in _CLAUDE_CANNOT)
    if state.paused and not facts.only_verify:
        return None if cannot else Wait(float("inf"))  # a proof costs time and money, and the user said to hold
    claim = state.claim.judged + 1
    if not facts.review_wanted:
        return Verify(claim)
    obstacle = None if cannot else _obstacle(state, facts)
    if not cannot and obstacle is None:
        return Verify(claim, review=True)
    return obstacle if checks_are_green(state, facts) else Verify(claim)


def _obstacle(state: RunState, facts: Facts) -> Verdict | None:
    return (
        breaker.money_is_spent(state, facts) or waits.pace_is_reached(state, facts) or waits.outside_hours(state, facts)
    )


def checks_are_green(state: RunState, facts: Facts) -> bool:
    """Only the review is left to do for this claim: all checks that are wanted passed."""
    wanted, checked = facts.settings.verification.checks, state.claim.checked
    return not wanted or (checked is not None and checked.digest == digest(wanted))


def digest(checks: Sequence[str]) -> str:
    """Names these checks. Their commands do not, because secrets in them are masked when they are recorded."""
    return checksum("\0".join(checks).encode("utf-8", "replace"))


def proof_failed(state: RunState, facts: Facts) -> Verdict | None:
    """The proof failed, and `verification.max_attempts` claims were made or `resume_on_fail` is off:
    **verification_failed**."""
    if state.proof is None or state.proof.passed:
        return None
    verification = facts.settings.verification
    allowed = verification.max_attempts if verification.resume_on_fail else 1
    if state.claim.judged < allowed and not facts.only_verify:
        return None
    line = facts.command_line
    step = line.about("run") if facts.only_verify and not has_no_verdict(state.proof.findings) else ""
    if state.proof.changes and facts.refuses_tampering:  # no claim can hold as it is
        step = line.repeat((ACCEPT,))
    gave_up = f"It gave up after {plural(allowed, 'failed claim')} (`verification.max_attempts`). "
    advice = f"{'' if facts.only_verify else gave_up}See the evidence: {line.about('show')}"
    return Finish("verification_failed", state.proof.findings, advice, next=step)


def proof_was_changed(state: RunState, facts: Facts) -> Verdict | None:
    """Something that defines the proof was changed, and no claim holds with such a change: checks and review would say
    nothing, so the claim is judged."""
    return JudgeClaim() if _inspection(facts).tampering else None


def check_is_next(state: RunState, facts: Facts) -> Verdict | None:
    """A check has not run yet: run it."""
    verification, commands = _verification(state), facts.settings.verification.checks
    number = len(verification.checks)
    wanted = verification.started.checks
    return RunCheck(commands[number], last=number + 1 == wanted) if number < wanted else None


def check_has_failed(state: RunState, facts: Facts) -> Verdict | None:
    """A check failed: a review of such work would only cost money, so the claim is judged."""
    return JudgeClaim() if any(check.code != 0 for check in _verification(state).checks) else None


def checks_changed_the_project(state: RunState, facts: Facts) -> Verdict | None:
    """The first check must see what the last one left, so all run once more. If they change the project again, the
    claim is judged."""
    started, changed = _verification(state).started, _inspection(facts).changed
    if not changed:
        return None
    if started.changed:
        return JudgeClaim()
    commands = facts.settings.verification.checks
    return VerificationStarted(started.claim, len(commands), started.review, changed=changed[:_LISTED])


def checks_have_passed(state: RunState, facts: Facts) -> Verdict | None:
    """The checks passed and a review is wanted: record it, so that they need not run again if the review has to wait
    or the run is killed."""
    verification = _verification(state)
    if not facts.review_wanted or not verification.checks or state.claim.checked is not None:
        return None
    names, review_waits = digest(facts.settings.verification.checks), not verification.started.review
    passed = tuple(replace(check, output="") for check in verification.checks)
    return ChecksPassed(names, passed, _inspection(facts).project, review_waits)


def review_is_next(state: RunState, facts: Facts) -> Verdict | None:
    """A review is wanted: run it."""
    verification = _verification(state)
    depth = verification.started.review
    return HoldReview(depth) if depth and verification.review is None else None


def evidence_is_complete(state: RunState, facts: Facts) -> Verdict | None:
    """Otherwise: the claim is judged."""
    return JudgeClaim()


def start_verification(state: RunState, facts: Facts, verdict: Verify, project: str, task: str) -> VerificationStarted:
    """How the proof of a claim begins. Checks that passed before a wait need not run again if the project is still the
    same; `task` is the identity of the instructions."""
    settings, checked = facts.settings.verification, state.claim.checked
    same = checked is not None and bool(project) and checked.project == project and checks_are_green(state, facts)
    return VerificationStarted(
        verdict.claim,
        checks=0 if same else len(settings.checks),
        review=settings.depth if verdict.review else "",
        green=len(checked.checks) if checked is not None and same else 0,
        # A run makes its claim in an iteration; `verify` proves what it finds.
        task=task if facts.only_verify else "",
    )


def judge(state: RunState, facts: Facts, changes: tuple[ProofChange, ...]) -> VerificationFinished:
    """The result of the proof. `changes` is what changed, since the run began, of that which defines it."""
    verification, inspection, flaky = _verification(state), _inspection(facts), state.claim.flaky
    findings: list[Finding] = [] if inspection.tampering else _find_gaps(verification, facts)
    if changes and facts.refuses_tampering:
        findings.append((tampering(changes), ""))
    remarks = [flaky_check(command) for command in flaky] if findings else []
    checks = bool(facts.settings.verification.checks)
    return VerificationFinished(
        verification.started.claim,
        passed=not findings,
        findings="\n\n".join([*(text for text, _ in findings), *remarks]),
        tree=inspection.tree,
        known_by="" if inspection.tampering else proof_of(checks, bool(verification.started.review)),
        flaky=flaky,
        changes=changes,
        detail=findings[0][1] if findings else "",
        advice="\n".join(filter(None, (_advice_on_check(check, facts) for check in verification.checks))),
    )


def _verification(state: RunState) -> Verification:
    assert state.claim.verification is not None
    return state.claim.verification


def _inspection(facts: Facts) -> Inspection:
    assert facts.inspection is not None
    return facts.inspection


Finding = tuple[str, str]
"""Why a claim does not hold: the text for the next prompt, and in short the first thing that the review misses or the
last line that the check printed."""


def _find_gaps(verification: Verification, facts: Facts) -> list[Finding]:
    red = [_check_finding(check, facts) for check in verification.checks if check.code != 0]
    if red:
        return red
    if verification.started.changed and (changed := _inspection(facts).changed):
        return [(checks_change_the_project(changed), "")]
    review = verification.review
    return [] if review is None or review.verdict == VERIFIED else [_review_finding(review)]


def _check_finding(check: CheckFinished, facts: Facts) -> Finding:
    name = f"The check `{check.command}`"
    if check.code is None and not check.cut:
        return f"{name} could not be started: {check.output}", ""
    how = f"failed with exit code {check.code}"
    if check.cut:
        late = check.cut == Cause.TIMEOUT
        most = facts.settings.verification.check_timeout
        how = f"did not end within {most:.0f} seconds" if late else "was stopped"
    gone = f" It uses {join_names(check.gone)}: there when the run began, gone now." if check.gone else ""
    last_line = next((line for line in reversed(check.output.splitlines()) if line.strip()), "")
    return f"{name} {how}.{gone} The end of its output:\n{check.output}", last_line


def _advice_on_check(check: CheckFinished, facts: Facts) -> str:
    """For the user: the work may be done, and the check cannot show it."""
    line, most = facts.command_line, facts.settings.verification.check_timeout
    if check.cut == Cause.TIMEOUT:
        longer = line.configure("verification.check_timeout", f"{2 * most:.0f}s")
        return f"If the check `{check.command}` needs more than {most:.0f} seconds: {longer}"
    if check.code in CANNOT_RUN:
        remove = line.configure("verification.checks", "--remove", check.command)
        why = f"The check `{check.command}` may be wrong itself ({CANNOT_RUN[check.code]})"
        return f"{why}. Remove it, then add the right one: {remove}"
    return ""


def _review_finding(review: ReviewFinished) -> Finding:
    """A review that does not verify, as the next prompt and the end show it."""
    if review.verdict == INVALID:
        return f"{NO_VERDICT}: {review.summary}", ""
    count = len(review.findings)
    first = f"The review found {plural(count, 'thing')} missing." if count else "The review found the work incomplete."
    numbered = [f"{number}. {item}" for number, item in enumerate(review.findings, 1)]
    said = "\n".join(filter(None, (first, review.summary, *numbered)))
    return said, (*review.findings, review.summary)[0]


def has_no_verdict(findings: str) -> bool:
    """Nothing is known to be missing, and nothing is proven: what was known of the work before is as it was."""
    return findings.startswith(NO_VERDICT)


def proof_of(checks: bool, review: bool) -> str:
    """What a proof rests on."""
    return BOTH if checks and review else REVIEW if review else CHECKS if checks else ""


def checks_change_the_project(changed: Sequence[str]) -> str:
    """The finding when checks do not leave the project as it was, even when they run once more."""
    return (
        f"The checks change the project, even when they run again: {join_names(changed)}. So what is there now is not"
        " what they tested. A check must leave the project as it is; files that it makes can be ignored with"
        " .gitignore."
    )


def flaky_check(command: str) -> str:
    """A finding, or a remark if the claim holds anyway."""
    return f"The check `{command}` is flaky: it passed once and failed once, and no file changed in between."


def tampering(changes: Sequence[ProofChange]) -> str:
    """The finding when a claim is refused because something that defines the proof was changed."""
    return (
        f"{TAMPERED}: {describe_all(changes)}.\n"
        "If you changed it, restore it, then report completion again; but leave INSTRUCTIONS.md alone, which"
        " the user may have edited. If the task cannot be done without such a change, say so in `blocked`."
    )
