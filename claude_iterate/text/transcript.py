"""Claude's events one after another as text: empty lines where a reader needs them, each result tied to its call.

The formats are in `claude_blocks`; this is the little memory that turns blocks into a text.
"""

from __future__ import annotations

from claude_iterate.core.events import Event, ResultReported, Said, Thought, Told, ToolAnswered, ToolCalled
from claude_iterate.core.formats import clip
from claude_iterate.text.claude_blocks import lines
from claude_iterate.text.line_blocks import Limits
from claude_iterate.text.tool_calls import headline

PARAGRAPHS = frozenset({Said, Thought, Told, ResultReported})
ABOUT_COLUMNS = 80
MOST_OPEN = 1000


class Transcript:
    """Gives the lines of one event after the other."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._before: type | None = None
        self._open: dict[str, str] = {}
        self._latest: ToolCalled | None = None
        """The call right above: its headline is made only if something else comes before its answer."""

    def lines(self, event: Event) -> list[str]:
        """The lines of the next event, with an empty one ahead where a new paragraph begins."""
        block = lines(event, self._limits)
        if not block:
            return block
        kind, before = type(event), self._before
        self._before = kind
        if isinstance(event, ToolCalled):
            if self._latest is not None:
                self._keep_latest()
            self._latest = event
            return ["", *block]
        if isinstance(event, ToolAnswered):
            about = self._about(event)
            return [block[0] + about, *block[1:]] if about else block
        return ["", *block] if kind is not before and kind in PARAGRAPHS else block

    def interrupted(self) -> None:
        """Something else was written in between."""
        self._before = None

    def _keep_latest(self) -> None:
        """Remember the latest call by its headline, because its input can be large."""
        call, self._latest = self._latest, None
        if call is not None:
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            self._open[call.id] = headline(call)

    def _about(self, event: ToolAnswered) -> str:
        """Nothing when the call stands right above; else which call this answers."""
        if self._latest is not None and self._latest.id == event.id:
            self._latest = None
            return ""
        self._keep_latest()
        call = self._open.pop(event.id, "")
        return f"  ← {clip(call, ABOUT_COLUMNS)}" if call else ""
