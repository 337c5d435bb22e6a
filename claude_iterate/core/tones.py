"""How the state of a workspace or a run looks: one tone for every view, and the words for what is not proven.

A colour of the terminal, a class of a page and the sign of a closing line are all made from the tone.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Tone = Literal["good", "warning", "bad", "live", "plain"]

REPORT, PLAN, CHANGED = "report", "plan", "changed"
UNPROVEN = {REPORT: "not proven", PLAN: "not proven", CHANGED: "proof changed"}
"""How it is known that a task is done, where that is no proof: Claude's word, ticked tasks, or a proof that was changed
during the run. Each with what stands behind the state."""

_TONES: dict[str, Tone] = {
    "completed": "good",
    "planned": "good",
    **dict.fromkeys(("starting", "running", "verifying", "waiting", "paused", "stopping"), "live"),
    **dict.fromkeys(("max_iterations", "stagnation", "stopped", "interrupted", "terminated"), "warning"),
    **dict.fromkeys(("budget", "duration", "usage_limit", "reserve", "copy"), "warning"),
    **dict.fromkeys(("new", "new_task", "unfinished", "in_progress"), "plain"),
}

_WORDS = {"pattern": "stop pattern", "script": "stop script"}

COLORS: dict[Tone, str] = {"good": "green", "warning": "yellow", "bad": "red", "live": "cyan"}
"""The colours of a terminal by name; a plain line has none."""

_SIGNS: dict[str, Tone] = {"✓": "good", "✅": "good", "⚠": "warning", "❌": "bad"}


class Line(msgspec.Struct, frozen=True):
    """A line for people, and how it looks."""

    text: str
    tone: Tone = "plain"
    dim: bool = False
    """It is there when one looks for it."""
    bold: bool = False
    sign: Literal["", "good", "warning", "bad"] = ""
    """Stands before it; such a line belongs to the one above."""
    aside: str = ""
    """Stands behind it, dimmed."""


def tone_of_line(line: str) -> Tone:
    """The tone of a line by the sign that it begins with."""
    return _SIGNS.get(line.lstrip()[:1], "plain")


def tone(state: str, known_by: str | None = None) -> Tone:
    """The tone of a state or a reason; failures and what is not known are bad. `known_by` is that of a completion."""
    if state == "completed" and known_by in UNPROVEN:
        return "warning"
    return _TONES.get(state, "bad")


def state_words(state: str, known_by: str | None = None) -> str:
    """`max iterations`, `completed (not proven)`."""
    words = _WORDS.get(state) or state.replace("_", " ")
    return f"{words} ({UNPROVEN[known_by]})" if state == "completed" and known_by in UNPROVEN else words
