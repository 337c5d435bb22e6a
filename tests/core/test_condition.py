"""One word for what a run is doing: right in every moment."""

from __future__ import annotations

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Event
from claude_iterate.core.events.enums import ENDINGS, Kind, Purpose, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.condition import CONDITIONS, KILLED, condition
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState

OK, LIMIT = events.Outcome(Kind.OK), events.Outcome(Kind.USAGE_LIMIT)
CLAIM = Status(True)


def started(purpose: Purpose = Purpose.RUN, resumed: events.Resumed | None = None) -> events.RunStarted:
    return events.RunStarted("r", "w", "loop", 9, 1, "h", "0", ("claude",), purpose=purpose, resumed=resumed)


def after(*found: Event, purpose: Purpose = Purpose.RUN) -> RunState:
    return fold(events.Entry(n, float(n), float(n), event) for n, event in enumerate((started(purpose), *found), 1))


FIRST = events.IterationStarted(1)
CLAIMED = (FIRST, events.IterationFinished(1, OK, CLAIM))
WAIT = events.WaitStarted(Why.USAGE_LIMIT, 99.0)
PAUSE, STOP = events.Requested(Verb.PAUSE), events.StopRequested("SIGINT")


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ((), "starting"),
        ((FIRST,), "running"),
        ((FIRST, PAUSE), "running"),
        ((FIRST, events.IterationFinished(1, OK)), "running"),
        ((FIRST, PAUSE, events.IterationFinished(1, OK)), "paused"),
        ((PAUSE,), "paused"),
        ((FIRST, events.IterationFinished(1, LIMIT), WAIT), "waiting"),
        ((FIRST, events.IterationFinished(1, LIMIT), WAIT, events.WaitEnded(Why.USAGE_LIMIT)), "running"),
        ((WAIT, PAUSE), "waiting"),
        (CLAIMED, "verifying"),
        ((*CLAIMED, PAUSE), "verifying"),
        ((*CLAIMED, events.VerificationStarted(1), events.ReviewStarted("quick")), "verifying"),
        ((*CLAIMED, events.VerificationStarted(1), events.VerificationFinished(1, False)), "running"),
        ((FIRST, STOP), "stopping"),
        ((WAIT, STOP), "stopping"),
        ((FIRST, STOP, events.IterationFinished(1, OK), events.RunFinished("interrupted")), "interrupted"),
    ],
)
def test_the_word_of_a_moment(found: tuple[Event, ...], word: str) -> None:
    """What is under way comes first, then what holds the run."""
    assert condition(after(*found)) == word


def test_other_purposes() -> None:
    """`verify` verifies from its first moment on; a one-off call runs."""
    assert condition(after(purpose=Purpose.VERIFY)) == "verifying"
    assert condition(after(purpose=Purpose.SETUP)) == "starting"
    assert condition(after(events.OneOffCallStarted(Purpose.SETUP), purpose=Purpose.SETUP)) == "running"


def test_a_run_without_a_process_was_killed() -> None:
    """Only a run that has no end: the end counts, whether its process is there or not."""
    assert condition(after(FIRST), alive=False) == KILLED
    assert condition(after(events.RunFinished("budget")), alive=False) == "budget"


def test_no_word_has_two_meanings() -> None:
    """A reason is never the word of a live run."""
    assert not {*CONDITIONS, KILLED} & set(ENDINGS)
