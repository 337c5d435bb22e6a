"""The output of a test command: what has to be kept of it while it comes, and the counts it ends with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from claude_iterate.project.suite_results import javascript_runners as javascript
from claude_iterate.project.suite_results import other_runners as other
from claude_iterate.project.suite_results import python_runners as python
from claude_iterate.project.suite_results.suite_counts import Counts, Reader, plain

READERS: tuple[Reader, ...] = (
    python.pytest,
    python.unittest,
    javascript.jest,
    javascript.vitest,
    javascript.mocha,
    javascript.node,
    other.cargo,
    other.go,
    other.rspec,
    other.ctest,
    other.surefire,
    other.dotnet,
)
_MOST_LINES = 20_000
_FIRST_LINES = 2_000
_LONGEST = 1_000


class RunnerOutput:
    """Keeps the first and the last lines of an output: summaries come at the end, and of many blocks each has one."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=_MOST_LINES)

    def hear(self, lines: Iterable[bytes]) -> None:
        """Take in lines as they come."""
        for line in lines:
            text = plain(line[: 4 * _LONGEST].decode("utf-8", "replace"))[:_LONGEST]
            if len(self._first) < _FIRST_LINES:
                self._first.append(text)
            else:
                self._last.append(text)

    def counts(self) -> Counts | None:
        """What the last summary says; None when no runner is known by it."""
        lines = [*self._first, *self._last]
        found = [counts for reader in READERS if (counts := reader(lines)) is not None]
        return max(found, key=lambda counts: counts.at, default=None)
