"""The parts of the text log between Claude's output: header, sections, an iteration's frame, the end. Pure text."""

from __future__ import annotations

import shlex

from claude_iterate.core.events import IterationFinished, RunFinished, RunStarted
from claude_iterate.core.formats import cost, duration, one_line, precise_moment
from claude_iterate.core.outcomes.classes import FINE, RETRIED, WELL
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import ending_lines, run_lines
from claude_iterate.text.claim_lines import remarks
from claude_iterate.text.line_blocks import first_and_rest, indented
from claude_iterate.text.work_lines import worktree_left

RULE = "=" * 80


def framed(*titles: str) -> list[str]:
    """Lines between two rules."""
    return [RULE, *titles, RULE]


def section(title: str, text: str) -> list[str]:
    """A text under its title."""
    return [*framed(title), text.rstrip("\n"), ""]


def header(event: RunStarted, at: float) -> list[str]:
    """Everything known when a run begins."""
    begun = precise_moment(at)
    facts = [
        f"Workspace: {event.workspace}",
        f"Mode: {event.mode}",
        f"Max Iterations: {event.max_iterations or 'no limit'}",
        f"Start Time: {begun}",
        f"Run: {event.run}",
        f"Claude Iterate: {event.version}",
        f"Claude Command: {shlex.join(event.command)}",
    ]
    if event.agent_version:
        facts.append(f"Claude Version: {event.agent_version}")
    if event.sandbox:
        facts.append(f"Sandbox: {event.sandbox}")
    if event.dry_run:
        facts.append("Dry Run: yes")
    top = framed("CLAUDE ITERATE - EXECUTION LOG", f"Started: {begun}")
    return [*top, "", *framed("RUN METADATA"), *facts, ""]


def iteration_opening(number: int, at: float, notes: int = 0) -> list[str]:
    """The frame of an iteration's output."""
    left = [f"Notes: {notes}"] if notes else []
    return [*framed(f"ITERATION {number}", f"Started: {precise_moment(at)}", *left), "", "CLAUDE OUTPUT:"]


def iteration_closing(event: IterationFinished, at: float) -> list[str]:
    """How the iteration ended, and its figures."""
    tokens, status = event.tokens, event.status
    read = tokens.input + tokens.cache_read + tokens.cache_creation
    block = [
        "",
        f"STATUS: {_verdict(event)}",
        f"Completed: {precise_moment(at)}",
        f"Duration: {duration(event.duration)}",
        f"Cost: {cost(event.cost_usd, event.cost_is_lower_bound)}",
        f"Turns: {event.turns}, tools: {event.tools}, tokens: {read:,} in, {tokens.output:,} out",
    ]
    if status is not None and status.remaining is not None:
        block.append(f"Remaining: {status.remaining}")
    if status is not None and status.worked is not None:
        block.append(f"Worked: {'yes' if status.worked else 'no'}")
    if status is not None and status.summary:
        block.append(f"Summary: {one_line(status.summary)}")
    block += [line.strip() for line in run_lines.trouble(event)]
    if event.outcome.kind not in FINE:
        block += ["", *_error(event, at)]
    return [*block, ""]


def _verdict(event: IterationFinished) -> str:
    kind = event.outcome.kind
    if kind in WELL:
        told = "success" if event.reported else "no report"
        return f"{told} (stopped at the turn limit)" if kind == "max_turns" else told
    first, _ = first_and_rest(event.outcome.message)
    return f"{kind}: {first}" if first else kind


def _error(event: IterationFinished, at: float) -> list[str]:
    outcome = event.outcome
    first, rest = first_and_rest(outcome.message or outcome.kind)
    block = [
        f"ERROR (Iteration {event.number}):",
        f"Time: {precise_moment(at)}",
        f"Message: {first}",
        *indented(rest),
    ]
    if outcome.kind not in RETRIED:  # else the run itself knows what to do
        block += [f"Advice: {one_line(line)}" for line in outcome.advice.splitlines()]
    return block


def run_closing(event: RunFinished, at: float, state: RunState) -> list[str]:
    """Why the run ended, and the totals."""
    block = [*framed("RUN FINISHED"), f"Reason: {event.reason}", f"Cause: {event.cause}"]
    if event.detail:
        first, rest = first_and_rest(event.detail)
        block += [f"Detail: {first}", *indented(rest)]
    block += [f"Advice: {one_line(line)}" for line in event.advice.splitlines()]
    block += [*remarks(event, state), *(line.strip() for line in worktree_left(state))]
    if event.next:
        block.append(f"Next: {event.next}")
    return [
        *block,
        f"Iterations: {event.iterations}",
        f"Cost: {ending_lines.cost(event, state)}",
        f"Duration: {duration(event.duration)}",
        f"Finished: {precise_moment(at)}",
    ]
