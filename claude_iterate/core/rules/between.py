"""What happens next: an ordered tuple of small rules over state and facts. The documentation's table is this one.

Between iterations the first rule with an opinion wins. While Claude works, `core.rules.during` decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from claude_iterate.core.events import Rebooted
from claude_iterate.core.events.enums import ONE_OFF, Kind, Reboot
from claude_iterate.core.outcomes.classes import FINE
from claude_iterate.core.rules import breaker, hooks, plan, proof, steering, waits
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Begin, Finish, MakeOneOffCall, Measure, Verdict
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState

Between = Callable[[RunState, Facts], Verdict | None]


def workspace_is_gone(state: RunState, facts: Facts) -> Verdict | None:
    """The workspace's folder was deleted, renamed or moved, or another workspace was put in its place:
    **agent_failed**."""
    if not facts.workspace_gone:
        return None
    gone = f"The workspace's folder is gone, or another one stands in its place: {facts.workspace_gone}"
    advice = "It was deleted, renamed or moved during the run, perhaps by Claude or by a check. Restore it."
    return Finish("agent_failed", gone, advice, gone, facts.command_line.command("list"))


def one_off_call(state: RunState, facts: Facts) -> Verdict | None:
    """`setup`, `edit` and `validate` make one call and are done: **completed**, or **agent_failed** if it failed."""
    if facts.purpose not in ONE_OFF:
        return None
    if state.one_off is None:
        return MakeOneOffCall() if state.stop is None else None
    outcome = state.one_off.outcome
    if outcome.kind == Kind.INTERRUPTED and (state.stop is not None or breaker.time_is_up(state, facts)):
        return None
    if outcome.kind in FINE:
        return Finish("completed")
    return breaker.end_after_failure(outcome, outcome.message, facts)


def work_is_unmeasured(state: RunState, facts: Facts) -> Verdict | None:
    """The work of the last iteration is not measured yet, and no urgent stop was requested: measure it. Rules about
    progress come after this one; a run that continues a killed one measures what that one could not."""
    urgent = state.stop is not None and state.stop.now
    unmeasured = facts.measures and state.iterations > state.work.measured
    return Measure(state.iterations) if unmeasured and not urgent else None


def completion(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` in the iteration that just ended, and the proof (if one is wanted) holds:
    **completed**. An iteration that a stop cut short completes nothing; nor does, without a proof, a report that says
    `blocked` as well."""
    proven = state.proof is not None and state.proof.passed
    if facts.only_verify:
        return Finish("completed", "verified") if proven else None
    status = state.last_status
    if state.stop is not None and state.last_outcome is not None and state.last_outcome.kind == Kind.INTERRUPTED:
        return None  # it was cut before its end, so its report is not its last word
    if status is None or not status.complete or not (proven if facts.proof_wanted else not status.blocked):
        return None
    return Finish("completed", status.summary or "")


def begin_next_iteration(state: RunState, facts: Facts) -> Verdict | None:
    """Otherwise: begin the next iteration."""
    return Begin(state.iterations + 1)


PROOF_RULES: tuple[Between, ...] = (
    steering.stop,
    breaker.time_is_up,
    proof.proof_was_changed,
    proof.check_is_next,
    proof.check_has_failed,
    proof.checks_changed_the_project,
    proof.checks_have_passed,
    proof.review_is_next,
    proof.evidence_is_complete,
)
"""What is next in a proof that is under way. A stop or the time limit interrupts it, and the claim stays unproven."""


def proof_is_under_way(state: RunState, facts: Facts) -> Verdict | None:
    """The proof of a claim has begun: the rules of the proof say what is next."""
    if state.claim.verification is None or facts.inspection is None:
        return None
    return next(verdict for rule in PROOF_RULES if (verdict := rule(state, facts)) is not None)


BETWEEN_RULES: tuple[Between, ...] = (
    proof_is_under_way,
    workspace_is_gone,
    one_off_call,
    plan.plan_is_unread,
    work_is_unmeasured,
    hooks.iteration_finished_is_due,
    hooks.hook_aborts,
    proof.claim_is_outdated,
    proof.claim_was_cut_off,
    plan.claim_is_without_plan,
    plan.plan_is_done,
    completion,
    steering.stop,
    breaker.time_is_up,
    hooks.started_is_due,
    hooks.iteration_is_skipped,
    proof.claim_must_be_proven,
    proof.proof_failed,
    breaker.agent_is_blocked,
    plan.plan_is_lost,
    breaker.failure_ends_the_run,
    breaker.repeated_denials,
    breaker.too_many_failures,
    breaker.same_error,
    breaker.no_progress,
    breaker.failing_tests,
    breaker.stop_pattern,
    breaker.run_stop_scripts,
    breaker.stop_script,
    breaker.failed_trial,
    breaker.stagnation,
    breaker.money_is_spent,
    breaker.iterations_are_used_up,
    waits.wait_is_on,
    waits.another_run_met_the_limit,
    waits.limit_is_reached,
    waits.api_is_in_trouble,
    waits.claude_is_away,
    waits.reserve_is_reached,
    waits.pace_is_reached,
    waits.outside_hours,
    waits.pause_after_failure,
    steering.pause,
    waits.pause_between_iterations,
    steering.ask_user,
    hooks.next_iteration_is_due,
    begin_next_iteration,
)


def decide(state: RunState, facts: Facts) -> Verdict:
    """What the first rule with an opinion says; the last rule always has one."""
    return next(verdict for rule in BETWEEN_RULES if (verdict := rule(state, facts)) is not None)


def nothing_can_be_recorded(facts: Facts) -> Finish | None:
    """The journal cannot be written, for example because the disk is full: **agent_failed**. Work that is not recorded
    would be repeated, and paid for twice."""
    if not facts.unrecorded:
        return None
    cause = f"Nothing more can be recorded: {facts.unrecorded}"
    return Finish("agent_failed", cause, "Free some space; no work is lost.", cause)


class Continuation(msgspec.Struct, frozen=True):
    """`session` is the id to resume, empty for a fresh session, None when none is to be kept at all; `reboot` says why
    a session that could be resumed is not."""

    session: str | None
    reboot: Rebooted | None = None


_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def choose_session(state: RunState, settings: Settings, wall: float) -> Continuation:
    """The session of the next iteration, which begins at the moment `wall`: that of the last good call of this run, if
    it is not too full or too old; otherwise a fresh one. What does not look like an id never reaches a command
    line."""
    session = state.session
    if settings.session != "resume":
        return Continuation(None, session.reboot)
    if not _SESSION_ID.fullmatch(session.id):
        return Continuation("", session.reboot)
    if settings.session_expiry and session.used and wall - session.used > settings.session_expiry:
        return Continuation("", Rebooted(Reboot.EXPIRED, session.id, session.context))
    if round(100 * (session.context or 0.0), 6) > settings.context_redline:
        return Continuation("", Rebooted(Reboot.REDLINE, session.id, session.context))
    return Continuation(session.id)
