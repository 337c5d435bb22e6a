"""Faults of the service behind Claude: logins, limits, overload, a network that fails, tools that are not allowed."""

from __future__ import annotations

from claude_iterate.selftest import checks
from claude_iterate.selftest.scenario import Expected, Scenario
from claude_iterate.selftest.steps import INIT, Step, Steps, api_error, done, more, said, silent, usage_limit

FAILED = Expected("agent_failed", 1, ("auth",))
AGAIN = Expected(outcomes=("transient", "ok"))
SOON = {"limits.max_wait": "1s"}
_LIMIT = "You've hit your session limit"
_WORDS = "We hit the 5-hour limit, resets 3pm. API Error: 429 usage limit reached|1999999999"


def _passes(name: str, fault: str, call: Steps) -> Scenario:
    """A trouble that passes: the same iteration is done again, and none is spent."""
    return Scenario(
        name,
        fault,
        "A passing trouble of the service would end the night's run.",
        (call, done()),
        AGAIN,
        settings=SOON,
        checks=(checks.numbers(1, 1), checks.has("WaitStarted", 1, why="transient")),
    )


def _denied() -> list[Step]:
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
    return [INIT, said("I may not."), {"result": {"permission_denials": [denial], "total_cost_usd": 0.01}}]


SCENARIOS = (
    Scenario(
        "http-401",
        "the API key is not valid",
        "The run would try again for ever, or say nothing of use.",
        (api_error("Invalid API key · Fix external API key", 401, "authentication_failed"),),
        FAILED,
        checks=(checks.says("Invalid API key", "ANTHROPIC_API_KEY"), checks.called(1)),
    ),
    Scenario(
        "http-403",
        "the account may not do this",
        "The run would try again for ever, or say nothing of use.",
        (api_error("Failed to authenticate. API Error: 403 Request not allowed", 403, "authentication_failed"),),
        FAILED,
        checks=(checks.says("403"), checks.called(1)),
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
        checks=(checks.says("529", "limits.max_wait"),),
    ),
    Scenario(
        "limit-with-reset",
        "a usage limit that ends in 2 s",
        "The night would be lost to a limit that ends at midnight.",
        (more(), usage_limit(f"{_LIMIT} · resets 1:44am (UTC)", 2), done()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        checks=(
            checks.numbers(1, 2, 2),
            checks.has("WaitStarted", 1, why="usage_limit", window="five_hour"),
            checks.has("WaitEnded", 1),
            checks.costs(0.02),
        ),
    ),
    Scenario(
        "limit-without-reset",
        "a usage limit that names no time",
        "The run would give up, or ask many times a second.",
        (usage_limit(_LIMIT, None), done()),
        Expected(outcomes=("usage_limit", "ok")),
        settings=SOON,
        checks=(checks.numbers(1, 1), checks.called(2)),
    ),
    Scenario(
        "limit-and-stop",
        "a usage limit, and the settings say stop",
        "Somebody who wants to be told would find a run that waits.",
        (usage_limit(_LIMIT, None),),
        Expected("usage_limit", 7, ("usage_limit",)),
        settings={"limits.on_usage_limit": "stop"},
        flags=("--detailed-exit-code",),
        checks=(checks.says(_LIMIT), checks.called(1)),
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
        checks=(checks.has("WaitStarted", 0),),
    ),
    Scenario(
        "limit-warning",
        "a window that is nearly used up, overage refused",
        "A warning would be taken for a limit, and hours lost.",
        (
            done(
                {
                    "event": {
                        "type": "rate_limit_event",
                        "rate_limit_info": {
                            "status": "allowed_warning",
                            "rateLimitType": "five_hour",
                            "utilization": 0.97,
                            "overageStatus": "rejected",
                        },
                    }
                }
            ),
        ),
        checks=(checks.has("WaitStarted", 0),),
    ),
    Scenario(
        "denied-tools",
        "a tool that is not allowed, again and again",
        "The run would spend all its iterations on asking.",
        (_denied(),),
        Expected("agent_failed", 1, ("denied", "denied")),
        checks=(checks.says("--allow 'Bash(npm:*)'"),),
    ),
    Scenario(
        "money-spent",
        "the budget is used up in mid-task",
        "The bill would be larger than allowed.",
        (more(),),
        Expected("budget", 1, ("ok", "ok")),
        flags=("--max-cost", "0.02"),
        checks=(checks.called(2), checks.costs(0.02)),
    ),
    Scenario(
        "turn-limit",
        "Claude runs into its turn limit",
        "A normal end would count as a failure.",
        ([INIT, {"result": {"subtype": "error_max_turns", "is_error": True, "total_cost_usd": 0.01}}], done()),
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
