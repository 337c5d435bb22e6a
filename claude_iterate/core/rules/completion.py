"""How it is known that a task is complete, and what is said of its last claim of completion."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from claude_iterate.core.events import ProofChange, VerificationFinished
from claude_iterate.core.events.enums import NOT_PROVEN, Purpose, Reason
from claude_iterate.core.formats import join_names, one_line, shorten
from claude_iterate.core.rules import next_steps
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.proof import BOTH, CHECKS, REVIEW, TAMPERED, checks_are_green, proof_of
from claude_iterate.core.state.claims import CUT_OFF
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import CHANGED, PLAN, REPORT

KNOWN_BY = {
    CHECKS: "proven by checks",
    REVIEW: "proven by review",
    BOTH: "proven by checks and review",
    **{how: NOT_PROVEN[how].meaning.rstrip(".") for how in (REPORT, PLAN)},
}

WAVERED = "The review says yes after saying no, and nothing changed in between."
_LONGEST = 160
"""Characters of a detail in a sentence."""
_REPLACED = "INSTRUCTIONS.md has another text than when the run began: see whether it is still your task."
_REPLACED_EARLIER = (
    "INSTRUCTIONS.md was given another text during an earlier run, and has it still: see whether it is your task."
)


def why_refuted(proof: VerificationFinished) -> str:
    """Why the claim did not hold, in one sentence."""
    said, detail = first_finding(proof.findings), shorten(one_line(proof.detail).rstrip("."), _LONGEST)
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
    return f"{what} passed, but {join_names(names, 1)} {'were' if len(names) > 1 else 'was'} changed: not proven"


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
        named = changes and state.proof.findings.startswith(TAMPERED)
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
