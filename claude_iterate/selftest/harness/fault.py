"""What a scenario is: one fault, its script, and what has to come of it. Data; `playing` does the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_iterate.selftest.harness.fault_project import Done, Scene
from claude_iterate.selftest.harness.script_steps import Steps

Act = Callable[[Scene, tuple[str, ...]], Done]
"""Runs the command line once or more, with these flags, and gives how the last one ended."""
Check = Callable[[Scene, Done], str]
"""Looks at what is left; says what is wrong, or nothing."""


def run_through(scene: Scene, flags: tuple[str, ...]) -> Done:
    """The usual act: one run, left alone."""
    return scene.finish(scene.start(*flags))


def _nothing_to_prepare(_scene: Scene) -> None:
    """The usual preparation."""


@dataclass(frozen=True)
class Expected:
    """How it has to end. `reason` is empty where no run came to an end of its own."""

    reason: str = "completed"
    code: int = 0
    outcomes: tuple[str, ...] = ("ok",)

    def __str__(self) -> str:
        kinds = " ".join(self.outcomes)
        return f"{self.reason or 'no run'} ({self.code})" + (f": {kinds}" if kinds else "")


@dataclass(frozen=True)
class Scenario:
    """One fault. `danger` tells what it would mean for a user if it was not survived."""

    name: str
    fault: str
    danger: str
    calls: tuple[Steps, ...]
    expected: Expected = Expected()
    checks: tuple[Check, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    instructions: str = "- one\n- two\n"
    mode: str = "loop"
    prepare: Callable[[Scene], None] = _nothing_to_prepare
    act: Act = run_through
    impossible: Callable[[], str] = str
    """Says why this computer cannot play it; the empty string when it can."""
