"""The end of a run as lines: its cause, what to know, its figures, the next step. Pure functions."""

from __future__ import annotations

import msgspec

from claude_iterate.core import formats
from claude_iterate.core.events import RunFinished
from claude_iterate.core.formats import counted, duration, listed, one_line
from claude_iterate.core.rules.endings import in_words, sign
from claude_iterate.core.state.items_done import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import claim_lines, work_lines

_EVIDENCE = frozenset({"blocked", "agent_failed"})
"""Reasons whose evidence was not shown before, and may be longer than a cause."""

_POINTS = 2
"""What there is room for beside the cause and the next command."""


class Closing(msgspec.Struct, frozen=True):
    """The end of a run on a terminal, at most four lines: what came of it; what has to be known, or else where its
    log is; its figures, if there is room for them; the next command. What there is none of is empty."""

    cause: str
    known: tuple[str, ...]
    log: str
    figures: str
    step: str


def closing(finished: RunFinished, state: RunState, log: str = "", brief: bool = False) -> Closing:
    """Of this run. `log` is the path of its log as it is to be shown; `brief`: without the figures."""
    finished = in_words(finished, state)
    known = points(finished, state)
    if len(known) > _POINTS:
        shown = _POINTS - 1  # a line of its own tells of the others, so that each command can be pasted
        known = [*known[:shown], f"({len(known) - shown} more lines: see `logs`)"]
    return Closing(
        f"{sign(finished)} {finished.cause}",
        tuple(f"  {point}" for point in known),
        f"  Log: {log}" if log and not known else "",
        "" if brief or len(known) == _POINTS else f"  {totals(finished, state)}",
        f"  Next: {finished.next}" if finished.next else "",
    )


def points(finished: RunFinished, state: RunState) -> list[str]:
    """What has to be known and done beside the cause and the next step, the most important first."""
    found = [f"⚠ {remark}" for remark in claim_lines.remarks(finished, state)]
    found += [line.strip() for line in work_lines.worktree_left(state)]
    found += [one_line(line) for line in finished.advice.splitlines()]
    found += [f"⚠ Failed hooks: {listed(failed)}"] if (failed := state.hooks.hooks_failed) else []
    cut = finished.reason in _EVIDENCE and finished.cause.endswith("...")
    return [*found, "Claude's words are longer: the log has all of them."] if cut else found


def totals(finished: RunFinished, state: RunState) -> str:
    """The figures of the run."""
    iterations = f"Iterations: {finished.iterations} · " if _purpose(state) == "run" else ""
    items = items_done(state) if _purpose(state) == "run" else None
    done = f"{'Tasks' if items.of_plan else 'Items'}: {items.done}/{items.total} · " if items is not None else ""
    return f"{iterations}{done}Time: {duration(finished.duration)}{_work(state)} · Cost: {cost(finished, state)}"


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


def _purpose(state: RunState) -> str:
    return state.started.purpose if state.started is not None else "run"
