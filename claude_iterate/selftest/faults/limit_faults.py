"""Faults of usage limits: those that are, those that only sound like one, and moments that make no sense."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Scene
from claude_iterate.selftest.harness.script_steps import Step, api_error, done, more, said, usage_limit

SOON = {"limits.max_wait": "1s"}
ONCE = Expected(outcomes=("usage_limit", "ok"))
_LIMIT = "You've hit your session limit"
_WORDS = "We hit the 5-hour limit, resets 3pm. API Error: 429 usage limit reached|1999999999"
_HOUR = 3600.0
_PROBE = 300.0
"""How long a run waits before it asks again when it does not know for how long."""


def _window(**info: object) -> Step:
    return {"event": {"type": "rate_limit_event", "rate_limit_info": info}}


def _resets(name: str, fault: str, danger: str, at: Callable[[float], float], waits: tuple[float, float]) -> Scenario:
    """A rejection whose `resetsAt` is made from the present moment. How long the run means to wait counts; then it is
    told to try again."""

    def prepare(scene: Scene) -> None:
        rejected = _window(status="rejected", rateLimitType="five_hour", resetsAt=round(at(time.time())))
        scene.script([api_error(_LIMIT, 429, "rate_limit", rejected), done()])

    return _looked_at(name, fault, danger, prepare, waits)


def _looked_at(
    name: str, fault: str, danger: str, prepare: Callable[[Scene], None], waits: tuple[float, float]
) -> Scenario:
    return Scenario(
        name,
        fault,
        danger,
        (),
        ONCE,
        prepare=prepare,
        act=interventions.told("retry", once="WaitStarted"),
        checks=(expectations.waits_between(*waits), expectations.numbers(1, 1), expectations.called(2)),
    )


def _just_passed(scene: Scene) -> None:
    """A clock time of a minute or two ago, as a message has it that is told a little late."""
    moment = datetime.now(UTC) - timedelta(minutes=1)
    scene.script([api_error(f"Claude usage limit reached, resets {moment:%H:%M} (UTC)", 429, "rate_limit"), done()])


SCENARIOS = (
    Scenario(
        "limit-with-reset",
        "a usage limit that ends in 2 s",
        "The night would be lost to a limit that ends at midnight.",
        (more(), usage_limit(f"{_LIMIT} · resets 1:44am (UTC)", 2), done()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        checks=(
            expectations.numbers(1, 2, 2),
            expectations.has("WaitStarted", 1, why="usage_limit", window="five_hour"),
            expectations.has("WaitEnded", 1),
            expectations.costs(0.02),
        ),
    ),
    Scenario(
        "limit-without-reset",
        "a usage limit that names no time",
        "The run would give up, or ask many times a second.",
        (usage_limit(_LIMIT, None), done()),
        ONCE,
        settings=SOON,
        checks=(expectations.numbers(1, 1), expectations.called(2)),
    ),
    Scenario(
        "limit-and-stop",
        "a usage limit, and the settings say stop",
        "Somebody who wants to be told would find a run that waits.",
        (usage_limit(_LIMIT, None),),
        Expected("usage_limit", 7, ("usage_limit",)),
        settings={"limits.on_usage_limit": "stop"},
        flags=("--detailed-exit-code",),
        checks=(expectations.says(_LIMIT), expectations.called(1)),
    ),
    Scenario(
        "limit-in-prose",
        "the model writes about limits; a file does too",
        "A task about rate limits would put the run to sleep.",
        (
            more(said(_WORDS), {"tool": {"name": "Read", "input": {"file_path": "a"}, "result": _WORDS}}),
            done(said(_WORDS)),
        ),
        Expected(outcomes=("ok", "ok")),
        checks=(expectations.has("WaitStarted", 0),),
    ),
    Scenario(
        "limit-warning",
        "a window that is nearly used up, overage refused",
        "A warning would be taken for a limit, and hours lost.",
        (
            done(
                _window(status="allowed_warning", rateLimitType="five_hour", utilization=0.97, overageStatus="rejected")
            ),
        ),
        checks=(expectations.has("WaitStarted", 0),),
    ),
    _resets(
        "limit-in-milliseconds",
        "a reset that is told in milliseconds",
        "The run would wait for thousands of years, or ask far too early.",
        lambda now: (now + _HOUR) * 1000,
        (_HOUR - 60, _HOUR + 1),
    ),
    _resets(
        "limit-in-the-past",
        "a reset that was yesterday",
        "The run would call Claude many times a second.",
        lambda now: now - 24 * _HOUR,
        (_PROBE - 1, _PROBE + 1),
    ),
    _resets(
        "limit-in-ten-years",
        "a reset that is ten years away",
        "The run would wait for ten years.",
        lambda now: now + 10 * 365 * 24 * _HOUR,
        (_PROBE - 1, _PROBE + 1),
    ),
    _looked_at(
        "limit-just-passed",
        "a limit message with a clock time that has just passed",
        "The run would wait until the same time tomorrow.",
        _just_passed,
        (4, 10),
    ),
    Scenario(
        "reserve-reached",
        "little is left of a window, told among all windows only",
        "The run would use up what was to be kept for the day's own work.",
        (more(_window(status="allowed", unifiedWindows={"five_hour": {"utilization": 0.9}})),),
        Expected("reserve", 1, ("ok",)),
        settings={"limits.reserve": {"five_hour": 20}},
        checks=(expectations.says("10% of the five_hour window is left"), expectations.called(1)),
    ),
)
