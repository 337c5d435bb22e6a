"""A step of the fold: signs that a run gets nowhere, counted in a row. `core.rules.hints` tells them."""

from __future__ import annotations

from claude_iterate.core.events import Hints, IterationFinished

_SHRUNK = 0.3
"""An iteration with at most this share of the output of the one before it shrank: by 70 % or more."""
_TESTING = frozenset({"test", "tests", "testing"})


def after(now: Hints, event: IterationFinished) -> Hints:
    """The counts after an iteration that went well; any other says nothing."""
    output, claims = event.tokens.output, event.status is not None and event.status.complete
    shrank = 0 < output <= _SHRUNK * now.output
    did = (event.status.work or event.status.phase or "") if event.status is not None else ""
    return Hints(
        output=output or now.output,
        shrunk=now.shrunk + 1 if shrank else 0 if output else now.shrunk,
        testing=now.testing + 1 if did.lower() in _TESTING else 0,
        said_done=now.said_done + 1 if event.says_done and not claims else 0,
    )
