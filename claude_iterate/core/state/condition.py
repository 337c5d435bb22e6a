"""What a run is doing, in one word: `list`, `show`, JSON and every other view take it from here. Pure.

The word is a condition below while the run goes on, `killed` if it cannot go on by itself, and at its end the reason.
`CHANGES` is what can follow what; the diagram in the reference is drawn from it, and a test walks it.
"""

from __future__ import annotations

from typing import Literal

from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.state.requests import claim_is_open
from claude_iterate.core.state.run_state import RunState

Live = Literal["starting", "running", "verifying", "waiting", "paused", "stopping"]

KILLED = "killed"
"""The journal has no end, and no process runs the run."""

CONDITIONS: dict[Live, str] = {
    "starting": "The run has begun. Claude was not called yet.",
    "running": "An iteration is under way, or the next one is about to begin.",
    "verifying": "A claim of completion is put to the proof, or `verify` looks for itself: checks, then the review.",
    "waiting": "The run waits: for a usage limit, an overload, a reserve, its pace or its hours, for Claude that is"
    " away, or after a failure.",
    "paused": "The user said `pause`, and nothing is under way.",
    "stopping": "The run is to end. What is under way comes to its end, or is ended.",
}
"""What a run that goes on can be doing. Beside these: `killed`, and the reasons."""

_WAITED, _HELD = ("WaitStarted",), ("Requested",)
CHANGES: dict[tuple[str, str], tuple[str, ...]] = {
    ("[*]", "starting"): ("RunStarted",),
    ("[*]", "running"): ("RunStarted",),
    ("[*]", "verifying"): ("RunStarted",),
    ("[*]", "waiting"): ("RunStarted",),
    ("starting", "running"): ("IterationStarted", "ErrandStarted"),
    ("starting", "verifying"): ("PlanFinished",),
    ("starting", "waiting"): _WAITED,
    ("starting", "paused"): _HELD,
    ("starting", "stopping"): ("StopRequested",),
    ("running", "verifying"): ("IterationFinished", "PlanFinished"),
    ("running", "waiting"): _WAITED,
    ("running", "paused"): ("IterationFinished", *_HELD),
    ("running", "stopping"): ("StopRequested",),
    ("verifying", "running"): ("VerificationFinished", "ClaimDropped"),
    ("verifying", "starting"): ("VerificationFinished", "ClaimDropped"),
    ("verifying", "waiting"): _WAITED,
    ("verifying", "paused"): ("VerificationFinished", "ClaimDropped"),
    ("verifying", "stopping"): ("StopRequested",),
    ("waiting", "starting"): ("WaitEnded",),
    ("waiting", "running"): ("WaitEnded",),
    ("waiting", "verifying"): ("WaitEnded",),
    ("waiting", "paused"): ("WaitEnded",),
    ("waiting", "stopping"): ("StopRequested",),
    ("paused", "running"): _HELD,
    ("paused", "starting"): _HELD,
    ("paused", "verifying"): ("PlanFinished",),
    ("paused", "waiting"): _WAITED,
    ("paused", "stopping"): ("StopRequested",),
    **{(word, "[*]"): ("RunFinished",) for word in CONDITIONS},
}
"""Which condition can follow which, and the events that lead from one to the other. `[*]` is before and after the run;
a run that goes on with a killed one begins where that one was."""


def condition(state: RunState, *, alive: bool = True) -> str:
    """The one word. `alive`: a process runs the run; a journal alone cannot know it."""
    if state.reason is not None:
        return state.reason
    return live(state) if alive else KILLED


def live(state: RunState) -> Live:
    """What a run does that goes on: the first that holds."""
    if state.stop is not None:
        return "stopping"
    if state.wait is not None:
        return "waiting"
    purpose = state.started.purpose if state.started is not None else Purpose.RUN
    proves = purpose in {Purpose.RUN, Purpose.VERIFY}
    if state.call is not None:
        return "verifying" if proves and not state.call.number else "running"
    if purpose == Purpose.VERIFY or claim_is_open(state):
        return "verifying"
    if state.paused:
        return "paused"
    begun = state.iterations or state.streaks.retries or state.one_off is not None
    return "running" if begun else "starting"
