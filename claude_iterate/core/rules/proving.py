"""Rules about a claim of completion: when it is proven, what its failure means, and how the end of a run is known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import ClaimDropped, ProofChange, VerificationFinished
from claude_iterate.core.events.reasons import NOT_PROVEN, Reason
from claude_iterate.core.events.vocabulary import Kind, Purpose
from claude_iterate.core.formats import listed, one_line, shortened
from claude_iterate.core.outcomes.classes import ENDING_FAILURES
from claude_iterate.core.rules import breaker, next_steps, schedule, waits
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, Verdict, Verify, Wait
from claude_iterate.core.state.claim_steps import CUT_OFF
from claude_iterate.core.state.requests import claim_is_open
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tampering.comparison import all_described
from claude_iterate.core.task_identity import UNREADABLE, checksum, is_same_task
from claude_iterate.core.tones import CHANGED, PLAN, REPORT

NO_VERDICT = "The review gave no verdict"
"""What a finding begins with when nothing is known to be missing, and nothing is proven."""
CHECKS, REVIEW, BOTH = "checks", "review", "checks_and_review"
"""How it is known that a task is done, where it is proven; `tones.UNPROVEN` has the others."""
KNOWN_BY = {
    CHECKS: "proven by checks",
    REVIEW: "proven by review",
    BOTH: "proven by checks and review",
    **{how: NOT_PROVEN[how].meaning.rstrip(".") for how in (REPORT, PLAN)},
}

WAVERED = "The review says yes after saying no, and nothing changed in between."
_LONGEST = 160
"""Characters of a detail in a sentence."""
_TAMPERED = "This defines the proof and was changed"
_REPLACED = "INSTRUCTIONS.md has another text than when the run began: see whether it is still your task."
_REPLACED_EARLIER = (
    "INSTRUCTIONS.md was given another text during an earlier run, and has it still: see whether it is your task."
)
_WITHDRAWN = (
    "Your report `complete: true` was withdrawn after the run was killed. Look what is missing, then report again."
)
_CLAUDE_CANNOT = frozenset({Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AWAY}) | ENDING_FAILURES
"""After these Claude cannot be called for a review: other rules say what is next."""


def claim_is_outdated(state: RunState, facts: Facts) -> Verdict | None:
    """INSTRUCTIONS.md has another text than the one that the claim or its proof is about: it is dropped, and the next
    iteration gets the new text."""
    claims = facts.only_verify or (state.last_status is not None and state.last_status.complete)
    stands = claims and (state.proof is None or state.proof.passed)
    if not stands or not state.claim.task or not facts.task or is_same_task(state.claim.task, facts.task):
        return None
    lost = facts.task == UNREADABLE
    return ClaimDropped(f"INSTRUCTIONS.md {'can no longer be read' if lost else 'has another text now'}")


def claim_was_withdrawn(state: RunState, facts: Facts) -> Verdict | None:
    """The run goes on with a claim of a killed one, and meanwhile the report no longer claims completion, or is gone:
    the claim is dropped, and the next iteration is told to look and report again."""
    status = state.last_status
    if not facts.withdrawn or status is None or not status.complete or status.source != "file":
        return None
    return ClaimDropped("since the run was killed, .status.json no longer says `complete: true`", findings=_WITHDRAWN)


def claim_was_cut_off(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` in an iteration that did not come to its own end (a time-out, a skip, a
    crash), and no proof is wanted: the claim is dropped, and the next prompt asks Claude to look and report again. A
    claim after which the API refused all that was to follow (a limit, an overload, a lost login) counts."""
    claims = state.last_status is not None and state.last_status.complete
    if not claims or state.claim.sound or facts.proof_wanted:
        return None
    return ClaimDropped("the iteration that made it did not come to its own end, and no proof is wanted", cut=True)


def claim_must_be_proven(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` and checks or a review are wanted: look for ourselves. Checks need no Claude,
    so no limit, overload, lost login or spent money puts them off. A review begins when Claude can be called; one that
    cannot be paid any more is not begun: **budget**."""
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
    held_up = None if cannot else _held_up(state, facts)
    if not cannot and held_up is None:
        return Verify(claim, review=True)
    return held_up if checks_are_green(state, facts) else Verify(claim)


def _held_up(state: RunState, facts: Facts) -> Verdict | None:
    return (
        breaker.money_is_spent(state, facts)
        or waits.pace_is_kept(state, facts)
        or schedule.hours_are_closed(state, facts)
    )


def checks_are_green(state: RunState, facts: Facts) -> bool:
    """Nothing is left to do for this claim but the review: all checks that are wanted were green."""
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
    advice = f"See the evidence: {next_steps.about(state, line, 'show')}"
    go_on = next_steps.about(state, line, "run") if facts.only_verify else ""
    if state.proof.changes and facts.refuses_tampering:  # no claim can hold as it is
        go_on = next_steps.again(state, line, (next_steps.ACCEPT,))
    return Finish("verification_failed", state.proof.findings, advice, next=go_on)


class Finding(msgspec.Struct, frozen=True):
    """Why a claim does not hold: `text` is for the next prompt; `detail` is the first thing that the review misses, or
    the last line that the check printed."""

    text: str
    detail: str = ""


def last_words(output: str) -> str:
    """The last line that is not empty."""
    return next((line for line in reversed(output.splitlines()) if line.strip()), "")


def why_refuted(proof: VerificationFinished) -> str:
    """Why the claim did not hold, in one sentence."""
    said, detail = first_finding(proof.findings), shortened(one_line(proof.detail).rstrip("."), _LONGEST)
    return f"{said}: {detail}" if detail else said


def first_finding(findings: str) -> str:
    """The first finding of a proof in a few words, without what a check printed."""
    first = findings.strip().split("\n")[0].removesuffix(" The end of its output:").rstrip(".")
    return first[:1].lower() + first[1:]


def known_by(state: RunState, facts: Facts, reason: Reason, changes: Sequence[ProofChange] = ()) -> str:
    """How the end of a run that completed is known; empty for all others, for one-off calls, and for dry runs, of which
    nothing is known. `changes` of what defines the proof leave nothing proven."""
    if reason != "completed" or state.one_off is not None or (state.started is not None and state.started.dry_run):
        return ""
    if facts.mode.makes_plan:
        return ""
    if state.proof is None or not facts.proof_wanted:
        return PLAN if facts.mode.judged_by == "plan" else REPORT
    rests_on = state.proof.known_by or proof_of(bool(facts.settings.verification.checks), facts.review_wanted)
    return REPORT if not rests_on else CHANGED if changes else rests_on


def changed_proof(rests_on: str, paths: Sequence[str]) -> str:
    """`Checks passed, but check.sh was changed: not proven`."""
    what = {REVIEW: "The review", BOTH: "Checks and review"}.get(rests_on, "Checks")
    names = [path.rpartition("/")[2] for path in paths]
    return f"{what} passed, but {listed(names, 1)} {'were' if len(names) > 1 else 'was'} changed: not proven"


def proof_of(checks: bool, review: bool) -> str:
    """What a proof rests on."""
    return BOTH if checks and review else REVIEW if review else CHECKS if checks else ""


def checks_change_the_project(changed: Sequence[str]) -> str:
    """The finding when checks do not leave the project as it was, even when they run once more."""
    return (
        f"The checks change the project, also when they run again: {listed(changed)}. So what is there now is not what"
        " they proved. A check must leave the project as it is; files that it makes can be ignored with .gitignore."
    )


def flaky_check(command: str) -> str:
    """A finding, or a remark if the claim holds all the same."""
    return f"The check `{command}` is flaky: it was green once and red once, and no file changed in between."


def tampering(changes: Sequence[ProofChange]) -> str:
    """The finding when a claim is refused because something that defines the proof was changed."""
    return (
        f"{_TAMPERED}: {all_described(changes)}.\n"
        "If you changed it, put it back as it was, then report completion again; but leave INSTRUCTIONS.md alone, which"
        " the user may have edited. If the task cannot be done without such a change, say so in `blocked`."
    )


def about_the_claim(state: RunState, facts: Facts, reason: Reason, changes: Sequence[ProofChange] = ()) -> str:
    """What has to be known of the last claim of completion beside the reason; empty when there is nothing to say.
    `changes` of what defines the proof are named beside it."""
    status = state.last_status
    if facts.task_replaced and state.defined is None and reason != "completed" and facts.purpose == Purpose.RUN:
        about = about_the_claim(state, replace(facts, task_replaced=False), reason, changes)
        return f"{about} {_REPLACED_EARLIER if facts.replaced_earlier else _REPLACED}".strip()
    if state.findings.startswith(CUT_OFF) and status is None:
        verify = next_steps.about(state, facts.command_line, "verify")
        return f"Claude reported completion in an iteration that did not come to its own end. To look at it: {verify}"
    if facts.only_verify:
        return ""
    if status is None or not status.complete:
        refuted = state.claim.refuted if facts.proof_wanted else None
        return f"The last claim of completion did not hold: {why_refuted(refuted)}." if refuted else ""
    if reason == "completed":
        replaced = facts.task_replaced and state.defined is None  # else it is one of the changes of the proof
        said = _REPLACED_EARLIER if facts.replaced_earlier else _REPLACED
        return " ".join(filter(None, (_doubts(state, counts=not facts.mode.makes_plan), said if replaced else "")))
    if reason == "blocked":
        return f"Claude reported `complete: true` as well{'; the proof failed' if state.proof is not None else ''}."
    if reason == "verification_failed" or not (facts.proof_wanted or reason == "hook_abort"):
        return ""
    if state.proof is not None:
        named = changes and state.proof.findings.startswith(_TAMPERED)
        why = "a part of the proof was changed" if named else why_refuted(state.proof)
        return f"The last claim of completion does not hold: {why}."
    verify = next_steps.about(state, facts.command_line, "verify")
    claimed = "All tasks of the plan are ticked" if status.source == "plan" else "Claude reported completion"
    if facts.settings.verification.checks and facts.review_wanted and checks_are_green(state, facts):
        return f"{claimed}, and the checks are green; the review was not held: {verify}"
    return f"{claimed}; it was not checked: {verify}"


def _doubts(state: RunState, counts: bool) -> str:
    status = state.last_status
    if status is None:
        return ""
    doubts = [f"{status.completed} of {status.total} items done"] if status.remaining and counts else []
    doubts += ["failing tests"] if status.tests == "failing" else []
    doubts += [f"blocked: {' '.join(status.blocked.split())}"] if status.blocked else []
    what = "All tasks of the plan are ticked" if status.source == "plan" else "Claude reported `complete: true`"
    return f"{what} together with {' and '.join(doubts)}." if doubts else ""
