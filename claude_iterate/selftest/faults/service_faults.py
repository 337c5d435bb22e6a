"""Faults of the service behind Claude: logins, overload, network failures, denied tools, usage limits."""

from __future__ import annotations

from claude_iterate.core.events.enums import Why
from claude_iterate.selftest.harness.fault import Expected, Fault
from claude_iterate.selftest.harness.script_steps import INIT, Step, api_error, finish, message, proceed, usage_limit

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


_DENIAL = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
_LIMIT = "You've hit your session limit"

FAULTS = {
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
    "denied-tools": Fault(
        "a tool that is not allowed, again and again",
        "The run would spend all its iterations on denied requests.",
        ([INIT, message("Denied."), {"result": {"permission_denials": [_DENIAL], "total_cost_usd": 0.01}}],),
        Expected("agent_failed", 1, ("denied", "denied")),
        says=("--allow 'Bash(npm test:*)'",),
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
        Expected(outcomes=("usage_limit", "ok")),
        settings=SOON,
    ),
}
