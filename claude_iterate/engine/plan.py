"""What a run is to do, settled before it begins. Immutable; the engine reads it and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from claude_iterate.core.events import Carried, Requested, Resumed
from claude_iterate.core.rules.verdicts import Facts
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import Mode
from claude_iterate.core.state.run_state import RunState
from claude_iterate.workspace.layout import Layout

ERRANDS = frozenset({"setup", "edit", "validate"})
"""Purposes of a run that makes one call and no iteration."""


def _chance() -> float:
    """Between 0 and 1. Not from `random`, whose import costs more than all that is done with it here."""
    return int.from_bytes(os.urandom(2)) / 65535


@dataclass(frozen=True)
class Texts:
    """The prompts of one iteration, the parts that the log shows once, and the names of the notes in them."""

    system: str
    user: str
    instructions: str
    status_instructions: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """One run. `ask` tells what a person answered so far to the question whether an iteration may begin, `listen` which
    keys were pressed; neither ever waits."""

    run: str
    layout: Layout
    mode: Mode
    settings: Settings
    max_iterations: int
    environ: Mapping[str, str]
    texts: Callable[[int, str], Texts]
    review_texts: Callable[[str, str, str, Path], Texts]
    report: Path
    log: Path
    agent_version: str = ""
    dry_run: bool = False
    purpose: str = "run"
    skip_permissions: bool = False
    carried: Carried = field(default_factory=Carried)
    resumed: Resumed | None = None
    ask: Callable[[int], list[Requested]] = lambda _number: [Requested("go", "answer")]
    listen: Callable[[RunState], list[Requested]] = lambda _state: []
    chance: Callable[[], float] = _chance
    tick: float = 1.0

    @property
    def review_wanted(self) -> bool:
        """Claude is to look at a claim with fresh context; the command `verify` always wants that."""
        return self.settings.verification.auto_verify or self.purpose == "verify"

    def facts(self, now: float, wall: float, last_heard: float = 0.0) -> Facts:
        """The bounds of this run as `decide` reads them."""
        settings = self.settings
        limits = settings.limits
        return Facts(
            now=now,
            wall=wall,
            chance=self.chance(),
            wait_for_limits=limits.on_usage_limit == "wait",
            max_wait=limits.max_wait,
            reset_margin=limits.reset_margin,
            reserve=limits.reserve,
            wait_for_reserve=limits.on_reserve == "wait",
            calls_per_hour=limits.calls_per_hour,
            attended=settings.attended,
            max_iterations=self.max_iterations,
            delay=settings.delay,
            stagnates=self.mode.stagnates,
            stagnation_threshold=settings.stagnation_threshold,
            failures_allowed=settings.stop.failures,
            max_duration=limits.max_duration,
            max_cost_usd=limits.max_cost_usd,
            max_cost_per_iteration_usd=limits.max_cost_per_iteration_usd,
            iteration_timeout=settings.timeouts.iteration,
            idle_timeout=settings.timeouts.idle,
            result_grace=settings.timeouts.result_grace,
            last_heard=last_heard,
            review_wanted=self.review_wanted,
            proof_wanted=self.review_wanted or bool(settings.verification.checks),
            claims_allowed=settings.verification.max_attempts if settings.verification.resume_on_fail else 1,
            only_verify=self.purpose == "verify",
            only_errand=self.purpose in ERRANDS,
        )

    def budget(self, spent: float) -> float | None:
        """What the next iteration may cost."""
        limits = self.settings.limits
        bounds = [limits.max_cost_per_iteration_usd]
        if limits.max_cost_usd is not None:
            bounds.append(limits.max_cost_usd - spent)
        known = [bound for bound in bounds if bound is not None]
        return min(known) if known else None
