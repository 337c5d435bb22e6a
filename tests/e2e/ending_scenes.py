"""Runs and how they must end: one scene or more for each reason."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from claude_iterate.core.events.enums import Reason
from claude_iterate.selftest.harness.script_steps import (
    GO,
    INIT,
    READY,
    RESULT,
    api_error,
    finish,
    message,
    proceed,
    usage_limit,
)
from tests.e2e.conftest import Loop

Calls = Sequence[Sequence[dict[str, Any]]]
Act = Callable[[Loop, Any], None]
WORKING = proceed(READY, GO)
"""An iteration that waits until the test has acted."""
WINDOW = {"status": "allowed", "rateLimitType": "five_hour", "utilization": 0.85, "resetsAt": 4102444800}
DENIED = {"permission_denials": [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}]}
FAILING = {"tool": {"name": "Bash", "input": {"command": "make"}, "result": "no such table", "is_error": True}}
RUN = "claude-iterate run my-task"


class Scene(NamedTuple):
    """A run and how it must end. `act` happens while Claude works; before the next step is pasted, `fixed` is made."""

    reason: Reason
    cause: str
    step: str
    calls: Calls
    settings: Mapping[str, Any] = MappingProxyType({})
    flags: tuple[str, ...] = ()
    act: Act | None = None
    mode: str = "loop"
    hooks: Mapping[str, str] = MappingProxyType({})
    """Scripts by the point at which they are called."""


def signalled(*names: str) -> Act:
    def act(loop: Loop, process: Any) -> None:
        for count, name in enumerate(names, 1):
            process.send_signal(getattr(signal, name))
            loop.until(lambda count=count: len(loop.events("StopRequested")) >= count, "the record")  # type: ignore[misc]

    return act


def asked(verb: str) -> Act:
    def act(loop: Loop, _process: Any) -> None:
        loop.request(verb)

    return act


SCENES = {
    "completed": Scene(
        "completed",
        "Claude reports that it is done; nothing has proven it (after 1 iteration)",
        "claude-iterate report my-task",
        [finish()],
    ),
    "proven": Scene(
        "completed",
        "Task completed successfully after 1 iteration: proven by checks",
        "claude-iterate report my-task",
        [finish()],
        {"verification.checks": ["true"]},
    ),
    "max_iterations": Scene(
        "max_iterations", "Reached maximum iterations (2)", f"{RUN} --max-iterations 2", [proceed()], flags=("-m", "2")
    ),
    "refuted at the limit": Scene(
        "max_iterations",
        "Reached maximum iterations (1)",
        f"{RUN} --max-iterations 1",
        [[INIT, {"status": {"complete": True, "progress": {"completed": 2, "total": 2}}}, RESULT]],
        {"verification.checks": ["test -e fixed"]},
        ("-m", "1"),
    ),
    "stagnation": Scene(
        "stagnation",
        "Stagnation detected: 2 consecutive iterations with no work",
        "claude-iterate verify my-task",
        [[INIT, {"status": {"complete": False, "worked": False}}, RESULT]],
        mode="iterative",
    ),
    "no_progress": Scene(
        "no_progress",
        "No progress in 3 iterations in a row",
        f"{RUN} --reset",
        [[INIT, RESULT]],
        {"stop.no_progress": 3},
    ),
    "same_error": Scene(
        "same_error",
        "2 iterations in a row with the same error: no such table",
        f"{RUN} --reset",
        [[INIT, FAILING, RESULT]],
        {"stop.same_error": 2},
    ),
    "test_failures": Scene(
        "test_failures",
        "Tests keep failing: 1 iteration (1 failed, 2 passed)",
        f"{RUN} --reset",
        [proceed()],
        {"stop.test_failures": 1, "commands.test": "echo '2 passed, 1 failed in 0.1s'; exit 1"},
    ),
    "pattern": Scene(
        "pattern",
        "Stop pattern: `I give (up|in)` matches: Sorry, I give up.",
        f"{RUN} --reset",
        [[INIT, message("Sorry, I give up."), RESULT]],
        {"stop.patterns": ["I give (up|in)"]},
    ),
    "script": Scene(
        "script",
        "A stop script ended the run: `test -e fixed || echo enough` exited with 0: enough",
        f"{RUN} --reset",
        [proceed()],
        {"stop.scripts": ["test -e fixed || echo enough"]},
    ),
    "blocked": Scene(
        "blocked",
        "Claude is blocked and needs you: Which colour?",
        RUN,
        [[INIT, {"status": {"complete": False, "blocked": "Which\ncolour?"}}, RESULT]],
    ),
    "verification_failed": Scene(
        "verification_failed",
        "Not done: the check `echo boom; test -e fixed` failed with exit code 1: boom",
        RUN,
        [finish()],
        {"verification.checks": ["echo boom; test -e fixed"], "verification.max_attempts": 1},
    ),
    "login": Scene(
        "agent_failed",
        "Claude failed: Not logged in · Please run /login",
        f"{RUN} --verify",
        [api_error("Not logged in · Please run /login", None, "authentication_failed")],
        flags=("--verify",),
    ),
    "money that no waiting brings": Scene(
        "agent_failed",
        "Claude failed: Extra usage is required for long context requests.",
        RUN,
        [api_error("Extra usage is required for long context requests.", 429, "rate_limit")],
    ),
    "model": Scene(
        "agent_failed",
        "Claude failed: There's an issue with the selected model",
        "claude-iterate config --list --workspace my-task",
        [api_error("There's an issue with the selected model", 404, "model_not_found")],
    ),
    "crash": Scene(
        "agent_failed",
        "Claude failed: 1 iteration failed; the last: Claude exited with code 3 and no result",
        "claude-iterate doctor",
        [[INIT, {"exit": 3}]],
        {"stop.failures": 1},
    ),
    "refused": Scene(
        "agent_failed",
        "Claude failed: 1 iteration failed; the last: Prompt is too long",
        f"{RUN} --reset",
        [api_error("Prompt is too long", 400, "invalid_request")],
        {"stop.failures": 1},
    ),
    "overload": Scene(
        "agent_failed",
        "The API did not recover: Overloaded (waited 0.1s)",
        RUN,
        [api_error("Overloaded", 529, "overloaded")],
        {"limits.max_wait": "0.1s"},
    ),
    "denied": Scene(
        "agent_failed",
        "Claude made no progress, because it is not allowed to use Bash(npm test:*)",
        f"{RUN} --allow 'Bash(npm test:*)'",
        [[INIT, {"result": DENIED}]],
    ),
    "not called": Scene(
        "agent_failed",
        "Cannot start: FOLDER/INSTRUCTIONS.md is empty.",
        "claude-iterate setup my-task",
        [proceed({"write": {"path": "INSTRUCTIONS.md", "text": ""}})],
    ),
    "budget": Scene(
        "budget",
        "The budget is spent: $0.01 of $0.01 (limits.max_cost_usd)",
        f"{RUN} --max-cost 0.02",
        [proceed()],
        flags=("--max-cost", "0.01"),
    ),
    "duration": Scene(
        "duration",
        "Time limit reached: 3.0s (limits.max_duration)",
        f"{RUN} --max-duration 3s",
        [[INIT, {"hang": True}]],
        flags=("--max-duration", "3s"),
    ),
    "usage_limit": Scene(
        "usage_limit",
        "Usage limit reached: You've hit your session limit",
        RUN,
        [usage_limit("You've hit your session limit", 3600)],
        {"limits.on_usage_limit": "stop"},
    ),
    "reserve": Scene(
        "reserve",
        "The reserve is reached: 15% of the five_hour window is left; limits.reserve keeps 20%",
        RUN,
        [proceed({"event": {"type": "rate_limit_event", "rate_limit_info": WINDOW}})],
        {"limits.reserve": {"five_hour": 20}},
    ),
    "hook_abort": Scene(
        "hook_abort",
        "Ended by a hook: claude-iterate/hooks/iteration_finished ended with exit code 2: CI is red",
        RUN,
        [finish()],
        hooks={"iteration_finished": "[ -e fixed ] && exit 0; echo CI is red; exit 2"},
    ),
    "stopped": Scene("stopped", "Stopped by the command `stop`", RUN, [WORKING], act=asked("stop")),
    "interrupted": Scene("interrupted", "Interrupted by Ctrl-C", RUN, [WORKING], act=signalled("SIGINT")),
    "interrupted twice": Scene(
        "interrupted", "Interrupted by Ctrl-C", RUN, [WORKING], act=signalled("SIGINT", "SIGINT")
    ),
    "terminated": Scene("terminated", "Terminated by SIGTERM", RUN, [WORKING], act=signalled("SIGTERM")),
    "hung up": Scene(
        "terminated", "Terminated: the terminal was closed (SIGHUP)", RUN, [WORKING], act=signalled("SIGHUP")
    ),
    "claimed, then cut": Scene(
        "terminated", "Terminated by SIGTERM", RUN, [[*finish()[:2], READY, GO, RESULT]], act=signalled("SIGTERM")
    ),
}
