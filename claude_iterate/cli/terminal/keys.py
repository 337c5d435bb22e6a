"""Keys while a run is shown on a terminal: the same requests as the commands make, with one letter each."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator

from claude_iterate.cli import output
from claude_iterate.core.events import Requested
from claude_iterate.core.events.vocabulary import Verb
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system import terminals

HELP = "Keys: p pause or resume · s stop after this iteration · n end it now, next · r retry now · ? help"
_VERBS = {"s": Verb.STOP, "n": Verb.SKIP, "r": Verb.RETRY}
_KNOWN = frozenset("psnr?")


class Keys:
    """Turns what was typed into requests."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __call__(self, state: RunState) -> list[Requested]:
        """What was asked for since the last time."""
        typed = (terminals.typed(self._handle) or b"").decode("utf-8", "replace").lower()
        # Arrow keys, or a text pasted into the wrong window, must not steer anything.
        if not typed or not _KNOWN.issuperset(typed):
            return []
        paused = state.paused
        requests = []
        for key in typed:
            if key == "?":
                # It replaces the live line, which continues below.
                output.passing("\r" + HELP.ljust(shutil.get_terminal_size().columns - 1))
            elif key == "p":
                requests.append(Requested(Verb.RESUME if paused else Verb.PAUSE, "key"))
                paused = not paused
            else:
                requests.append(Requested(_VERBS[key], "key"))
        return requests


@contextlib.contextmanager
def listening() -> Iterator[Keys]:
    """Reads the keyboard of the terminal, key by key."""
    handle = sys.stdin.fileno()
    with terminals.single_keys(handle):
        output.passing("Press ? for keys.")
        yield Keys(handle)
