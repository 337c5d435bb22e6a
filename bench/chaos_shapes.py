"""The shapes of rounds of `bench/chaos`: plain work, claims that are checked, limits, reviews, pauses.

Scripts count calls, not iterations: a killed call is used up, and the next one repeats the iteration.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Step = dict[str, Any]
CALLS = 40
"""More than any round needs."""
_FIXED = "test -e claude-iterate/workspaces/my-task/fixed"


@dataclass(frozen=True)
class Shape:
    """One kind of round. `iterations` is 0 where chance decides how many it takes; a kill may wait for an event of
    `marks`, so that kills fall into every phase."""

    name: str
    calls: list[list[Step]]
    flags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    iterations: int = 0
    ends: str = "completed"
    marks: tuple[str, ...] = ("IterationFinished",)
    request: str = ""
    """A request during the run: pause or retry."""


def by_chance(chance: random.Random) -> Shape:
    """The shape of a round."""
    return chance.choice(_SHAPES)(chance)


def prices(shape: Shape) -> dict[int, float]:
    """What each call costs according to the script, by the number of the call."""
    return {
        number: step["result"]["total_cost_usd"]
        for number, steps in enumerate(shape.calls, 1)
        for step in steps
        if "result" in step
    }


def _plain(chance: random.Random) -> Shape:
    """Work, crashes, processes left behind."""
    iterations = chance.randint(5, 8)
    calls = [_any_call(chance, number) for number in range(1, CALLS + 1)]
    settings = {"delay": chance.choice((0, 0, 0.1))}
    return Shape("plain", calls, ("-m", str(iterations)), settings, iterations, "max_iterations")


def _paused(chance: random.Random) -> Shape:
    """The same, with a request to pause."""
    plain = _plain(chance)
    settings = {"delay": 0.1}
    marks = ("Requested", "IterationFinished")
    return Shape("paused", plain.calls, plain.flags, settings, plain.iterations, plain.ends, marks, "pause")


def _checked(chance: random.Random) -> Shape:
    """Claims that are checked: the check fails until a call has fixed the work."""
    fixed_at = chance.randint(4, 6)
    calls = []
    for number in range(1, CALLS + 1):
        steps: list[Step] = [{"touch": "fixed"}] if number >= fixed_at else []
        calls.append(_call(chance, number, *steps, complete=number >= fixed_at or chance.random() < 0.5))
    settings = {
        "delay": 0.2,
        "verification.checks": [f"sleep 0.05; {_FIXED}"],
        "verification.max_attempts": 10,
    }
    marks = ("VerificationStarted", "CheckFinished", "VerificationFinished", "IterationFinished")
    return Shape("checked", calls, (), settings, marks=marks)


def _limited(chance: random.Random) -> Shape:
    """Usage limits of a second or two: longer than a run needs to start."""
    iterations = chance.randint(3, 4)
    calls = [
        _limit(number) if number == 2 or chance.random() < 0.1 else _call(chance, number)
        for number in range(1, CALLS + 1)
    ]
    marks = ("WaitStarted", "WaitStarted", "WaitEnded", "IterationFinished")
    request = chance.choice(("", "", "retry"))
    return Shape("limited", calls, ("-m", str(iterations)), {}, iterations, "max_iterations", marks, request)


def _reviewed(chance: random.Random) -> Shape:
    """Claims that are checked and then reviewed; an iteration or a review may meet a limit."""
    limit = chance.choice((0, 3, 4, 5))
    calls = []
    for number in range(1, CALLS + 1):
        # The built-in fake does the items and the reviews, and reports their cost.
        steps: list[Step] = [{"touch": "fixed"}] if number >= 3 else []
        calls.append(_limit(number) if number == limit else [{"sleep": chance.uniform(0, 0.1)}, *steps, {"work": True}])
    settings = {"delay": 0.1, "verification.checks": [_FIXED], "verification.max_attempts": 10}
    marks = ("ReviewStarted", "ReviewFinished", "VerificationStarted", "VerificationFinished", "WaitStarted")
    return Shape("reviewed", calls, ("--verify",), settings, marks=marks)


_SHAPES: tuple[Callable[[random.Random], Shape], ...] = (_plain, _paused, _checked, _limited, _reviewed)


def _any_call(chance: random.Random, number: int) -> list[Step]:
    """A short call; some crash, some leave a process behind, some exit late."""
    left: list[Step] = []
    if chance.random() < 0.15:
        left.append({"grandchild": {"seconds": 120, "own_session": chance.random() < 0.5}})
    if chance.random() < 0.1:
        return [*_beginning(chance, number), *left, {"exit": 3}]
    return _call(chance, number, *left)


def _call(chance: random.Random, number: int, *between: Step, complete: bool = False) -> list[Step]:
    return [
        *_beginning(chance, number),
        *between,
        {"status": {"complete": complete, "summary": f"call {number}"}},
        {"sleep": chance.uniform(0, 0.04)},
        {"result": {"result": f"call {number}", "total_cost_usd": round(chance.uniform(0.001, 0.05), 6)}},
        {"sleep": chance.uniform(0, 0.04)},
    ]


def _beginning(chance: random.Random, number: int) -> list[Step]:
    return [{"init": {}}, {"say": f"call {number}"}, {"sleep": chance.uniform(0.05, 0.2)}]


def _limit(number: int) -> list[Step]:
    refused = {"is_error": True, "api_error_status": 429, "result": "You've hit your session limit"}
    window = {"window": "five_hour", "seconds": 2}
    return [{"init": {}}, {"rejected": window}, {"result": {**refused, "total_cost_usd": number / 1000}}]
