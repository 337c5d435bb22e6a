"""Settings take effect: each has a test that is marked for it and fails when the setting always has its default."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.agent.processes.child import AFTER_INTERRUPT
from claude_iterate.core.settings.declared import catalogue
from scripts.setting_effects import marked_settings
from tests.e2e.conftest import DONE, UNDONE, Loop, until
from tests.recording_receiver import Receiver

ROOT = Path(__file__).parents[2]
REACHING = {
    "--allowedTools": "Bash(npm test:*)",
    "--fallback-model": "b",
    "--model": "a",
    "--max-turns": "7",
    "--permission-mode": "plan",
}
HANG: list[dict[str, Any]] = [{"init": {}}, {"hang": {}}]


def settle(loop: Loop, **values: Any) -> None:
    """Give settings by the environment; `__` stands for the dot of a group."""
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        loop.env[f"CLAUDE_ITERATE_{name.upper()}"] = text


def test_every_setting_has_a_test_that_is_marked_for_it() -> None:
    """A setting can lose its effect without any test noticing unless one is marked for it. That the marked tests do
    notice is what `scripts/settings` shows."""
    assert sorted(marked_settings(ROOT / "tests")) == sorted(catalogue())


@pytest.mark.setting("exit_codes")
@pytest.mark.parametrize(("codes", "code"), [("simple", 1), ("detailed", 5)])
def test_exit_codes(loop: Loop, codes: str, code: int) -> None:
    """`detailed` gives the reason a code of its own."""
    loop.make()
    settle(loop, exit_codes=codes)
    loop.script([{"init": {}}, {"status": {"complete": False, "blocked": "a key"}}, {"result": {}}])
    assert loop.run().code == code


@pytest.mark.setting("keep_raw_runs")
def test_keep_raw_runs(loop: Loop) -> None:
    """Only the newest runs keep Claude's raw output; their journals stay."""
    loop.make()
    settle(loop, keep_raw_runs=2)
    loop.script(UNDONE)
    for _ in range(3):
        assert loop.run("-m", "1").code == 0
    kept = [(run / "raw").exists() for run in sorted((loop.workspace / "runs").iterdir())]
    assert kept == [False, True, True]
    assert len(loop.events("RunFinished")) == 3


@pytest.mark.setting("claude.command", "claude.args", "claude.model", "claude.max_turns", "claude.permission_mode")
@pytest.mark.setting("claude.allowed_tools", "claude.env", "claude.agents_file", "limits.max_cost_per_iteration_usd")
def test_what_reaches_claude(loop: Loop) -> None:
    """As arguments of every call, in its environment, in its system prompt, and as the program that is called."""
    loop.make()
    (loop.root / "rules.md").write_text("never push")
    settle(loop, claude__allowed_tools=["Bash(npm test:*)"], limits__max_cost_per_iteration_usd="0.25")
    settle(loop, claude__args=["--fallback-model", "b"], claude__model="a", claude__max_turns="7")
    settle(loop, claude__permission_mode="plan", claude__env={"GREETING": "hi"}, claude__agents_file="rules.md")
    loop.script(DONE)
    assert loop.run().code == 0
    call = loop.record(1)
    options = dict(pairwise(call["argv"]))
    assert {name: options.get(name) for name in REACHING} == REACHING
    assert float(options["--max-budget-usd"]) == 0.25
    assert call["env"]["GREETING"] == "hi"
    assert "never push" in " ".join(call["argv"])


@pytest.mark.setting("max_iterations", "output")
def test_a_quiet_run_of_two_iterations(loop: Loop) -> None:
    """`max_iterations` bounds a run, and `output = quiet` shows nothing of its iterations."""
    loop.make()
    settle(loop, max_iterations="2", output="quiet")
    loop.script(UNDONE)
    done = loop.run()
    assert len(loop.events("IterationFinished")) == 2
    assert "Iteration 1" not in done.out + done.err


@pytest.mark.setting("attended")
def test_attended(loop: Loop) -> None:
    """Without a terminal nobody can be asked, so nothing begins."""
    loop.make()
    settle(loop, attended=True)
    loop.script(DONE)
    assert loop.run().code == 2
    assert loop.events("IterationStarted") == []


@pytest.mark.setting("notification.status_watch.enabled")
def test_status_watch_off(loop: Loop) -> None:
    """Then a report is read at the end of the iteration, and one that was replaced before is not seen."""
    loop.make()
    settle(loop, notification__status_watch__enabled=False, notification__status_watch__debounce_ms="500")
    reports = [{"status": {"complete": False, "summary": text}} for text in ("first", "second")]
    loop.script([{"init": {}}, reports[0], {"sleep": 2.5}, reports[1], {"result": {}}])
    assert loop.run("-m", "1").code == 0
    assert [event["status"]["summary"] for event in loop.events("StatusChanged")] == ["second"]


@pytest.mark.setting("timeouts.terminate_grace")
def test_terminate_grace(loop: Loop) -> None:
    """A Claude that ignores every polite signal has the whole pause between SIGTERM and SIGKILL."""
    loop.make()
    settle(loop, timeouts__iteration="0.5s", timeouts__terminate_grace="7s", stop__failures=1)
    loop.script([{"ignore": ["SIGINT", "SIGTERM"]}, *HANG])
    loop.run()
    at = {entry["event"]["event"]: entry["elapsed"] for entry in loop.journal()}
    assert at["AgentExited"] - at["CutStarted"] >= AFTER_INTERRUPT + 7


@pytest.mark.setting("notify.url", "notify.format", "notify.headers", "notify.secret")
def test_where_and_how_notifications_are_posted(loop: Loop, receiver: Receiver) -> None:
    """In the form that is set, with the headers that are set, and signed."""
    loop.make()
    settle(loop, notify__url=receiver.url, notify__format="json", notify__headers={"X-Login": "me"}, notify__secret="s")
    loop.script(DONE)
    assert loop.run().code == 0
    last = receiver.received[-1]
    assert last.document["event"] == "completion"
    headers = {name.lower(): value for name, value in last.headers.items()}
    assert headers["x-login"] == "me"
    assert [name for name in headers if "signature" in name]


@pytest.mark.setting("verification.max_attempts")
def test_max_attempts(loop: Loop) -> None:
    """As many claims as that may fail."""
    loop.make()
    settle(loop, verification__checks=["false"], verification__max_attempts="3")
    loop.script(DONE)
    assert loop.run().code == 1
    assert len(loop.events("VerificationFinished")) == 3


@pytest.mark.setting("timeouts.iteration", "timeouts.idle", "timeouts.result_grace", "limits.max_duration")
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
    ends = loop.events("CutStarted") or loop.events("RunFinished")  # a busy machine may not come to a call in 4 seconds
    assert [end.get("cause") if end["event"] == "CutStarted" else end["reason"] for end in ends] == [cause]


@pytest.mark.setting("limits.on_reserve", "limits.reserve")
@pytest.mark.parametrize(("what", "reason"), [("stop", "reserve"), ("wait", "completed")])
def test_on_reserve(loop: Loop, what: str, reason: str) -> None:
    """`wait` waits for the window's reset, an hour away; `retry` ends the wait, and the run continues."""
    loop.make()
    settle(loop, limits__reserve={"five_hour": 20}, limits__on_reserve=what, limits__reset_margin=0)
    info = {"status": "allowed", "rateLimitType": "five_hour", "utilization": 0.85, "resetsAt": time.time() + 3600}
    loop.script([*UNDONE[:1], {"event": {"type": "rate_limit_event", "rate_limit_info": info}}, *UNDONE[1:]], DONE)
    process = loop.start("run", "my-task")
    if what == "wait":
        until(lambda: loop.events("WaitStarted"))
        assert loop.call("retry", "my-task").code == 0
    loop.finish(process)
    assert loop.events("RunFinished")[0]["reason"] == reason
    assert [event["why"] for event in loop.events("WaitStarted")] == (["reserve"] if what == "wait" else [])


@pytest.mark.setting("notification.status_watch.notify_only_meaningful")
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


@pytest.mark.setting("verification.auto_verify", "verification.depth", "verification.report_filename")
def test_the_review_and_its_report(loop: Loop) -> None:
    """`auto_verify` holds a review, `depth` says how thorough it is, `report_filename` where its report lies."""
    loop.make()
    settle(
        loop, verification__auto_verify=True, verification__depth="deep", verification__report_filename="my-review.md"
    )
    assert loop.run().code == 0
    assert loop.events("ReviewStarted")[0]["depth"] == "deep"
    assert "VERDICT: " in (loop.workspace / "my-review.md").read_text()


@pytest.mark.setting("context_redline", "session")
@pytest.mark.parametrize(("redline", "resumes"), [(1, False), (100, True)])
def test_context_redline(loop: Loop, redline: int, resumes: bool) -> None:
    """A context that is fuller than this is not resumed."""
    loop.make()
    settle(loop, session="resume", context_redline=redline)
    usage = {"claude-fake-0": {"inputTokens": 1, "contextWindow": 13000}}
    loop.script([UNDONE[0], {"say": "hello"}, UNDONE[1], {"result": {"modelUsage": usage}}], DONE)
    assert loop.run().code == 0
    assert ("--resume" in loop.record(2)["argv"]) == resumes


def test_a_switch_takes_back_what_a_file_says(loop: Loop) -> None:
    """`--no-attended` and `--no-verify` win over settings: no terminal is asked for, no review is held. The step that
    a stopped run names repeats them."""
    loop.make()
    settle(loop, attended=True, verification__auto_verify=True)
    loop.script(UNDONE, DONE)
    stopped = loop.run("--no-attended", "--no-verify", "-m", "1")
    assert stopped.code == 0
    assert {"--no-verify", "--no-attended"} <= set((stopped.out + stopped.err).split())
    assert loop.run("--no-attended", "--no-verify").code == 0
    assert loop.events("ReviewStarted") == []
