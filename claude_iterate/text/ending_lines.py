"""The end of a run as lines: its cause, what to know, its figures, the next step; and what the next run would be."""

from __future__ import annotations

import msgspec

from claude_iterate.core import formats
from claude_iterate.core.events import RunFinished
from claude_iterate.core.formats import duration, join_names, money, one_line, plural, typed_duration
from claude_iterate.core.rules.endings import sign, with_words
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.condition import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import UNPROVEN
from claude_iterate.text import proof_lines, run_lines

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
    finished = with_words(finished, state)
    known = points(finished, state)
    if len(known) > _POINTS:
        shown = _POINTS - 1  # a line of its own tells of the others, so that each command can be pasted
        known = [*known[:shown], f"({len(known) - shown} more lines: claude-iterate logs {state.run.workspace})"]
    return Closing(
        f"{sign(finished)} {finished.cause}",
        tuple(f"  {point}" for point in known),
        f"  Log: {log}" if log and not known else "",
        "" if brief or len(known) == _POINTS else f"  {totals(finished, state)}",
        f"  Next: {finished.next}" if finished.next else "",
    )


def points(finished: RunFinished, state: RunState) -> list[str]:
    """What has to be known and done beside the cause and the next step, the most important first."""
    found = [f"⚠ {remark}" for remark in proof_lines.claim_remarks(finished, state)]
    found += [line.strip() for line in run_lines.worktree_left(state)]
    found += [one_line(line) for line in finished.advice.splitlines()]
    if finished.known_by in UNPROVEN and state.run.to_prove and state.run.proof_is_example:
        found.append(f"There is no check. {run_lines.how_to_prove(state.run)}")
    failed = state.hooks.hooks_failed
    return [*found, f"⚠ Failed hooks: {join_names(failed)}"] if failed else found


def totals(finished: RunFinished, state: RunState) -> str:
    """The figures of the run."""
    parts = []
    if state.run.purpose == "run":
        parts = [f"Iterations: {finished.iterations}"]
        if (items := items_done(state)) is not None:
            plan = state.plans.now
            noun = "Tasks" if plan is not None and plan.tasks else "Items"
            parts.append(f"{noun}: {items.completed}/{items.total}")
    parts.append(f"Time: {duration(finished.duration)}")
    if (work := state.work).measured:
        commits = f", {plural(work.commits, 'commit')}" if work.commits else ""
        parts.append(f"Work: {plural(work.files_changed, 'file change')}{commits}")
    return " · ".join([*parts, f"Cost: {cost(finished, state)}"])


def cost(finished: RunFinished, state: RunState) -> str:
    """What the run cost, in the words of console and log."""
    if state.run.dry_run:
        return "nothing (dry run)"
    paid, tokens = formats.cost(finished.cost_usd, finished.cost_is_lower_bound), state.tokens
    read = tokens.input + tokens.cache_read + tokens.cache_creation
    unknown = finished.cost_is_lower_bound and not finished.cost_usd and read
    return f"{paid} ({read:,} tokens in, {tokens.output:,} out)" if unknown else paid


def next_run(mode: str, settings: Settings) -> str:
    """`loop mode, at most 50 iterations, 2s between them, at most $5.00 over all runs`."""
    known = MODES[mode]
    most = known.max_iterations if settings.max_iterations is None else settings.max_iterations
    limits = settings.limits
    idle = plural(settings.stagnation_threshold, "iteration")
    parts = (
        f"{mode} mode",
        f"at most {plural(most, 'iteration')}" if most else "no iteration limit",
        f"{typed_duration(settings.delay)} between them" if settings.delay and most != 1 else "",
        f"at most {money(limits.max_cost_usd)} over all runs" if limits.max_cost_usd else "",
        f"at most {typed_duration(limits.max_duration)}" if limits.max_duration else "",
        f"ends after {idle} without work" if known.stagnates and settings.stagnation_threshold else "",
    )
    return ", ".join(filter(None, parts))
