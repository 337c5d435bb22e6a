"""What the run itself does as lines: starts, iterations, measured work, status news, warnings, stops, waits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from claude_iterate.core import events
from claude_iterate.core.events.run import Breaker
from claude_iterate.core.formats import cost, duration, first_and_rest, indent, moment, one_line, plural, shorten
from claude_iterate.core.outcomes.classes import FINE, RETRIED
from claude_iterate.core.rules.breaker import counters
from claude_iterate.core.rules.endings import STOPPED_BY
from claude_iterate.core.rules.next_steps import merge_command
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import local_times

CAUSES = {
    "idle": "nothing was heard for {after}",
    "timeout": "the iteration has run for {after}",
    "lingering": "it gave its result and did not exit within {after}",
    "stopped": "a stop was requested",
    "skip": "a skip was requested",
    "reboot": "a reboot was requested",
    "duration": "the run has reached its time limit of {after}",
}


def run_started(event: events.RunStarted, at: float) -> list[str]:
    """The opening line, and what a run that goes on has to wait for."""
    if event.purpose != "run":
        dry = " (dry run)" if event.dry_run else ""
        if event.purpose == "validate":
            return [f"Grading the instructions of {event.workspace}{dry}..."]
        return [f"{event.purpose.capitalize()}: {event.workspace}{dry}"]
    most = f"at most {plural(event.max_iterations, 'iteration')}" if event.max_iterations else "no iteration limit"
    played = f" of run {event.cassette}" if event.cassette else ""
    dry = f", dry run{played}" if event.dry_run else ""
    closed = f", in a sandbox: {event.sandbox}" if event.sandbox else ""
    first = [f"Starting {event.workspace} ({event.mode} mode, {most}{dry}{closed})"]
    if event.to_prove:
        first.append(f"  No check is set, so only Claude's word will say that it is done. {how_to_prove(event)}")
    if event.resumed is None:
        return first
    done = plural(event.resumed.iterations, "iteration")
    count = {0: "", 1: " It counts."}.get(event.resumed.iterations, " They count.")
    before = f"  Continuing run {event.resumed.run}, which was killed after {done}.{count}"
    if (wait := event.resumed.waiting.wait) is None:
        return [*first, before]
    still = f"  Still waiting until {_moment(wait, at)}.{_sooner(wait, at, event.workspace)}"
    return [*first, before, still]


def how_to_prove(event: events.RunStarted) -> str:
    """How a check is added, where only Claude's word would say that the task is done."""
    return f"Add one{', for example' if event.proof_is_example else ''}: {event.to_prove}"


def how_to_look(workspace: str, program: Sequence[str]) -> list[str]:
    """The commands for a run that goes on without a terminal; `program` is how we are called."""
    commands = [shlex.join((*program, verb, workspace)) for verb in ("attach", "watch", "show", "stop")]
    looks = [f"{'  Look:' if number == 0 else ''}".ljust(8) + each for number, each in enumerate(commands[:-1])]
    return [*looks, f"  Stop: {commands[-1]}"]


def iteration_started(event: events.IterationStarted, before: RunState) -> list[str]:
    """The beginning of an iteration, and whether its instructions are others than those of the iteration before."""
    notes = f" (with {plural(event.notes, 'note')})" if event.notes else ""
    first = f"Running iteration {event.number}...{notes}"
    if before.instructions in ("", event.instructions_hash):
        return [first]
    return [first, f"  Instructions changed; iteration {event.number} uses the new text"]


def iteration_finished(
    event: events.IterationFinished, mode: str, dry_run: bool = False, told_elsewhere: bool = False
) -> list[str]:
    """How an iteration went; loop mode counts items, iterative mode says what was done. A dry run costs nothing.
    `told_elsewhere`: why it failed is the cause of the end of the run, which follows."""
    outcome, spent = event.outcome, _figures(event, "iterative", dry_run)
    if outcome.kind == "interrupted":
        block = [f"❌ Iteration {event.number} was stopped before its end{spent}"]
    elif outcome.kind in {"skipped", "rebooted"}:
        block = [f"↷ Iteration {event.number} {outcome.kind}{spent}"]
    elif outcome.kind not in FINE and event.status is not None and event.status.complete:
        # What comes of the claim is decided next: nothing here may contradict it.
        first, rest = first_and_rest(outcome.message or outcome.kind)
        what = f"⚠ Iteration {event.number} reported completion but was interrupted"
        block = [f"{what}: {first}{spent}", *indent(rest, "  ")]
    elif outcome.kind in RETRIED:
        # Not a failure. After a limit or an overload the next line says why.
        why = f": {one_line(outcome.message)}" if outcome.kind == "session" else ""
        block = [f"↻ Iteration {event.number} will be repeated{why}{spent}"]
    elif outcome.kind not in FINE:
        first, rest = first_and_rest(outcome.message or outcome.kind)
        if told_elsewhere:
            short = f"❌ Iteration {event.number} failed{spent}"
            return [short, *trouble(event)] if outcome.called else []
        block = [f"❌ Iteration {event.number} failed: {first}{spent}", *indent(rest, "  ")]
        block += [f"  {one_line(line)}" for line in outcome.advice.splitlines()]
    else:
        none = f"⚠ Iteration {event.number}: Claude wrote no report{' that counts' if event.problems else ''}"
        first = f"✓ Iteration {event.number} complete" if event.reported else none
        block = [first + _figures(event, mode, dry_run)]
        if outcome.kind == "max_turns":
            block[0] += " (stopped at the turn limit)"
        if mode == "iterative" and event.status is not None and event.status.summary:
            block.append(f"  {one_line(event.status.summary)}")
    return block + trouble(event)


def _figures(event: events.IterationFinished, mode: str, dry_run: bool) -> str:
    """` (2 items remaining, 4m 12s, $0.31)`; what is not known is left out."""
    # In plan and build the plan counts, and its own line tells how it stands.
    remaining = event.status.remaining if event.status is not None and mode == "loop" else None
    known = (
        f"{plural(remaining, 'item')} remaining" if remaining is not None else "",
        duration(event.duration) if event.duration else "",
        cost(event.cost_usd, event.cost_is_lower_bound) if event.cost_usd and not dry_run else "",
    )
    return f" ({', '.join(filter(None, known))})" if any(known) else ""


def trouble(event: events.IterationFinished) -> list[str]:
    """Tools that were denied, and what was odd about the agent's report."""
    denied = dict.fromkeys(denied_call(denial) for denial in event.denials)
    # A failure has said its advice already.
    helps = event.outcome.advice.splitlines() if event.denials and event.outcome.kind in FINE else []
    return [
        *(f"  ⚠ Denied: {tool}" for tool in denied),
        *(f"    {one_line(line)}" for line in helps),
        *(f"  ⚠ Status report: {one_line(problem)}" for problem in event.problems),
    ]


def denied_call(denial: events.Denial) -> str:
    """The tool, and what it was to do."""
    return f"{denial.tool}: {shorten(one_line(denial.detail), 160)}" if denial.detail else denial.tool


_REBOOTS = {
    "redline": "the context of the last one is {context} full",
    "expired": "the last one was not used for too long",
    "session": "the last one could not be resumed",
}


def session_rebooted(event: events.Rebooted) -> list[str]:
    """Why a fresh session begins. A user who asked for it knows."""
    why = _REBOOTS.get(event.why, "")
    return [f"  A fresh session begins: {why.format(context=f'{event.context or 0:.0%}')}"] if why else []


def claim_dropped(event: events.ClaimDropped) -> list[str]:
    """Why a claim of completion does not count, though Claude made it."""
    about = "" if event.cut or event.findings else " Claude's report is about the text that it was given."
    return [f"⚠ The claim does not count: {event.why}.{about}"]


def plan_read(event: events.PlanRead) -> list[str]:
    """How the plan stands."""
    if event.problem:
        return [f"⚠ The plan cannot be used: {event.problem}"]
    if not event.tasks:
        return ["Plan: no tasks yet"]
    doing = f", {event.doing} under way" if event.doing else ""
    bare = f", {event.without_refs} without refs" if event.without_refs else ""
    return [f"Plan: {plural(event.tasks, 'task')}, {event.done} done{doing}, {event.open} open{bare}"]


def warning(event: events.Warned) -> list[str]:
    """A warning and what to do about it."""
    first, rest = first_and_rest(event.text)
    hint = [f"  {one_line(event.hint)}"] if event.hint else []
    return [f"⚠ {first}", *indent(rest, "  "), *hint]


def stop_requested(event: events.StopRequested, in_iteration: bool = True) -> list[str]:
    """When the run stops, and who asked for it: a signal, a key or a command."""
    who = STOPPED_BY.get(event.by, event.by)
    if event.now or not in_iteration:
        return [f"Stopping now: {who}."]
    again = " again" if event.by == "SIGINT" else ""
    return [f"Stopping after this iteration: {who}. Press Ctrl-C{again} to stop now."]


def cut_started(event: events.CutStarted) -> list[str]:
    """Why Claude is being ended."""
    why = CAUSES.get(event.cause, event.cause).format(after=duration(event.after))
    doing = f" ({one_line(event.doing)})" if event.doing else ""
    return [f"Ending Claude: {why}{doing}"]


def leftovers_ended(event: events.LeftoversEnded) -> list[str]:
    """Which processes of a tool had to be ended."""
    names = ", ".join(one_line(name) for name in event.processes)
    noun = "process" if len(event.processes) == 1 else "processes"
    return [f"Ended {len(event.processes)} {noun} left behind: {names}"]


def agent_exited(event: events.AgentExited) -> list[str]:
    """Claude's exit code, unless it is 0."""
    if event.code == 0:
        return []
    return [f"Claude was killed by signal {-event.code}" if event.code < 0 else f"Claude exited with code {event.code}"]


def work_measured(event: events.WorkMeasured) -> list[str]:
    """One line; none where nothing is known."""
    parts = []
    if event.changes is not None:
        files, commits = describe_files(event.changes), event.changes.commits
        parts = [f"files {files}" if files else "no file changed", plural(commits, "commit") if commits else ""]
    if event.tests is not None:
        parts.append(f"tests {describe_tests(event.tests)}")
    known = [part for part in parts if part]
    return [f"  Measured: {' · '.join(known)}"] if known else []


def describe_files(changes: Any) -> str:
    """`+2 ~5 -1`: created, modified, deleted; empty: none."""
    numbers = {"+": changes.created, "~": changes.modified, "-": changes.deleted}
    return " ".join(f"{sign}{number}" for sign, number in numbers.items() if number)


def describe_tests(counts: Any) -> str:
    """`41/43`: passed, of those that ran; empty: not known."""
    return "" if counts is None else f"{counts.passed}/{counts.passed + counts.failed + counts.errors}"


def close_counters(breaker: Breaker, stop: StopSettings) -> str:
    """The counters that are half way or further, for the live line."""
    return " · ".join(f"{name} {now}/{most}" for name, now, most in counters(breaker, stop) if now and 2 * now >= most)


def worktree_made(event: events.WorktreeMade) -> list[str]:
    """Where the run works."""
    begins = "continues at" if event.again else "begins at"
    return [f"Working in the worktree {event.path}", f"  Branch {event.branch}, which {begins} {event.base[:10]}"]


def worktree_left(state: RunState) -> list[str]:
    """What the run leaves in its worktree, with the command that leads on: one line, for which the end has room."""
    tree, left = state.worktree.made, state.worktree.left
    if tree is None or left is None:
        return []
    if left.trouble:
        return [f"  What is in the worktree {tree.path} is not known: {left.trouble}"]
    if not left.clean:
        both = merge_command(tree.main, tree.branch, tree.path)
        return [f"  The worktree stays: it has work that is not committed. Commit and merge it: {both}"]
    if left.commits:
        merge = merge_command(tree.main, tree.branch)
        return [f"  Branch {tree.branch}: {plural(left.commits, 'commit')} to merge: {merge}"]
    return [f"  Branch {tree.branch} has nothing to merge."]


WAITS = {
    "usage_limit": "Usage limit reached",
    "reserve": "The reserve is reached",
    "transient": "The API is overloaded or down",
    "rate_limit": "The API's rate limit is reached",
    "away": "Claude worked before and cannot be called now",
    "pace": "Keeping the pace",
    "schedule": "Outside of the hours for this run",
    "failures": "A pause after the failure",
}
"""What is said of a wait."""


def wait_started(event: events.WaitStarted, at: float, state: RunState) -> list[str]:
    """Why, until when in local time, what comes then, and how to try sooner."""
    about = f": {one_line(event.detail)}" if event.detail else ""
    name = state.run.workspace
    then = f"{_afterwards(event, state)}.{_sooner(event, at, name)}"
    return [f"⏳ {WAITS.get(event.why, event.why)}{about}", f"  Waiting until {_moment(event, at)}{then}"]


def wait_ended(event: events.WaitEnded, paused: bool = False) -> list[str]:
    """The run goes on, unless it is paused."""
    if paused:
        return []
    return ["Continuing." if event.by == "time" else f"Continuing ({event.by})."]


def _moment(event: events.WaitStarted, at: float) -> str:
    return f"{local_times.day_and_time(moment(event.until), at)} ({duration(event.until - at)})"


def _afterwards(event: events.WaitStarted, state: RunState) -> str:
    if event.why in {"reserve", "pace", "schedule", "failures"}:
        return ""
    claims = state.last_status is not None and state.last_status.complete
    proving = claims or state.run.purpose == "verify"
    return "; then the review is repeated" if proving else "; then the iteration is repeated"


def _sooner(event: events.WaitStarted, at: float, name: str) -> str:
    return f" To try now: claude-iterate retry {name}" if event.until - at > 60 else ""  # a short wait ends by itself
