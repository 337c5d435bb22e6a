"""What the rules know beyond the state: the time, the settings, what the run is for, and what holds now."""

from __future__ import annotations

from datetime import UTC, tzinfo

import msgspec

from claude_iterate.core.events import PlanRead, ProofChange
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import LimitSettings, Settings
from claude_iterate.core.settings.modes import MODES, Mode


class Inspection(msgspec.Struct, frozen=True):
    """What a step of the proof found: `project` names the state of the project and `tree` is git's name for it;
    `changed` are the files that the checks changed; `tampering` is what changed, before the proof began, of that which
    defines it, if no claim holds with such a change."""

    project: str
    tree: str = ""
    changed: tuple[str, ...] = ()
    tampering: tuple[ProofChange, ...] = ()


class Facts(msgspec.Struct, frozen=True):
    """`now`, `last_heard` (Claude's last sign of life) and `program_began` (the start of the user's program under way)
    are seconds since the run began; `wall` is epoch seconds; `chance` is between 0 and 1. `workspace_gone` is the
    folder's path if it is gone or another one stands there; `unrecorded` says why nothing more can be recorded. `task`
    is the identity of the instructions if a claim stands that has to be about them. `measures`: what iterations do is
    measured. `refuses`: an earlier run, which was to refuse that, left a change of what defines the proof;
    `checks_only`: `verify` without a review. `zone`: None is that of the computer.
    `instructions_lost` is where INSTRUCTIONS.md was, if it cannot be read at the end, `instructions_spoilt`: something
    that cannot be read is in its place, `last_prompt`: the newest prompt that has its text. `inspection` is what the
    last step of the proof found."""

    now: float
    wall: float
    settings: Settings
    max_iterations: int
    purpose: Purpose
    chance: float = 0.0
    last_heard: float = 0.0
    program_began: float = 0.0
    workspace_gone: str = ""
    unrecorded: str = ""
    command_line: CommandLine = CommandLine()
    unread_notes: int = 0
    task: str = ""
    refuses: bool = False
    measures: bool = False
    zone: tzinfo | None = UTC
    instructions_lost: str = ""
    checks_only: bool = False
    mode: Mode = MODES["loop"]
    plan: PlanRead | None = None
    instructions_spoilt: bool = False
    last_prompt: str = ""
    inspection: Inspection | None = None

    @property
    def limits(self) -> LimitSettings:
        """The settings `limits.*`."""
        return self.settings.limits

    @property
    def only_verify(self) -> bool:
        """The run has no iterations: it only proves a claim."""
        return self.purpose == Purpose.VERIFY

    @property
    def review_wanted(self) -> bool:
        """Claude reviews a claim with fresh context; `verify` wants that, unless only the checks decide."""
        if self.checks_only:
            return False
        return self.settings.verification.auto_verify or self.only_verify

    @property
    def proof_wanted(self) -> bool:
        """A claim counts only when checks or a review confirm it."""
        if self.mode.makes_plan and not self.only_verify:
            return False  # a plan does none of the work that is proven
        return self.review_wanted or self.only_verify or bool(self.settings.verification.checks) or self.refuses

    @property
    def refuses_tampering(self) -> bool:
        """No claim holds while something that defines the proof is changed."""
        return self.refuses or self.settings.verification.on_tamper == "refuse"
