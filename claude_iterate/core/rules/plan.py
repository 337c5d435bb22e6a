"""Rules of the modes plan and build: the plan is read, it decides what is done, and no claim counts without it."""

from __future__ import annotations

from claude_iterate.core.events import ClaimDropped, PlanFinished
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import plural
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, Verdict
from claude_iterate.core.state.run_state import RunState

FILE = "IMPLEMENTATION_PLAN.md"


def plan_is_unread(state: RunState, facts: Facts) -> Verdict | None:
    """Modes plan and build: the plan changed since it was last read, or was not read yet: record it. So it is known
    before and after each iteration."""
    return facts.plan if facts.plan is not None and facts.plan != state.plans.now else None


def claim_is_without_plan(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true`, but the plan has no task, or in build mode one is still open: that is no
    claim, and the next prompt says so."""
    plan, status = state.plans.now, state.last_status
    stands = status is not None and status.complete and (state.proof is None or state.proof.passed)
    if plan is None or not stands or not facts.mode.reads_plan:
        return None
    if plan.problem:
        why = f"{FILE} cannot be used: {plan.problem}"
    elif not plan.tasks:
        why = f"there is no plan: {FILE} has no task"
    elif plan.left and not facts.mode.makes_plan:
        why = f"{plural(plan.left, 'task')} of the plan {'is' if plan.left == 1 else 'are'} not done yet"
    else:
        return None
    return ClaimDropped(why, findings=f"Your report `complete: true` did not count: {why}.")


def plan_is_done(state: RunState, facts: Facts) -> Verdict | None:
    """Build mode, and nothing in the plan is open or under way: a claim of completion, which checks and review still
    have to prove. Before the first iteration that means no call of Claude at all. After an iteration that was cut off
    it takes a proof, or another iteration."""
    plan, status, last = state.plans.now, state.last_status, state.last_outcome
    if facts.mode.judged_by != "plan" or plan is None or plan.problem or plan.left or not plan.done:
        return None
    claimed = (status is not None and status.complete) or not (state.claim.sound or facts.proof_wanted)
    cut = last is not None and (
        last.kind == Kind.REBOOTED or (last.kind == Kind.INTERRUPTED and state.stop is not None)
    )
    return None if claimed or cut or state.proof is not None else PlanFinished(plan.tasks, facts.task)


def plan_is_lost(state: RunState, facts: Facts) -> Verdict | None:
    """Build mode, and the plan is gone, no longer has a task or cannot be read: **agent_failed**."""
    plan = state.plans.now
    if facts.mode.judged_by != "plan" or plan is None or (plan.tasks and not plan.problem):
        return None
    why = plan.problem or ("it no longer has a task" if plan.fingerprint else "it is gone")
    step = facts.command_line.about("plan")
    return Finish("agent_failed", f"{FILE}: {why}", "Restore it, or make a new one.", f"There is no plan: {why}", step)
