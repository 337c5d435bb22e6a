"""Usage limits: real ones, text that only looks like one, and reset times that make no sense."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import INIT, Step, api_error, done, more, said, usage_limit

SOON = {"limits.max_wait": "1s"}
ONCE = Expected(outcomes=("usage_limit", "ok"))
_LIMIT = "You've hit your session limit"
_WORDS = "We hit the 5-hour limit, resets 3pm. API Error: 429 usage limit reached|1999999999"
_NEARLY_USED_UP = {"rateLimitType": "five_hour", "utilization": 0.97, "overageStatus": "rejected"}
_HOUR = 3600.0
_PROBE = 300.0
"""How long a run waits before it tries again when the reset is unknown."""


def _window(**info: object) -> Step:
    return {"event": {"type": "rate_limit_event", "rate_limit_info": info}}


def _resets(fault: str, danger: str, at: Callable[[float], float], waits: tuple[float, float]) -> Fault:
    """A rejection whose `resetsAt` is computed from the present moment. The planned wait is checked, then `retry` ends
    it."""

    def prepare(project: FaultProject) -> None:
        rejected = _window(status="rejected", rateLimitType="five_hour", resetsAt=round(at(time.time())))
        project.script(api_error(_LIMIT, 429, "rate_limit", rejected), done())

    return _planned_wait(fault, danger, prepare, waits)


def _planned_wait(
    fault: str, danger: str, prepare: Callable[[FaultProject], None], waits: tuple[float, float]
) -> Fault:
    return Fault(
        fault,
        danger,
        (),
        ONCE,
        prepare=prepare,
        intervention=interventions.requested("retry", once="WaitStarted"),
        checks=(expectations.waits_between(*waits), expectations.numbers(1, 1), expectations.called(2)),
    )


def _just_passed(project: FaultProject) -> None:
    """A clock time of a minute ago, as in a message that arrives a little late."""
    moment = datetime.now(UTC) - timedelta(minutes=1)
    project.script(api_error(f"Claude usage limit reached, resets {moment:%H:%M} (UTC)", 429, "rate_limit"), done())


FAULTS = {
    "limit-with-reset": Fault(
        "a usage limit that ends in 2 s",
        "A limit that resets at midnight would cost the whole night.",
        (more(), usage_limit(f"{_LIMIT} · resets 1:44am (UTC)", 2), done()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        checks=(
            expectations.numbers(1, 2, 2),
            expectations.has("WaitStarted", 1, why="usage_limit", window="five_hour"),
            expectations.has("WaitEnded", 1),
            expectations.costs(0.02),
        ),
    ),
    "limit-without-reset": Fault(
        "a usage limit without a reset time",
        "The run would give up, or call Claude many times a second.",
        (usage_limit(_LIMIT, None), done()),
        ONCE,
        settings=SOON,
        checks=(expectations.numbers(1, 1), expectations.called(2)),
    ),
    "limit-and-stop": Fault(
        "a usage limit when the settings say stop",
        "A user who wants the run to end would find it waiting.",
        (usage_limit(_LIMIT, 3600),),
        Expected("usage_limit", 7, ("usage_limit",)),
        settings={"limits.on_usage_limit": "stop"},
        flags=("--detailed-exit-code",),
        checks=(expectations.says(_LIMIT), expectations.called(1)),
    ),
    "limit-in-prose": Fault(
        "the model and a file mention limits",
        "A task about rate limits would make the run wait.",
        (
            more(said(_WORDS), {"tool": {"name": "Read", "input": {"file_path": "a"}, "result": _WORDS}}),
            [
                INIT,
                {"tool": {"name": "Bash", "input": {"command": "x"}, "result": _WORDS, "is_error": True}},
                {"status": {"complete": True, "summary": _WORDS}},
                {"result": {"result": _WORDS}},
            ],
        ),
        Expected(outcomes=("ok", "ok")),
        checks=(expectations.has("WaitStarted", 0),),
    ),
    "limit-warning": Fault(
        "a window that is nearly used up, without overage",
        "A warning would be mistaken for a limit, and hours would be lost.",
        (
            more(_window(status="allowed", **_NEARLY_USED_UP)),
            done(_window(status="allowed_warning", **_NEARLY_USED_UP)),
        ),
        Expected(outcomes=("ok", "ok")),
        checks=(expectations.has("WaitStarted", 0),),
    ),
    "limit-in-milliseconds": _resets(
        "a reset time in milliseconds",
        "The run would wait for thousands of years, or call Claude far too early.",
        lambda now: (now + _HOUR) * 1000,
        (_HOUR - 600, _HOUR + 1),
    ),
    "limit-in-the-past": _resets(
        "a reset time in the past",
        "The run would call Claude many times a second.",
        lambda now: now - 24 * _HOUR,
        (_PROBE - 60, _PROBE + 1),
    ),
    "limit-in-ten-years": _resets(
        "a reset time in ten years",
        "The run would wait for ten years.",
        lambda now: now + 10 * 365 * 24 * _HOUR,
        (_PROBE - 60, _PROBE + 1),
    ),
    "limit-just-passed": _planned_wait(
        "a limit message with a clock time that has just passed",
        "The run would wait until the same time tomorrow.",
        _just_passed,
        (0, 60),
    ),
    "reserve-reached": Fault(
        "little is left of a window, reported only in the list of all windows",
        "The run would use up the reserve that the user needs during the day.",
        (more(_window(status="allowed", unifiedWindows={"five_hour": {"utilization": 0.9}})),),
        Expected("reserve", 1, ("ok",)),
        settings={"limits.reserve": {"five_hour": 20}},
        checks=(expectations.says("10% of the five_hour window is left"), expectations.called(1)),
    ),
}
