"""Settings that are reached by no other end-to-end test, or by a flag only: each changes what a run does."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.settings.declared import catalogue
from tests.e2e.conftest import Loop, until

ROOT = Path(__file__).parents[2]
DONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
BUSY: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
HANG: list[dict[str, Any]] = [{"init": {}}, {"hang": {}}]


def settle(loop: Loop, **values: Any) -> None:
    """Give settings by the environment; `__` stands for the dot of a group."""
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        loop.env[f"CLAUDE_ITERATE_{name.upper()}"] = text


def test_every_setting_is_named_by_a_test() -> None:
    """A setting that no test sets can lose its effect without any test noticing."""
    sources = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "claude_iterate" / "selftest").rglob("*.py")]
    text = "\n".join(path.read_text() for path in sources)
    missing = []
    for setting in catalogue().values():
        short = setting.variable.removeprefix("CLAUDE_ITERATE_")
        names = [f'"{setting.key}"', setting.variable, *(f'"{name}"' for name in setting.original)]
        keyword = re.search(rf'\b{short}[="]', text, re.IGNORECASE)
        if keyword is None and not any(name in text for name in names):
            missing.append(setting.key)
    assert missing == []


@pytest.mark.parametrize(("codes", "code"), [("simple", 1), ("detailed", 5)])
def test_exit_codes(loop: Loop, codes: str, code: int) -> None:
    """`detailed` gives the reason a code of its own."""
    loop.make()
    settle(loop, exit_codes=codes)
    loop.script([{"init": {}}, {"status": {"complete": False, "blocked": "a key"}}, {"result": {}}])
    assert loop.run().code == code


def test_keep_raw_runs(loop: Loop) -> None:
    """Only the newest runs keep Claude's raw output; their journals stay."""
    loop.make()
    settle(loop, keep_raw_runs=2)
    loop.script(BUSY)
    for _ in range(3):
        assert loop.run("-m", "1").code == 0
    kept = [(run / "raw").exists() for run in sorted((loop.workspace / "runs").iterdir())]
    assert kept == [False, True, True]
    assert len(loop.events("RunFinished")) == 3


def test_allowed_tools_and_the_bound_of_money_reach_claude(loop: Loop) -> None:
    """As arguments of every call."""
    loop.make()
    settle(loop, claude__allowed_tools=["Bash(npm test:*)"], limits__max_cost_per_iteration_usd="0.25")
    loop.script(DONE)
    assert loop.run().code == 0
    argv = loop.record(1)["argv"]
    assert argv[argv.index("--allowedTools") + 1] == "Bash(npm test:*)"
    assert float(argv[argv.index("--max-budget-usd") + 1]) == 0.25


@pytest.mark.parametrize(
    ("setting", "span", "steps", "cause"),
    [
        ("timeouts__iteration", "0.5s", HANG, "timeout"),
        ("timeouts__idle", "0.5s", HANG, "idle"),
        ("timeouts__result_grace", "0.5s", [*DONE, {"hang": {}}], "lingering"),
        ("limits__max_duration", "4s", HANG, "duration"),  # it counts from the start of the run
    ],
)
def test_bounds_of_time(loop: Loop, setting: str, span: str, steps: Any, cause: str) -> None:
    """Each ends Claude for its own reason."""
    loop.make()
    settle(loop, **{setting: span}, stop__failures=1, timeouts__terminate_grace="0.3s")
    loop.script(steps)
    loop.run()
    assert [event["cause"] for event in loop.events("CutStarted")] == [cause]


@pytest.mark.parametrize(("what", "reason"), [("stop", "reserve"), ("wait", "completed")])
def test_on_reserve(loop: Loop, what: str, reason: str) -> None:
    """`wait` waits for the window's reset, an hour away; `retry` ends the wait, and the run continues."""
    loop.make()
    settle(loop, limits__reserve={"five_hour": 20}, limits__on_reserve=what, limits__reset_margin=0)
    info = {"status": "allowed", "rateLimitType": "five_hour", "utilization": 0.85, "resetsAt": time.time() + 3600}
    loop.script([*BUSY[:1], {"event": {"type": "rate_limit_event", "rate_limit_info": info}}, *BUSY[1:]], DONE)
    process = loop.start("run", "my-task")
    if what == "wait":
        until(lambda: loop.events("WaitStarted"))
        assert loop.call("retry", "my-task").code == 0
    loop.finish(process)
    assert loop.events("RunFinished")[0]["reason"] == reason
    assert [event["why"] for event in loop.events("WaitStarted")] == (["reserve"] if what == "wait" else [])


@pytest.mark.parametrize(("only", "changes"), [(True, 1), (False, 2)])
def test_notify_only_meaningful(loop: Loop, only: bool, changes: int) -> None:
    """A report in which only the time is new counts as a change if the setting says so."""
    loop.make()
    settle(loop, notification__status_watch__notify_only_meaningful=only)
    reports = [{"complete": False, "summary": "same", "lastUpdated": f"2030-01-0{day}T00:00:00Z"} for day in (1, 2)]
    calls: list[list[dict[str, Any]]] = [[{"init": {}}, {"status": report}, {"result": {}}] for report in reports]
    loop.script(*calls)
    loop.run("-m", "2")
    assert len(loop.events("StatusChanged")) == changes


def test_the_review_and_its_report(loop: Loop) -> None:
    """`auto_verify` holds a review, `depth` says how thorough it is, `report_filename` where its report lies."""
    loop.make()
    settle(
        loop, verification__auto_verify=True, verification__depth="deep", verification__report_filename="my-review.md"
    )
    assert loop.run().code == 0
    assert loop.events("ReviewStarted")[0]["depth"] == "deep"
    assert "VERDICT: " in (loop.workspace / "my-review.md").read_text()


@pytest.mark.parametrize(("redline", "resumes"), [(1, False), (100, True)])
def test_context_redline(loop: Loop, redline: int, resumes: bool) -> None:
    """A context that is fuller than this is not resumed."""
    loop.make()
    settle(loop, session="resume", context_redline=redline)
    usage = {"claude-fake-0": {"inputTokens": 1, "contextWindow": 13000}}
    loop.script([BUSY[0], {"say": "hello"}, BUSY[1], {"result": {"modelUsage": usage}}], DONE)
    assert loop.run().code == 0
    assert ("--resume" in loop.record(2)["argv"]) == resumes
