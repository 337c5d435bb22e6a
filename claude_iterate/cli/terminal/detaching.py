"""A run that goes on without its terminal, from its beginning: `run --detach` and `run --watch`."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import Requested
from claude_iterate.core.events.vocabulary import Verb
from claude_iterate.core.state.run_state import RunState


class AtOnce:
    """Asks for it once. By then the run has begun; what was to be said about its start was said on the terminal."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._asked = False
        self._left = False

    def __call__(self, _state: RunState) -> list[Requested]:
        if not self._asked:
            self._asked = True
            return [Requested(Verb.DETACH)]
        if not self._left:
            self._left = True
            self._leave()
        return []
