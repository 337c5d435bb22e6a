"""Keys while a run is shown on a terminal: the same requests as the commands make, with one letter each."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

from claude_iterate.cli import output
from claude_iterate.core.events import Requested
from claude_iterate.core.events.vocabulary import Verb
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system import terminals

HELP = "Keys: p pause, resume · s stop after it · k, n skip it · r retry · {}? help"
DETACH = "d detach · "
_VERBS = {"s": Verb.STOP, "n": Verb.SKIP, "k": Verb.SKIP, "r": Verb.RETRY, "d": Verb.DETACH}
_KNOWN = frozenset("psnkr?")


class Keys:
    """Turns what was typed into requests. `leave` is called after the request to detach was dealt with; without it,
    there is no such key."""

    def __init__(self, handle: int, leave: Callable[[], None] | None = None) -> None:
        self._handle = handle
        self._leave = leave
        self._known = _KNOWN | {"d"} if leave is not None else _KNOWN
        self._leaves = False

    def __call__(self, state: RunState) -> list[Requested]:
        """What was asked for since the last time."""
        if self._leaves:
            if self._leave is not None:
                self._leave()
                self._leave = None
            return []
        typed = (terminals.read_keys(self._handle) or b"").decode("utf-8", "replace").lower()
        # Arrow keys, or a text pasted into the wrong window, must not steer anything.
        if not typed or not self._known.issuperset(typed):
            return []
        paused = state.paused
        requests = []
        for key in typed:
            if key == "?":
                # It replaces the live line, which continues below.
                words = HELP.format(DETACH if "d" in self._known else "")
                output.passing("\r" + words.ljust(shutil.get_terminal_size().columns - 1))
            elif key == "p":
                requests.append(Requested(Verb.RESUME if paused else Verb.PAUSE, "key"))
                paused = not paused
            else:
                requests.append(Requested(_VERBS[key], "key"))
            if key == "d":
                self._leaves = True
                break
        return requests


@contextlib.contextmanager
def listening(leave: Callable[[], None] | None = None) -> Iterator[Keys]:
    """Reads the keyboard of the terminal, key by key; until the run has detached, which `leave` does."""
    handle = sys.stdin.fileno()
    with contextlib.ExitStack() as reading:
        reading.enter_context(terminals.single_keys(handle))

        def release() -> None:
            reading.close()
            assert leave is not None
            leave()

        output.passing("Press ? for keys.")
        yield Keys(handle, release if leave is not None else None)
