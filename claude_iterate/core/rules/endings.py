"""The end of a run in words: its cause in one sentence, how completion is known, what to do, and the next command.

They are recorded in `RunFinished`. Every reader prints them, and none makes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from claude_iterate.core.events import PlanRead, ProofChange, RunFinished, VerificationFinished
from claude_iterate.core.events.enums import ENDINGS, NOT_PROVEN, ONE_OFF, Purpose, Reason
from claude_iterate.core.formats import one_line, plural, shorten
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import proof
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import ACCEPT, CommandLine
from claude_iterate.core.rules.proof import BOTH, CHECKS, REVIEW, TAMPERED, checks_are_green, proof_of
from claude_iterate.core.rules.verdicts import Finish
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.claims import CUT_OFF
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import CHANGED, PLAN, REPORT, UNPROVEN, Tone, tone

_LONGEST = 300
"""Characters of a cause."""
SIGNS: dict[Tone, str] = {"good": "✓", "warning": "⚠️"}
"""What a cause begins with where it is shown, by its tone; all others are errors."""
STOPPED_BY = {
    "SIGINT": "Ctrl-C",
    "SIGHUP": "the terminal was closed (SIGHUP)",
    "key": "the key s",
    "command": "the command `stop`",
    "answer": "your answer",
}
"""Who or what asked for the stop."""


def run_finished_event(
    verdict: Finish, state: RunState, facts: Facts, changes: tuple[ProofChange, ...] = ()
) -> RunFinished:
    """The last event of a run that ends with this verdict now. `changes` are those of what defines the proof."""
    advice = (
        f"Not read yet: {plural(facts.unread_notes, 'note')}." if facts.unread_notes else "",
        state.claim.refuted.advice if state.claim.refuted is not None else "",
        _advice_on_changes(changes, verdict, facts),
        _advice(verdict, facts),
    )
    # A file that is there but cannot be read has to be replaced.
    setup = facts.command_line.about("setup", *(("--force",) if facts.instructions_spoilt else ()))
    ending = RunFinished(
        verdict.reason,
        verdict.detail,
        "\n".join(filter(None, advice)),
        *(state.iterations, state.cost_usd, facts.now + state.elapsed_before),
        known_by=basis_of_completion(state, facts, verdict.reason, changes),
        about_claim=claim_remark(state, facts, verdict.reason, changes),
        cause=verdict.cause,
        next=setup if _instructions_are_lost(facts) else verdict.next,
        cost_is_lower_bound=state.cost_is_lower_bound,
        changes=changes,
        tripped=verdict.tripped,
    )
    return with_words(ending, state, facts.command_line)


def with_words(ending: RunFinished, state: RunState, line: CommandLine | None = None) -> RunFinished:
    """With a cause and a next step, where the verdict had none of its own."""
    line = line or CommandLine()
    cause = ending.cause or _cause(ending, state)
    step = ending.next or _next(ending, state, line.of(state.run.purpose, state.run.workspace))
    return replace(ending, cause=shorten(one_line(cause), _LONGEST), next=step)


def sign(ending: RunFinished) -> str:
    """What its cause begins with."""
    return SIGNS.get(tone(ending.reason, ending.known_by), "❌")


def _cause(ending: RunFinished, state: RunState) -> str:
    make = _CAUSES.get(ending.reason)
    if make is not None:
        return make(ending, state)
    what = _WHAT.get(ending.reason, ENDINGS[ending.reason].meaning.rstrip("."))
    detail = one_line(ending.detail)
    return f"{what}: {detail}" if detail else what


def _completion_cause(ending: RunFinished, state: RunState) -> str:
    after, purpose, dry_run = plural(ending.iterations, "iteration"), state.run.purpose, state.run.dry_run
    if purpose == Purpose.RUN and made_plan(state):
        return _plan_cause(after, state, dry_run)
    if state.run.cassette:
        return f"Dry run of run {state.run.cassette} finished after {after}: it proves nothing"
    if dry_run:  # nobody should take it for the real thing
        return {
            Purpose.RUN: f"Dry run finished after {after}: checks were not run, no work was done",
            Purpose.VERIFY: "Dry run finished. It proves nothing: the stand-in did not look at the work.",
        }.get(purpose, f"{purpose.capitalize()} finished (dry run).")
    if purpose == Purpose.RUN:
        return _task_cause(ending, state, after)
    if ending.known_by == CHANGED:
        return f"{_changed_proof(ending, state)}."
    # The command says which verdict the grades come to, if there is one.
    words = {Purpose.VERIFY: "Verified: the task is done.", Purpose.VALIDATE: "Claude has answered."}
    return words.get(purpose, f"{purpose.capitalize()} finished.")


def _task_cause(ending: RunFinished, state: RunState, after: str) -> str:
    """What is proven comes first; so does what is not."""
    if ending.known_by == CHANGED:
        return f"{_changed_proof(ending, state)} (after {after})"
    known = KNOWN_BY.get(ending.known_by, ending.known_by)
    if ending.known_by in UNPROVEN:
        return f"{known} (after {after})"
    return f"Task completed successfully after {after}{': ' + known if known else ''}"


def _changed_proof(ending: RunFinished, state: RunState) -> str:
    rests_on = state.proof.known_by if state.proof is not None else ""
    return changed_proof(rests_on, [change.path for change in ending.changes])


def made_plan(state: RunState) -> bool:
    """The result of the run is a plan, and none of its work."""
    mode = MODES.get(state.run.mode)
    return mode is not None and mode.makes_plan


def _plan_cause(after: str, state: RunState, dry_run: bool) -> str:
    plan = state.plans.now or PlanRead()
    bare = f", {plan.without_refs} of them without refs" if plan.without_refs else ""
    dry = " (dry run: the plan is a sample)" if dry_run else ""
    return f"Planned after {after}: {plural(plan.tasks, 'task')}{bare}, {plan.left} to do{dry}"


def _maximum_cause(ending: RunFinished, state: RunState) -> str:
    run, last = state.run, state.last_outcome
    if run.cassette and ending.iterations:
        cause = f"Played {plural(ending.iterations, 'iteration')} of run {run.cassette} (dry run)"
    else:
        cause = f"Reached maximum iterations ({run.max_iterations or ending.iterations})"
    failed = last is not None and last.kind in COUNTED_FAILURES
    return cause + (f"; the last one failed: {one_line(last.message)}" if last and failed else "")


def _refutation_cause(ending: RunFinished, state: RunState) -> str:
    if state.run.made_up:
        return "Dry run finished with the verdict `not done`. It proves nothing: the stand-in did not look at the work."
    what = "Not proven" if proof.has_no_verdict(ending.detail) else "Not done"
    why = why_refuted(state.proof) if state.proof is not None else first_finding(ending.detail)
    return f"{what}: {why or 'the proof failed'}"


def _stop_cause(ending: RunFinished, _state: RunState) -> str:
    by = ending.detail.removeprefix("by ")
    if ending.reason == "terminated":
        return f"Terminated: {STOPPED_BY[by]}" if by == "SIGHUP" else f"Terminated by {by or 'a signal'}"
    what = "Interrupted" if ending.reason == "interrupted" else "Stopped"
    return f"{what} by {STOPPED_BY.get(by, by)}" if by else what


_WHAT: dict[Reason, str] = {
    "stagnation": "Stagnation detected",
    "blocked": "Claude is blocked and needs you",
    "agent_failed": "Claude failed",
    "budget": "The budget is spent",
    "script": "A stop script ended the run",
    "duration": "Time limit reached",
    "hook_abort": "Ended by a hook",
    "usage_limit": "Usage limit reached",
    "reserve": "The reserve is reached",
}
_CAUSES: dict[Reason, Callable[[RunFinished, RunState], str]] = {
    "completed": _completion_cause,
    "max_iterations": _maximum_cause,
    "verification_failed": _refutation_cause,
    "stopped": _stop_cause,
    "interrupted": _stop_cause,
    "terminated": _stop_cause,
}


def _next(ending: RunFinished, state: RunState, line: CommandLine) -> str:
    """Most ends continue with the same command; after a completion, the step that it still lacks."""
    run = state.run
    if ending.reason != "completed":
        return line.repeat()
    if run.purpose not in {Purpose.RUN, Purpose.VERIFY}:
        return ""
    if run.dry_run:
        return line.repeat_for_real()
    if ending.known_by == CHANGED:
        checks_only = ("--checks-only",) if state.proof is None or state.proof.known_by == proof.CHECKS else ()
        return line.about("verify", *checks_only, ACCEPT)
    if ending.known_by in UNPROVEN and run.to_prove and not run.proof_is_example:
        return run.to_prove
    return line.about("build" if run.purpose == Purpose.RUN and made_plan(state) else "report")


def _advice_on_changes(changes: tuple[ProofChange, ...], verdict: Finish, facts: Facts) -> str:
    """What to do about changes of the proof; a run that completed has reported them, and they are done with. Without
    instructions no run could accept them."""
    if not changes or verdict.reason == "completed" or _instructions_are_lost(facts):
        return ""
    undo = "Undo the changes of the proof, or accept them"
    if ACCEPT in verdict.next:
        return f"{undo} with the next step."
    return f"{undo}: {facts.command_line.about('run', ACCEPT)}"


def _advice(verdict: Finish, facts: Facts) -> str:
    """Without instructions nothing else helps."""
    if not _instructions_are_lost(facts):
        return verdict.advice
    copy = f" The last iteration had the text that is in {facts.last_prompt}" if facts.last_prompt else ""
    return f"INSTRUCTIONS.md can no longer be read.{copy}"


def _instructions_are_lost(facts: Facts) -> bool:
    """A one-off call may be the one that writes them."""
    return bool(facts.instructions_lost) and facts.purpose not in ONE_OFF


KNOWN_BY = {
    CHECKS: "proven by checks",
    REVIEW: "proven by review",
    BOTH: "proven by checks and review",
    **{how: NOT_PROVEN[how].meaning.rstrip(".") for how in (REPORT, PLAN)},
}

_DETAIL = 160
"""Characters of a detail in a sentence."""


def why_refuted(proof: VerificationFinished) -> str:
    """Why the claim did not hold, in one sentence."""
    said, detail = first_finding(proof.findings), shorten(one_line(proof.detail).rstrip("."), _DETAIL)
    return f"{said}: {detail}" if detail else said


def first_finding(findings: str) -> str:
    """The first finding of a proof in a few words, without what a check printed."""
    first = findings.strip().split("\n")[0].removesuffix(" The end of its output:").rstrip(".")
    return first[:1].lower() + first[1:]


def basis_of_completion(state: RunState, facts: Facts, reason: Reason, changes: Sequence[ProofChange] = ()) -> str:
    """How the end of a run that completed is known; empty for all others, for one-off calls, plans and dry runs, of
    which nothing is known. `changes` of what defines the proof leave nothing proven."""
    if reason != "completed" or state.one_off is not None or state.run.dry_run or facts.mode.makes_plan:
        return ""
    if state.proof is None or not facts.proof_wanted:
        return PLAN if facts.mode.judged_by == "plan" else REPORT
    rests_on = state.proof.known_by or proof_of(bool(facts.settings.verification.checks), facts.review_wanted)
    return REPORT if not rests_on else CHANGED if changes else rests_on


def changed_proof(rests_on: str, paths: Sequence[str]) -> str:
    """`Checks passed, but check.sh was changed: not proven`."""
    what = {REVIEW: "The review", BOTH: "Checks and review"}.get(rests_on, "Checks")
    names = [path.rpartition("/")[2] for path in paths]
    others = f" and {plural(len(names) - 1, 'other file')} were" if len(names) > 1 else " was"
    return f"{what} passed, but {names[0]}{others} changed: not proven"


def claim_remark(state: RunState, facts: Facts, reason: Reason, changes: Sequence[ProofChange] = ()) -> str:
    """What the user must know about the last claim of completion, beside the reason. `changes` of what defines the
    proof are named beside it."""
    # It is to prove by what is set, and not to pay for a review that nobody asked for.
    checks_only = facts.settings.verification.checks and not facts.review_wanted
    status = state.last_status
    verify = facts.command_line.about("verify", *(("--checks-only",) if checks_only else ()))
    if state.findings.startswith(CUT_OFF) and status is None:
        return f"Claude reported completion in an iteration that was cut off. To verify it: {verify}"
    if facts.only_verify:
        return ""
    if status is None or not status.complete:
        refuted = state.claim.refuted if facts.proof_wanted else None
        return f"The last claim of completion did not hold: {why_refuted(refuted)}." if refuted else ""
    if reason == "completed":
        return _doubts(status, counts=not facts.mode.makes_plan)
    if reason == "blocked":
        return f"Claude reported `complete: true` as well{'; the proof failed' if state.proof is not None else ''}."
    if reason == "verification_failed" or not (facts.proof_wanted or reason == "hook_abort"):
        return ""
    if state.proof is not None:
        named = changes and state.proof.findings.startswith(TAMPERED)
        why = "a part of the proof was changed" if named else why_refuted(state.proof)
        return f"The last claim of completion does not hold: {why}."
    claimed = "All tasks of the plan are ticked" if status.source == "plan" else "Claude reported completion"
    if facts.settings.verification.checks and facts.review_wanted and checks_are_green(state, facts):
        return f"{claimed}, and the checks pass; the review did not run: {verify}"
    return f"{claimed}; it was not checked: {verify}"


def _doubts(status: Status, counts: bool) -> str:
    doubts = [f"{status.completed} of {status.total} items done"] if status.remaining and counts else []
    doubts += ["failing tests"] if status.tests == "failing" else []
    doubts += [f"blocked: {' '.join(status.blocked.split())}"] if status.blocked else []
    what = "All tasks of the plan are ticked" if status.source == "plan" else "Claude reported `complete: true`"
    return f"{what} together with {' and '.join(doubts)}." if doubts else ""
