"""What happens next: an ordered tuple of small rules over state and facts. The documentation's table is this one.

Between iterations the first rule with an opinion wins. While Claude works, `core.rules.during` decides.
"""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events.enums import ONE_OFF, Kind
from claude_iterate.core.outcomes.classes import FINE
from claude_iterate.core.rules import (
    absence,
    breaker,
    hook_rules,
    next_steps,
    proof,
    schedule,
    trips,
    waits,
)
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.plans import plan_rules
from claude_iterate.core.rules.verdicts import Ask, Begin, Finish, MakeOneOffCall, Measure, Verdict, Wait
from claude_iterate.core.state.run_state import RunState

Between = Callable[[RunState, Facts], Verdict | None]


def workspace_is_gone(state: RunState, facts: Facts) -> Verdict | None:
    """The workspace's folder was deleted, renamed or moved, or another workspace was put in its place:
    **agent_failed**."""
    how = "It was deleted, renamed or moved while the run was on, perhaps by Claude or by a check."
    if facts.workspace_gone:
        gone = f"the workspace's folder is gone: {facts.workspace_gone}"
        look = next_steps.command(facts.command_line, "list")
        return Finish("agent_failed", gone, f"{how} Put it back.", gone[:1].upper() + gone[1:], look)
    if facts.workspace_replaced:
        other = f"the workspace's folder was replaced by another one: {facts.workspace_replaced}"
        advice = f"{how} The next run works with the new one."
        return Finish("agent_failed", other, advice, other[:1].upper() + other[1:])
    return None


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
    return breaker.failed(outcome, outcome.message, state, facts)


def work_is_unmeasured(state: RunState, facts: Facts) -> Verdict | None:
    """What the last iteration did is not measured yet, and no one is in a hurry: measure it. Rules about progress come
    after this one; a run that goes on measures what a killed one could not."""
    hurry = state.stop is not None and state.stop.now
    unmeasured = facts.measures and state.iterations > state.work.measured
    return Measure(state.iterations) if unmeasured and not hurry else None


def completed(state: RunState, facts: Facts) -> Verdict | None:
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


def stop_was_asked(state: RunState, facts: Facts) -> Verdict | None:
    """Ctrl-C: **interrupted**; SIGTERM or SIGHUP: **terminated**; `stop`: **stopped**."""
    if state.stop is None:
        return None
    by = state.stop.by
    if by == "SIGINT":
        return Finish("interrupted", by)
    if not by.startswith("SIG"):
        return Finish("stopped", f"by {by}")
    outlive = "To let a run go on without its terminal: start it with --detach, or press d while it is shown."
    return Finish("terminated", by, outlive if by == "SIGHUP" else "")


def paused(state: RunState, facts: Facts) -> Verdict | None:
    """The user said `pause`: wait for `resume`."""
    return Wait(float("inf")) if state.paused else None


def pause_between_iterations(state: RunState, facts: Facts) -> Verdict | None:
    """`delay` seconds have not passed since the last iteration of this process: wait; not where a dry run plays a
    recorded run."""
    if state.started is not None and state.started.cassette:
        return None
    if not state.last_ended or facts.now >= state.last_ended + facts.settings.delay:
        return None
    return Wait(state.last_ended + facts.settings.delay)


def user_is_asked(state: RunState, facts: Facts) -> Verdict | None:
    """Attended mode, and the user has not said `go` for this iteration yet: ask."""
    number = state.iterations + 1
    return Ask(number) if facts.settings.attended and state.requests.approved < number else None


def begin_the_next(state: RunState, facts: Facts) -> Verdict | None:
    """Otherwise: the next iteration begins."""
    return Begin(state.iterations + 1)


PROOF_RULES: tuple[Between, ...] = (
    stop_was_asked,
    breaker.time_is_up,
    proof.proof_was_changed,
    proof.check_is_next,
    proof.check_is_red,
    proof.checks_changed_the_project,
    proof.checks_have_passed,
    proof.review_is_next,
    proof.evidence_is_complete,
)
"""What is next in a proof that is under way. When a stop or the end of time breaks it off, the claim is unproven."""


def proof_is_under_way(state: RunState, facts: Facts) -> Verdict | None:
    """The proof of a claim has begun: the rules of the proof say what is next."""
    if state.claim.verification is None or facts.inspection is None:
        return None
    return next(verdict for rule in PROOF_RULES if (verdict := rule(state, facts)) is not None)


BETWEEN_RULES: tuple[Between, ...] = (
    proof_is_under_way,
    workspace_is_gone,
    one_off_call,
    plan_rules.plan_is_unread,
    work_is_unmeasured,
    hook_rules.iteration_finished_is_due,
    hook_rules.hook_aborts,
    proof.claim_is_outdated,
    proof.claim_was_withdrawn,
    proof.claim_was_cut_off,
    plan_rules.claim_is_without_plan,
    plan_rules.plan_is_done,
    completed,
    stop_was_asked,
    breaker.time_is_up,
    hook_rules.started_is_due,
    hook_rules.iteration_is_skipped,
    proof.claim_must_be_proven,
    proof.proof_failed,
    breaker.agent_is_blocked,
    plan_rules.plan_is_lost,
    breaker.failure_ends_the_run,
    breaker.denied_again,
    breaker.too_many_failures,
    trips.same_error_again,
    trips.nothing_moves,
    trips.tests_stay_red,
    trips.pattern_was_seen,
    trips.scripts_are_asked,
    trips.script_says_stop,
    trips.trial_moved_nothing,
    breaker.stagnated,
    breaker.money_is_spent,
    breaker.iterations_are_used_up,
    waits.wait_is_on,
    waits.another_run_met_the_limit,
    waits.limit_is_reached,
    waits.api_is_in_trouble,
    absence.claude_is_away,
    waits.reserve_is_reached,
    waits.pace_is_kept,
    schedule.hours_are_closed,
    trips.failures_make_pauses,
    paused,
    pause_between_iterations,
    user_is_asked,
    hook_rules.next_iteration_is_due,
    begin_the_next,
)


def decide(state: RunState, facts: Facts) -> Verdict:
    """What the first rule with an opinion says; the last rule always has one."""
    return next(verdict for rule in BETWEEN_RULES if (verdict := rule(state, facts)) is not None)


def nothing_can_be_recorded(state: RunState, facts: Facts) -> Finish | None:
    """The journal cannot be written, for example because the disk is full: **agent_failed**. What is paid for and not
    recorded would be done, and paid for, again."""
    if not facts.unrecorded:
        return None
    detail = f"what it does could not be recorded: {facts.unrecorded}"
    cause = f"Nothing more could be recorded: {facts.unrecorded}"
    return Finish("agent_failed", detail, "Free some space; what is done is done.", cause)


STARTING_RULES: tuple[Callable[[RunState, Facts], Finish | None], ...] = (nothing_can_be_recorded,)
"""Asked when something is about to begin: an iteration, a proof or a one-off call."""


def decide_start(state: RunState, facts: Facts) -> Finish | None:
    """Why nothing may begin now; None when it may."""
    return next((verdict for rule in STARTING_RULES if (verdict := rule(state, facts)) is not None), None)
