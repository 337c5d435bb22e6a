"""The end of a run as lines: what happened, the evidence, what to do next, the totals. Pure functions."""

from __future__ import annotations

from claude_iterate.core.events import RunFinished
from claude_iterate.core.events.reasons import ENDINGS
from claude_iterate.core.formats import counted, duration, money, one_line
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import claim_lines
from claude_iterate.text.line_blocks import first_and_rest, indented

WHAT = {
    "blocked": "Claude is blocked and needs you",
    "verification_failed": "Not done",
    "agent_failed": "Claude failed",
    "budget": "The budget is spent",
    "duration": "Time limit reached",
    "usage_limit": "Usage limit reached",
    "interrupted": "Interrupted",
    "terminated": "Terminated",
}
GO_ON = frozenset({"duration", "usage_limit", "stopped", "interrupted", "terminated"})
"""Reasons after which the next step is to run again, if there is no better advice."""


def ending(finished: RunFinished, state: RunState) -> list[str]:
    """The closing message without the totals; its first line says what happened."""
    return [*_ending(finished, state), *(f"  ⚠ {remark}" for remark in claim_lines.remarks(finished, state))]


def _ending(finished: RunFinished, state: RunState) -> list[str]:
    purpose = state.started.purpose if state.started is not None else "run"
    if finished.reason == "completed" and _is_dry_run(state):
        return _dry_run(finished, state)
    if finished.reason == "completed" and purpose != "run":
        return ["✓ Verified: the task is done." if purpose == "verify" else f"✓ {purpose.capitalize()} finished."]
    if finished.reason == "completed":
        after, known = counted(finished.iterations, "iteration"), claim_lines.known(finished)
        first = f"✓ Task completed successfully after {after}{': ' + known if known else ''}"
        return [first, *_report(finished.detail, state)]
    if finished.reason == "max_iterations":
        return _maximum(finished, state)
    if finished.reason == "stagnation":
        detail = finished.detail
        if detail.isdecimal():
            detail = f"{counted(int(detail), 'consecutive iteration')} with no work"
        return [f"⚠ Stagnation detected: {detail}", *_report("", state), *_advice(finished, state)]
    if finished.reason == "stopped":
        return [f"✓ Stopped {finished.detail}".rstrip(), *_report("", state), *_advice(finished, state)]
    what = WHAT.get(finished.reason, ENDINGS[finished.reason].meaning.rstrip("."))
    first, rest = first_and_rest(finished.detail)
    if finished.reason == "interrupted" and first == "SIGINT":
        what, first = "Interrupted by Ctrl-C", ""
    return [f"✗ {what}{': ' + first if first else ''}", *indented(rest, "  "), *_advice(finished, state)]


def totals(finished: RunFinished, state: RunState) -> list[str]:
    """The figures of the run and where its log is."""
    counts = state.started is None or state.started.purpose == "run"
    iterations = f"Iterations: {finished.iterations} · " if counts else ""
    return [f"{iterations}Time: {duration(finished.duration)} · Cost: {cost(finished, state)}", *log_place(state)]


def cost(finished: RunFinished, state: RunState) -> str:
    """What the run cost, in the words of console and log."""
    return "nothing (dry run)" if _is_dry_run(state) else money(finished.cost_usd)


def _is_dry_run(state: RunState) -> bool:
    return state.started is not None and state.started.dry_run


def _dry_run(finished: RunFinished, state: RunState) -> list[str]:
    """The end of a dry run: nobody should take it for the real thing."""
    purpose, name = (state.started.purpose, state.started.workspace) if state.started is not None else ("run", "NAME")
    if purpose == "verify":
        proof = f"  Prove the work: claude-iterate verify {name}"
        return ["✓ Dry run finished. It proves nothing: the stand-in did not look at the work.", proof]
    if purpose != "run":
        return [f"✓ {purpose.capitalize()} finished (dry run)."]
    after = counted(finished.iterations, "iteration")
    first = f"✓ Completed after {after} (dry run: checks were not run, no work was done)"
    return [first, *_report(finished.detail, state)]


def log_place(state: RunState) -> list[str]:
    """Where to read more."""
    return [f"Log: {state.started.log}"] if state.started is not None and state.started.log else []


def _name(state: RunState) -> str:
    return state.started.workspace if state.started is not None else "NAME"


def _report(summary: str, state: RunState) -> list[str]:
    status = state.status
    summary = summary or (status.summary if status is not None and status.summary else "")
    block = [f"  {one_line(summary)}"] if summary else []
    if status is not None and status.total:
        block.append(f"  Progress: {status.completed}/{status.total}")
    return block


def _maximum(finished: RunFinished, state: RunState) -> list[str]:
    most = state.started.max_iterations if state.started is not None else 0
    most = most or finished.iterations
    run = f"claude-iterate run {_name(state)}"
    return [
        f"⚠ Reached maximum iterations ({most})",
        *_report("", state),
        f"  Continue: {run}",
        f"  Allow more iterations: {run} -m {most * 2}",
        f"  See the progress: claude-iterate show {_name(state)}",
    ]


def _advice(finished: RunFinished, state: RunState) -> list[str]:
    if finished.advice:
        return [f"  {one_line(line)}" for line in finished.advice.splitlines()]
    if finished.reason in GO_ON:
        purpose = state.started.purpose if state.started is not None else "run"
        return [f"  {'Continue' if purpose == 'run' else 'Again'}: claude-iterate {purpose} {_name(state)}"]
    return []
