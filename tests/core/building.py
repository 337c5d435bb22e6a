"""What tests of the rules are built from."""

from __future__ import annotations

from typing import Any

from claude_iterate.core.events import CutStarted, Entry, Event, ResultReported
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import build, catalogue
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState

KEYS = {
    key.rpartition(".")[2]: key
    for key in catalogue()
    if key.rpartition(".")[0] in {"", "limits", "stop", "timeouts", "verification"}
}


def facts(
    now: float,
    wall: float = 0.0,
    last_heard: float = 0.0,
    max_iterations: int = 0,
    stagnates: bool = False,
    purpose: str = "run",
    program_began: float = 0.0,
    workspace_gone: str = "",
    unrecorded: str = "",
    **settings: Any,
) -> Facts:
    """Facts of a run without a delay; a setting goes by the last part of its name."""
    values = {KEYS[name]: value for name, value in {"delay": 0.0, **settings}.items()}
    return Facts(
        now=now,
        wall=wall,
        chance=0.0,
        last_heard=last_heard,
        settings=build(values),
        max_iterations=max_iterations,
        mode=MODES["iterative" if stagnates else "loop"],
        purpose=Purpose(purpose),
        command_line=CommandLine(verb=purpose, workspace="t"),
        program_began=program_began,
        workspace_gone=workspace_gone,
        unrecorded=unrecorded,
    )


def evidence(
    result: ResultReported | None = None, exit_code: int = 0, cut: CutStarted | None = None, **more: Any
) -> Evidence:
    """Of a call that ended like this. `more` are fields of the call, or what is known beside it."""
    beside = {name: more.pop(name) for name in Evidence.__struct_fields__ if name in more}
    return Evidence(Call(0, 0.0, result=result, exit_code=exit_code, cut=cut, **more), **beside)


def entries(*events: Event) -> list[Entry]:
    """These events as they are recorded, a second apart."""
    return [Entry(number, float(number), float(number), event) for number, event in enumerate(events, 1)]


def after(*events: Event) -> RunState:
    """The state after these events."""
    return fold(entries(*events))
