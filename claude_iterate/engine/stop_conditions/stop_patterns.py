"""Looks for `stop.patterns` in what Claude says and what tools answer, while it comes.

With a time limit for each look and for an iteration: a pattern such as `(a+)+$` must not hold up the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import regex

from claude_iterate.core.events import Event, PatternSeen, Said, ToolAnswered, Warned
from claude_iterate.core.formats import shorten
from claude_iterate.engine.recorder import Recorder

_PATIENCE = 0.25
"""Seconds that one look may take; the engine does nothing else meanwhile."""
_IN_ALL = 2.0
"""Seconds that all looks of one pattern may take in an iteration."""
_AROUND = 60
_SHOWN = 200


class StopPatterns:
    """The patterns of a run. One that takes too long is told once, and not looked for again."""

    def __init__(self, patterns: Iterable[str], recorder: Recorder) -> None:
        self._recorder = recorder
        self._patterns = dict.fromkeys(patterns, 0.0)

    def iteration_begins(self) -> None:
        """Each iteration has the whole time for its looks."""
        self._patterns = dict.fromkeys(self._patterns, 0.0)

    def look(self, printed: Iterable[Event]) -> None:
        """Record the first match of an iteration."""
        for event in printed:
            if isinstance(event, Said | ToolAnswered) and event.text and self._recorder.state.breaker.pattern is None:
                self._look_in(event.text)

    def _look_in(self, text: str) -> None:
        for pattern in tuple(self._patterns):
            found = self._found(pattern, text)
            if found:
                self._recorder.record(PatternSeen(pattern, found))
                return

    def _found(self, pattern: str, text: str) -> str:
        began = time.monotonic()
        left = _IN_ALL - self._patterns[pattern]
        try:
            found = regex.search(pattern, text, timeout=min(_PATIENCE, max(left, 0.001)))
        except TimeoutError:
            self._give_up(pattern)
            return ""
        self._patterns[pattern] += time.monotonic() - began
        if found is None:
            return ""
        start, end = found.span()
        return shorten(text[max(0, start - _AROUND) : end + _AROUND].strip(), _SHOWN)

    def _give_up(self, pattern: str) -> None:
        del self._patterns[pattern]
        hint = "It is not looked for any more in this run. Make it simpler: `stop.patterns`."
        self._recorder.record(Warned(f"The stop pattern `{pattern}` takes too long.", hint))
