"""Faults of the service behind Claude: logins, overload, a network that fails, money, tools that are not allowed."""

from __future__ import annotations

from claude_iterate.selftest.harness import expectations
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.script_steps import (
    INIT,
    UNFINISHED,
    Step,
    Steps,
    api_error,
    done,
    more,
    said,
    silent,
)

FAILED = Expected("agent_failed", 1, ("auth",))
AGAIN = Expected(outcomes=("transient", "ok"))
SOON = {"limits.max_wait": "1s"}


def _passes(name: str, fault: str, call: Steps) -> Scenario:
    """A trouble that passes: the same iteration is done again, and none is spent."""
    return Scenario(
        name,
        fault,
        "A passing trouble of the service would end the night's run.",
        (call, done()),
        AGAIN,
        settings=SOON,
        checks=(expectations.numbers(1, 1), expectations.has("WaitStarted", 1, why="transient")),
    )


def _denied(*report: Step) -> list[Step]:
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
    return [INIT, said("I may not."), *report, {"result": {"permission_denials": [denial], "total_cost_usd": 0.01}}]


def _failed(subtype: str) -> list[Step]:
    return [INIT, {"result": {"subtype": subtype, "is_error": True, "total_cost_usd": 0.01}}]


SCENARIOS = (
    Scenario(
        "http-401",
        "the API key is not valid",
        "The run would try again for ever, or say nothing of use.",
        (api_error("Invalid API key · Fix external API key", 401, "authentication_failed"),),
        FAILED,
        checks=(expectations.says("Invalid API key", "ANTHROPIC_API_KEY"), expectations.called(1)),
    ),
    Scenario(
        "http-403",
        "the account may not do this",
        "The run would try again for ever, or say nothing of use.",
        (api_error("Failed to authenticate. API Error: 403 Request not allowed", 403, "authentication_failed"),),
        FAILED,
        checks=(expectations.says("403"), expectations.called(1)),
    ),
    _passes(
        "http-429",
        "a throttle that is no usage limit",
        api_error(
            "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
            429,
            "rate_limit",
            {"event": {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": False}}},
        ),
    ),
    _passes("http-500", "the server fails", api_error("API Error: 500 Internal server error.", 500, "server_error")),
    _passes("http-529", "the service is overloaded", api_error("API Error: 529 Overloaded.", 529, "overloaded")),
    _passes(
        "refused",
        "the connection is refused",
        api_error("API Error: Unable to connect to API (ConnectionRefused)", None, "server_error"),
    ),
    _passes(
        "reset",
        "the connection is lost in mid-answer",
        api_error("API Error: Connection to the API was lost (ECONNRESET).", None, "server_error", said("half a")),
    ),
    Scenario(
        "down-for-good",
        "the service does not come back",
        "The run would wait beyond the time that it was given.",
        (api_error("API Error: 529 Overloaded.", 529, "overloaded"),),
        Expected("agent_failed", 1, ("transient", "transient")),
        settings=SOON,
        checks=(expectations.says("529", "limits.max_wait"),),
    ),
    Scenario(
        "denied-tools",
        "a tool that is not allowed, again and again",
        "The run would spend all its iterations on asking.",
        (_denied(),),
        Expected("agent_failed", 1, ("denied", "denied")),
        checks=(expectations.says("--allow 'Bash(npm:*)'"),),
    ),
    Scenario(
        "denied-and-reported",
        "the same tool is denied twice, and Claude reports that it got no further",
        "A report would hide that Claude is not allowed to work, all night long.",
        (_denied(UNFINISHED),),
        Expected("agent_failed", 1, ("ok", "ok")),
        checks=(expectations.says("--allow 'Bash(npm:*)'"), expectations.called(2)),
    ),
    Scenario(
        "http-400",
        "the API refuses one request",
        "One prompt that was too long would end the night's run.",
        (api_error("API Error: 400 prompt is too long", 400, "invalid_request"), done()),
        Expected(outcomes=("refused", "ok")),
        checks=(expectations.numbers(1, 2),),
    ),
    Scenario(
        "iteration-money-spent",
        "one iteration uses up what one may cost",
        "One expensive item would end the night's run.",
        (_failed("error_max_budget_usd"), done()),
        Expected(outcomes=("budget", "ok")),
        settings={"limits.max_cost_per_iteration_usd": 0.01},
        checks=(expectations.numbers(1, 2), expectations.costs(0.02)),
    ),
    Scenario(
        "money-spent",
        "the budget is used up in mid-task",
        "The bill would be larger than allowed.",
        (more(),),
        Expected("budget", 1, ("ok", "ok")),
        flags=("--max-cost", "0.02"),
        checks=(expectations.called(2), expectations.costs(0.02)),
    ),
    Scenario(
        "turn-limit",
        "Claude runs into its turn limit",
        "A normal end would count as a failure.",
        (_failed("error_max_turns"), done()),
        Expected(outcomes=("max_turns", "ok")),
    ),
    Scenario(
        "nothing-said",
        "good calls without any report",
        "The run would end, or go on, by mere guess.",
        (silent(),),
        Expected("max_iterations", 0, ("ok", "ok", "ok")),
        flags=("-m", "3"),
    ),
)
