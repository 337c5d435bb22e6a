"""What a fault is: a script for Claude, what happens to the run meanwhile, and how it must end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.selftest.harness.script_steps import Steps
from claude_iterate.selftest.harness.scripted_project import Done, ScriptedProject

QUICK: Mapping[str, Any] = {"keep_awake": False, "timeouts.terminate_grace": "0.3s", "limits.reset_margin": 0}


class FaultProject(ScriptedProject):
    """The project of one fault, with settings that make it short, and with what the intervention has seen."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        super().__init__(folder, {**QUICK, **settings})
        self.others: list[Done] = []
        """How further commands ended."""
        self.closing = contextlib.ExitStack()

    def close(self) -> None:
        super().close()
        self.closing.close()


Intervention = Callable[[FaultProject, tuple[str, ...]], Done]
"""Runs the command line once or more with these flags, and returns how the last run ended."""
Check = Callable[[FaultProject, Done], str]
"""Inspects what is left; returns what is wrong, or an empty text."""


class Expected(msgspec.Struct, frozen=True):
    """How it must end. `reason` is empty where no run ended by itself."""

    reason: str = "completed"
    code: int = 0
    outcomes: tuple[str, ...] = ("ok",)

    def __str__(self) -> str:
        kinds = " ".join(self.outcomes)
        return f"{self.reason or 'no run'} ({self.code})" + (f": {kinds}" if kinds else "")


class Fault(msgspec.Struct, frozen=True):
    """One fault. `danger` says what it would mean for the user if it was not survived."""

    what: str
    danger: str
    calls: tuple[Steps, ...]
    expected: Expected = Expected()
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict)
    flags: tuple[str, ...] = ()
    instructions: str = "- one\n- two\n"
    prepare: Callable[[FaultProject], None] = lambda _project: None
    intervention: Intervention = lambda project, flags: project.run(*flags)
    impossible: Callable[[], str] = str
    """Returns why this computer cannot run it, or an empty text."""
    called: int | None = None
    """How often Claude was called; without a figure once for each outcome."""
    costs: float | None = None
    """What the workspace cost in total, in dollars, according to the end of the last run."""
    says: tuple[str, ...] = ()
    """Words that the run prints."""
    logs: tuple[str, ...] = ()
    """Words in the newest log."""
    prompts: Mapping[int, str] = msgspec.field(default_factory=dict)
    """A text in the prompt of a call, by the number of the call."""
    reasons: Mapping[int, str] = msgspec.field(default_factory=dict)
    """A text in the reason that the journal gives for an outcome, by the place of the iteration."""
    events: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many events there are of a kind with such fields: `CutStarted cause=idle`."""
    checks: tuple[Check, ...] = ()
