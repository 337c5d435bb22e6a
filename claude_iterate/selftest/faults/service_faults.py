"""Faults of the service behind Claude: logins, overload, network failures, money, tools that are not allowed."""

from __future__ import annotations

from claude_iterate.core.events.vocabulary import Why
from claude_iterate.selftest.harness import expectations
from claude_iterate.selftest.harness.fault import Expected, Fault
from claude_iterate.selftest.harness.script_steps import INIT, UNFINISHED, Step, api_error, done, more, said, silent

FAILED = Expected("agent_failed", 1, ("auth",))
AGAIN = Expected(outcomes=("transient", "ok"))
SOON = {"limits.max_wait": "1s"}


def _passes(fault: str, call: list[Step], why: Why = Why.TRANSIENT) -> Fault:
    """A temporary failure: the run repeats the same iteration and counts no failure."""
    return Fault(
        fault,
        "A temporary failure of the service would end the run.",
        (call, done()),
        AGAIN,
        settings={**SOON, "stop.failures": 1},
        checks=(expectations.numbers(1, 1), expectations.has("WaitStarted", 1, why=why)),
    )


def _denied(*report: Step) -> list[Step]:
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
    return [INIT, said("Denied."), *report, {"result": {"permission_denials": [denial], "total_cost_usd": 0.01}}]


def _failed(subtype: str) -> list[Step]:
    return [INIT, {"result": {"subtype": subtype, "is_error": True, "total_cost_usd": 0.01}}]


FAULTS = {
    "login-refused-once": Fault(
        "one 401 after an iteration that went well",
        "A single bad answer would end the work of a night.",
        (more(), api_error("API Error: 401 Unauthorized", 401, "authentication_failed"), done()),
        Expected(outcomes=("ok", "away", "ok")),
        checks=(expectations.numbers(1, 2, 2), expectations.has("WaitStarted", 1, why="away")),
    ),
    "http-401": Fault(
        "the API key is not valid",
        "The run would retry without end, or give no useful message.",
        (api_error("Invalid API key · Fix external API key", 401, "authentication_failed"),),
        FAILED,
        checks=(expectations.says("Invalid API key", "ANTHROPIC_API_KEY"), expectations.called(1)),
    ),
    "http-403": Fault(
        "the account may not do this",
        "The run would retry without end, or give no useful message.",
        (api_error("Failed to authenticate. API Error: 403 Request not allowed", 403, "authentication_failed"),),
        FAILED,
        checks=(expectations.says("403"), expectations.called(1)),
    ),
    "http-429": _passes(
        "a throttle that is not a usage limit",
        api_error(
            "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
            429,
            "rate_limit",
            {"event": {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": False}}},
        ),
        Why.RATE_LIMIT,
    ),
    "http-500": _passes("the server fails", api_error("API Error: 500 Internal server error.", 500, "server_error")),
    "http-529": _passes("the service is overloaded", api_error("API Error: 529 Overloaded.", 529, "overloaded")),
    "refused": _passes(
        "the connection is refused",
        api_error("API Error: Unable to connect to API (ConnectionRefused)", None, "server_error"),
    ),
    "reset": _passes(
        "the connection is lost in the middle of an answer",
        api_error("API Error: Connection to the API was lost (ECONNRESET).", None, "server_error", said("half a")),
    ),
    "down-for-good": Fault(
        "the service does not come back",
        "The run would wait longer than allowed.",
        (api_error("API Error: 529 Overloaded.", 529, "overloaded"),),
        Expected("agent_failed", 1, ("transient", "transient")),
        settings=SOON,
        checks=(expectations.says("529", "limits.max_wait"),),
    ),
    "denied-tools": Fault(
        "a tool that is not allowed, again and again",
        "The run would spend all its iterations on denied requests.",
        (_denied(),),
        Expected("agent_failed", 1, ("denied", "denied")),
        checks=(expectations.says("--allow 'Bash(npm test:*)'"),),
    ),
    "denied-and-reported": Fault(
        "the same tool is denied twice, and Claude reports no progress",
        "The report would hide that Claude is not allowed to work.",
        (_denied(UNFINISHED),),
        Expected("agent_failed", 1, ("ok", "ok")),
        checks=(expectations.says("--allow 'Bash(npm test:*)'"), expectations.called(2)),
    ),
    "http-400": Fault(
        "the API refuses one request",
        "One prompt that is too long would end the run.",
        (api_error("API Error: 400 prompt is too long", 400, "invalid_request"), done()),
        Expected(outcomes=("refused", "ok")),
        checks=(expectations.numbers(1, 2),),
    ),
    "iteration-money-spent": Fault(
        "one iteration reaches its cost limit",
        "One expensive item would end the run.",
        (_failed("error_max_budget_usd"), done()),
        Expected(outcomes=("budget", "ok")),
        settings={"limits.max_cost_per_iteration_usd": 0.01},
        checks=(expectations.numbers(1, 2), expectations.costs(0.02)),
    ),
    "money-spent": Fault(
        "the budget is used up before the task is done",
        "The run would cost more than allowed.",
        (more(),),
        Expected("budget", 1, ("ok", "ok")),
        flags=("--max-cost", "0.02"),
        checks=(expectations.called(2), expectations.costs(0.02)),
    ),
    "turn-limit": Fault(
        "Claude reaches its turn limit",
        "A normal end would count as a failure.",
        (_failed("error_max_turns"), done()),
        Expected(outcomes=("max_turns", "ok")),
    ),
    "nothing-said": Fault(
        "good calls without any report",
        "The run would end, or continue, by guessing.",
        (silent(),),
        Expected("max_iterations", 0, ("ok", "ok", "ok")),
        flags=("-m", "3"),
    ),
}
