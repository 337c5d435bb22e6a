"""The end of a run as lines: its cause, the report, what to do, the next step, the totals. Pure functions."""

from __future__ import annotations

from claude_iterate.core import formats
from claude_iterate.core.events import RunFinished
from claude_iterate.core.formats import counted, duration, one_line
from claude_iterate.core.rules.endings import SIGNS, in_words
from claude_iterate.core.state.items_done import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import claim_lines, work_lines
from claude_iterate.text.line_blocks import indented

_REPORTED = frozenset({"completed", "stagnation", "max_iterations", "stopped"})
"""Reasons after which the agent's last report is worth a look."""
_EVIDENCE = frozenset({"blocked", "agent_failed"})
"""Reasons whose evidence was not shown before, and may be longer than a cause."""


def ending(finished: RunFinished, state: RunState, brief: bool = False) -> list[str]:
    """The closing message without the totals; its first line is the cause. `brief`: nothing but what to know and do."""
    finished = in_words(finished, state)
    block = [f"{SIGNS.get(finished.reason, '❌')} {finished.cause}"]
    if not brief and finished.reason in _EVIDENCE:
        shortened = finished.cause.endswith("...")
        block += [] if not shortened else indented(finished.detail.strip().split("\n"), "  ")
    if not brief and finished.reason in _REPORTED and _purpose(state) == "run":
        block += _report(finished, state)
    block += [f"  ⚠ {remark}" for remark in claim_lines.remarks(finished, state)]
    block += [f"  {one_line(line)}" for line in finished.advice.splitlines()]
    block += work_lines.worktree_left(state)
    return [*block, f"  Next: {finished.next}"] if finished.next else block


def totals(finished: RunFinished, state: RunState) -> list[str]:
    """The figures of the run and where its log is."""
    iterations = f"Iterations: {finished.iterations} · " if _purpose(state) == "run" else ""
    figures = f"{iterations}Time: {duration(finished.duration)}{_work(state)} · Cost: {cost(finished, state)}"
    return [figures, *log_place(state)]


def _work(state: RunState) -> str:
    """What was changed, where it was measured."""
    work = state.work
    if not work.measured:
        return ""
    commits = f", {counted(work.commits, 'commit')}" if work.commits else ""
    return f" · Work: {counted(work.files_changed, 'file change')}{commits}"


def cost(finished: RunFinished, state: RunState) -> str:
    """What the run cost, in the words of console and log."""
    if state.started is not None and state.started.dry_run:
        return "nothing (dry run)"
    paid, tokens = formats.cost(finished.cost_usd, finished.cost_is_lower_bound), state.tokens
    read = tokens.input + tokens.cache_read + tokens.cache_creation
    unknown = finished.cost_is_lower_bound and not finished.cost_usd and read
    return f"{paid} ({read:,} tokens in, {tokens.output:,} out)" if unknown else paid


def log_place(state: RunState) -> list[str]:
    """Where to read more."""
    return [f"Log: {state.started.log}"] if state.started is not None and state.started.log else []


def _purpose(state: RunState) -> str:
    return state.started.purpose if state.started is not None else "run"


def _report(finished: RunFinished, state: RunState) -> list[str]:
    """What the agent reported last. The state holds no claim that did not count."""
    status = state.status
    summary = finished.detail if finished.reason == "completed" else ""
    summary = summary or (status.summary if status is not None and status.summary else "")
    block = [f"  {one_line(summary)}"] if summary else []
    if (items := items_done(state)) is not None:
        block.append(f"  Progress: {items.done}/{items.total}{' tasks of the plan' if items.of_plan else ''}")
    return block
