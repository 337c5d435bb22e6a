"""One word for what a run is doing: right in every moment, and the diagram has every change and no other."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Event
from claude_iterate.core.events.enums import ENDINGS, Kind, Purpose, Reason, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.condition import CHANGES, CONDITIONS, KILLED, condition
from claude_iterate.core.state.fold import fold, reduce
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


def test_the_diagram_is_complete_and_true() -> None:
    """Thousands of made-up runs take every arrow of the diagram and no other."""
    taken: dict[tuple[str, str], set[str]] = {}
    chance = random.Random(7)
    for _ in range(3000):
        for arrow, name in walk(chance):
            taken.setdefault(arrow, set()).add(name)
    assert {arrow: sorted(names) for arrow, names in taken.items()} == {
        arrow: sorted(set(names)) for arrow, names in CHANGES.items()
    }


def walk(chance: random.Random) -> Iterator[tuple[tuple[str, str], str]]:
    """A made-up run: each change of its condition, and the event that brought it."""
    purpose = chance.choice([Purpose.RUN] * 6 + [Purpose.VERIFY, Purpose.SETUP])
    before, state, word = None, RunState(), "[*]"
    if purpose == Purpose.RUN and chance.random() < 0.3:
        before = resume_from("a", killed(chance), 1.0)
    event: Event | None = started(purpose, before)
    for number in range(1, 40):
        if event is None:
            return
        state = reduce(state, events.Entry(number, float(number), float(number), event))
        now = "[*]" if state.finished is not None else condition(state)
        if now != word:
            yield (word, now), type(event).__name__
        if state.finished is not None:
            return
        word = now
        event = following(state, chance)


def killed(chance: random.Random) -> RunState:
    """A run that was killed in a wait, with a claim, or in an iteration."""
    done = events.IterationFinished(1, OK)
    limited = events.IterationFinished(1, LIMIT)
    return chance.choice([after(FIRST, limited, WAIT), after(*CLAIMED), after(FIRST), after(FIRST, done)])


def following(state: RunState, chance: random.Random) -> Event:
    """An event that the engine could record next."""
    assert state.started is not None
    asked: list[Event] = [events.Requested(Verb.RESUME) if state.paused else PAUSE]
    if chance.random() < 0.15:
        return STOP
    if chance.random() < 0.2 and state.started.purpose != Purpose.SETUP:
        return asked[0]
    if state.wait is not None:
        return events.WaitEnded(Why.USAGE_LIMIT) if state.stop is None and chance.random() > 0.1 else end(chance)
    if state.call is not None:
        return end_of_call(state, chance)
    if state.stop is not None or chance.random() < 0.1:
        return end(chance)
    if chance.random() < 0.15:
        return WAIT
    return beginning(state, chance)


def end_of_call(state: RunState, chance: random.Random) -> Event:
    assert state.started is not None
    assert state.call is not None
    if state.call.number:
        status = CLAIM if chance.random() < 0.4 else None
        return events.IterationFinished(state.call.number, OK if status else chance.choice([OK, LIMIT]), status)
    if state.started.purpose == Purpose.SETUP:
        return events.OneOffCallFinished(Purpose.SETUP, OK)
    return events.ReviewFinished("incomplete")


def beginning(state: RunState, chance: random.Random) -> Event:
    assert state.started is not None
    if state.started.purpose == Purpose.SETUP:
        return events.OneOffCallStarted(Purpose.SETUP) if state.one_off is None else end(chance)
    if state.started.purpose == Purpose.VERIFY or claim_is_open(state):
        found: list[Event] = [
            events.VerificationStarted(1),
            events.ReviewStarted("quick"),
            events.VerificationFinished(1, False),
        ]
        return chance.choice([*found, events.ClaimDropped("other")]) if claim_is_open(state) else chance.choice(found)
    if chance.random() < 0.1:
        return events.PlanFinished(3)
    if state.paused:
        return events.Requested(Verb.RESUME)
    return events.IterationStarted(state.iterations + 1)


def end(chance: random.Random) -> Event:
    reason: Reason = chance.choice(list(ENDINGS))
    return events.RunFinished(reason)
