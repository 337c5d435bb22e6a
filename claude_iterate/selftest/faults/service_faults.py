"""Faults of the service behind Claude: logins, overload, network failures, money, denied tools, usage limits."""

from __future__ import annotations

from claude_iterate.core.events.enums import Why
from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import waits_between
from claude_iterate.selftest.harness.fault import Expected, Fault
from claude_iterate.selftest.harness.script_steps import (
    INIT,
    Step,
    api_error,
    finish,
    message,
    proceed,
    usage_limit,
)

FAILED = Expected("agent_failed", 1, ("auth",))
SOON = {"limits.max_wait": "1s"}


def _lapse(fault: str, call: list[Step], why: Why = Why.TRANSIENT) -> Fault:
    """A temporary failure: the run repeats the same iteration and counts no failure."""
    return Fault(
        fault,
        "A temporary failure of the service would end the run.",
        (call, finish()),
        Expected(outcomes=("transient", "ok")),
        settings={**SOON, "stop.failures": 1},
        events={f"WaitStarted why={why}": 1},
    )


def _denial(*report: Step) -> list[Step]:
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
    return [INIT, message("Denied."), *report, {"result": {"permission_denials": [denial], "total_cost_usd": 0.01}}]


def _failing_result(subtype: str) -> list[Step]:
    return [INIT, {"result": {"subtype": subtype, "is_error": True, "total_cost_usd": 0.01}}]


def _window(**info: object) -> Step:
    return {"event": {"type": "rate_limit_event", "rate_limit_info": info}}


ONCE = Expected(outcomes=("usage_limit", "ok"))
_LIMIT = "You've hit your session limit"
_WORDS = "We hit the 5-hour limit, resets 3pm. API Error: 429 usage limit reached|1999999999"
_NEARLY_USED_UP = {"rateLimitType": "five_hour", "utilization": 0.97, "overageStatus": "rejected"}
_PROBE = 300.0
"""How long a run waits before it tries again when the reset is unknown."""


FAULTS = {
    "login-refused-once": Fault(
        "one 401 after an iteration that went well",
        "A single bad answer would end the work of a night.",
        (proceed(), api_error("API Error: 401 Unauthorized", 401, "authentication_failed"), finish()),
        Expected(outcomes=("ok", "away", "ok")),
        events={"WaitStarted why=away": 1},
    ),
    "http-401": Fault(
        "the API key is not valid",
        "The run would retry without end, or give no useful message.",
        (api_error("Invalid API key · Fix external API key", 401, "authentication_failed"),),
        FAILED,
        says=("Invalid API key", "ANTHROPIC_API_KEY"),
    ),
    "http-403": Fault(
        "the account may not do this",
        "The run would retry without end, or give no useful message.",
        (api_error("Failed to authenticate. API Error: 403 Request not allowed", 403, "authentication_failed"),),
        FAILED,
        says=("403",),
    ),
    "http-500": _lapse("the server fails", api_error("API Error: 500 Internal server error.", 500, "server_error")),
    "refused": _lapse(
        "the connection is refused",
        api_error("API Error: Unable to connect to API (ConnectionRefused)", None, "server_error"),
    ),
    "http-429": _lapse(
        "a throttle that is not a usage limit",
        api_error(
            "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
            429,
            "rate_limit",
            {"event": {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": False}}},
        ),
        Why.RATE_LIMIT,
    ),
    "http-529": _lapse("the service is overloaded", api_error("API Error: 529 Overloaded.", 529, "overloaded")),
    "reset": _lapse(
        "the connection is lost in the middle of an answer",
        api_error("API Error: Connection to the API was lost (ECONNRESET).", None, "server_error", message("half a")),
    ),
    "down-for-good": Fault(
        "the service does not come back",
        "The run would wait longer than allowed.",
        (api_error("API Error: 529 Overloaded.", 529, "overloaded"),),
        Expected("agent_failed", 1, ("transient", "transient")),
        settings=SOON,
        says=("529", "limits.max_wait"),
    ),
    "denied-tools": Fault(
        "a tool that is not allowed, again and again",
        "The run would spend all its iterations on denied requests.",
        (_denial(),),
        Expected("agent_failed", 1, ("denied", "denied")),
        says=("--allow 'Bash(npm test:*)'",),
    ),
    "http-400": Fault(
        "the API refuses one request",
        "One prompt that is too long would end the run.",
        (api_error("API Error: 400 prompt is too long", 400, "invalid_request"), finish()),
        Expected(outcomes=("refused", "ok")),
    ),
    "limit-with-reset": Fault(
        "a usage limit that ends in 2 s",
        "A limit that resets at midnight would cost the whole night.",
        (proceed(), usage_limit(f"{_LIMIT} · resets 1:44am (UTC)", 2), finish()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        costs=0.02,
        events={"WaitStarted why=usage_limit window=five_hour": 1, "WaitEnded": 1},
    ),
    "limit-without-reset": Fault(
        "a usage limit without a reset time",
        "The run would give up, or call Claude many times a second.",
        (usage_limit(_LIMIT, None), finish()),
        ONCE,
        settings=SOON,
    ),
    "limit-in-prose": Fault(
        "the model and a file mention limits",
        "A task about rate limits would make the run wait.",
        (
            proceed(message(_WORDS), {"tool": {"name": "Read", "input": {"file_path": "a"}, "result": _WORDS}}),
            [
                INIT,
                {"tool": {"name": "Bash", "input": {"command": "x"}, "result": _WORDS, "is_error": True}},
                {"status": {"complete": True, "summary": _WORDS}},
                {"result": {"result": _WORDS}},
            ],
        ),
        Expected(outcomes=("ok", "ok")),
        events={"WaitStarted": 0},
    ),
    "limit-in-the-past": Fault(
        "a reset time in the past",
        "The run would call Claude many times a second.",
        (usage_limit(_LIMIT, -24 * 3600), finish()),
        ONCE,
        intervention=interventions.request("retry", once="WaitStarted"),
        checks=(waits_between(_PROBE - 60, _PROBE + 1),),
    ),
    "limit-and-stop": Fault(
        "a usage limit when the settings say stop",
        "A user who wants the run to end would find it waiting.",
        (usage_limit(_LIMIT, 3600),),
        Expected("usage_limit", 7, ("usage_limit",)),
        settings={"limits.on_usage_limit": "stop"},
        flags=("--detailed-exit-code",),
        says=(_LIMIT,),
    ),
    "limit-warning": Fault(
        "a window that is nearly used up, without overage",
        "A warning would be mistaken for a limit, and hours would be lost.",
        (
            proceed(_window(status="allowed", **_NEARLY_USED_UP)),
            finish(_window(status="allowed_warning", **_NEARLY_USED_UP)),
        ),
        Expected(outcomes=("ok", "ok")),
        events={"WaitStarted": 0},
    ),
    "reserve-reached": Fault(
        "little is left of a window, reported only in the list of all windows",
        "The run would use up the reserve that the user needs during the day.",
        (proceed(_window(status="allowed", unifiedWindows={"five_hour": {"utilization": 0.9}})),),
        Expected("reserve", 1, ("ok",)),
        settings={"limits.reserve": {"five_hour": 20}},
        says=("10% of the five_hour window is left",),
    ),
    "iteration-money-spent": Fault(
        "one iteration reaches its cost limit",
        "One expensive item would end the run.",
        (_failing_result("error_max_budget_usd"), finish()),
        Expected(outcomes=("budget", "ok")),
        settings={"limits.max_cost_per_iteration_usd": 0.01},
        costs=0.02,
    ),
    "money-spent": Fault(
        "the budget is used up before the task is done",
        "The run would cost more than allowed.",
        (proceed(),),
        Expected("budget", 1, ("ok", "ok")),
        flags=("--max-cost", "0.02"),
        costs=0.02,
    ),
    "turn-limit": Fault(
        "Claude reaches its turn limit",
        "A normal end would count as a failure.",
        (_failing_result("error_max_turns"), finish()),
        Expected(outcomes=("max_turns", "ok")),
    ),
}
