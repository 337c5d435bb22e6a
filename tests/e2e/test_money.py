"""Money that was spent is told: of a call that was ended at least what its messages cost, marked, counted for limits.

`paid` is a message as the real Claude Code prints it. Its result is missing because Claude is ended before it comes.
"""

from __future__ import annotations

import json
import signal
from itertools import count
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until
from tests.recording_receiver import Receiver

OPUS = "claude-opus-4-8"
HANG: dict[str, Any] = {"hang": True}
STUBBORN: dict[str, Any] = {"ignore": ["SIGINT"]}
"""Without a result: one that is interrupted while it waits for the API gives none."""
DONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {"total_cost_usd": 0.5}}]
UNDONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.25}}]
_numbers = count(1)


def paid(given: int = 20_000, model: str = OPUS, parent: str | None = None) -> dict[str, Any]:
    """A message whose request had so many tokens: with Opus ten cents for 20,000."""
    usage = {"input_tokens": given, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    content = [{"type": "text", "text": "working"}]
    message = {"id": f"msg_{next(_numbers)}", "model": model, "usage": usage, "content": content}
    return {"event": {"type": "assistant", "message": message, "parent_tool_use_id": parent}}


def busy(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """A call that is paid for and never ends."""
    return [{"init": {}}, STUBBORN, *messages, {"touch": "ready"}, HANG]


def ended(loop: Loop, how: str) -> None:
    """Start a run, and end its call once all its messages are recorded."""
    process = loop.start("run", "my-task", "-m", "1", "--json")
    until(lambda: (loop.workspace / "ready").exists() and len(loop.events("AssistantText")) >= 2)
    if how == "kill -9":
        loop.kill(process)
        return
    if how in {"skip", "reboot"}:
        loop.request(how)
        loop.finish(process)
        return
    for _ in range(2 if how == "SIGINT" else 1):
        seen = len(loop.events("StopRequested"))
        process.send_signal(getattr(signal, how))
        until(lambda before=seen: len(loop.events("StopRequested")) > before)  # type: ignore[misc]
    loop.finish(process)


@pytest.fixture
def patient(loop: Loop) -> Loop:
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_TIMEOUTS__TERMINATE_GRACE": "0.2", "CLAUDE_ITERATE_STOP__FAILURES": "1"}
    return loop


def told(loop: Loop) -> dict[str, Any]:
    """What is known of the money in all places that add it up; they must agree."""
    history = loop.document("history", "my-task", "--all")
    shown = loop.document("show", "my-task")
    rows = [row for run in history["runs"] for row in run["iterations"]]
    known = sum(row["knownCostUsd"] for row in rows) + sum(run["otherCostUsd"] for run in history["runs"])
    total = history["total"]
    assert total["costUsd"] == pytest.approx(known)
    assert shown["counters"]["costUsd"] == pytest.approx(known)
    assert total["costIsLowerBound"] == shown["counters"]["costIsLowerBound"]
    assert total["costIsLowerBound"] == any(row["costIsLowerBound"] for row in rows)
    return {"known": round(known, 6), "lower": total["costIsLowerBound"], "last": shown["lastRun"]}


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "skip", "kill -9"])
def test_a_call_that_was_ended_has_cost_what_its_messages_say(patient: Loop, how: str) -> None:
    """Those of a sub-agent too, with the price of its own model; it is called a lower bound everywhere."""
    patient.script(busy(paid(), paid(30_000, "claude-haiku-4-5-20251001", "toolu_1")))
    ended(patient, how)
    found = told(patient)
    assert (found["known"], found["lower"]) == (0.13, True)
    assert (found["last"]["costUsd"], found["last"]["costIsLowerBound"]) == (0.13, True)
    assert found["last"]["tokens"]["input"] == 50_000
    assert "at least $0.13" in patient.call("history", "my-task").out
    assert "at least $0.13 in all" in patient.call("show", "my-task").out
    row = patient.document("list")["workspaces"][0]
    assert (row["costUsd"], row["costIsLowerBound"]) == (0.13, True)
    if how != "kill -9":
        assert "\nCost: at least $0.13\n" in patient.log()


def test_the_end_of_a_run_says_it(patient: Loop) -> None:
    """Closing line, document and notification of a call that crashed; the same figure."""
    receiver = Receiver()
    try:
        patient.env |= {"CLAUDE_ITERATE_NOTIFY__URL": receiver.url, "CLAUDE_ITERATE_NOTIFY__FORMAT": "json"}
        patient.script([{"init": {}}, paid(), {"kill_self": "SIGKILL"}])
        done = patient.run("-m", "1", "--json")
        posted = [request.document for request in receiver.received]
    finally:
        receiver.close()
    document = json.loads(done.out)
    assert "Cost: at least $0.10\n" in done.err
    assert (document["costUsd"], document["costIsLowerBound"], document["totalCostIsLowerBound"]) == (0.1, True, True)
    assert (posted[-1]["costUsd"], posted[-1]["costIsLowerBound"]) == (0.1, True)


def test_a_model_without_a_price_has_a_cost_that_is_not_known(patient: Loop) -> None:
    """Its tokens are told, and with a limit on money a warning."""
    patient.script([{"init": {}}, paid(12_345, "my-own-model"), {"kill_self": "SIGKILL"}])
    done = patient.run("-m", "1", "--max-cost", "1")
    assert "Cost: not known (12,345 tokens in, 0 out)" in done.err
    assert "⚠ The cost that Claude reported for iteration 1 cannot be read." in done.err
    assert "`limits.max_cost_usd` cannot count it" in done.err
    assert "not known" in patient.call("history", "my-task").out
    assert "cost not known" in patient.call("show", "my-task").out
    assert told(patient)["last"]["tokens"]["input"] == 12_345


def test_a_call_that_named_its_cost_is_not_marked(patient: Loop) -> None:
    """The result counts, whatever the messages before it cost at least."""
    patient.script([{"init": {}}, paid(), paid(), *DONE[1:]])
    assert "Cost: $0.50\n" in patient.run().out
    assert told(patient) | {"last": None} == {"known": 0.5, "lower": False, "last": None}


def test_it_counts_for_the_limit_over_kills_and_runs(patient: Loop) -> None:
    """Fifteen cents of one run, at least ten of a killed one and at least ten of the one that goes on: with a limit of
    thirty-five no further call begins, and the message says what the sum is."""
    patient.env["CLAUDE_ITERATE_STOP__FAILURES"] = "0"
    first = [*UNDONE[:-1], {"result": {"total_cost_usd": 0.15}}]
    patient.script(first, busy(paid(10_000), paid(10_000)), [{"init": {}}, paid(), {"kill_self": "SIGKILL"}], UNDONE)
    patient.run("-m", "1", "--max-cost", "0.35")
    process = patient.start("run", "my-task", "--max-cost", "0.35")
    until(lambda: (patient.workspace / "ready").exists() and len(patient.events("AssistantText")) >= 2)
    patient.kill(process)
    done = patient.run("--max-cost", "0.35", "--detailed-exit-code")
    assert done.code == 7
    assert "at least $0.35 of $0.35" in done.err
    assert len(list(patient.state.glob("call-*.json"))) == 3
    found = told(patient)
    assert (found["known"], found["last"]["costUsd"], found["last"]["costIsLowerBound"]) == (0.35, 0.2, True)


def test_a_journal_that_was_emptied_takes_no_money_away(patient: Loop) -> None:
    """`show` has it as a lower bound and names the run, `history` too, and the limit counts it."""
    patient.script(UNDONE)
    assert patient.run("-m", "1").code == 0
    (run,) = patient.layout.run_ids()
    patient.layout.journal(run).write_bytes(b"")
    shown = patient.call("show", "my-task").out
    assert "at least $0.25 in all\n  ⚠ Without a journal: run 1. " in shown
    assert "Without a journal: run 1." in patient.call("history", "my-task").err
    spent = patient.run("--max-cost", "0.25")
    assert "The budget is spent: at least $0.25 of $0.25" in spent.out + spent.err


def test_the_next_call_gets_what_is_left(patient: Loop) -> None:
    """What a call that was ended cost at least is taken from the budget of the next."""
    patient.env["CLAUDE_ITERATE_STOP__FAILURES"] = "0"
    patient.script([{"init": {}}, paid(), {"kill_self": "SIGKILL"}], DONE)
    assert patient.run("--max-cost", "1").code == 0
    argv = patient.record(2)["argv"]
    assert float(argv[argv.index("--max-budget-usd") + 1]) == pytest.approx(0.9)


def test_a_review_that_was_ended_is_counted(patient: Loop) -> None:
    """It has no row, but its money is in the sum below the table."""
    patient.script(DONE, [{"init": {}}, paid(), {"kill_self": "SIGKILL"}])
    patient.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    patient.run("--verify")
    shown = patient.call("history", "my-task").out
    assert "Reviews and other calls: at least $0.10; in all at least $0.60" in shown
    assert patient.document("show", "my-task")["counters"]["costUsd"] == pytest.approx(0.6)


def test_a_run_under_way_tells_what_it_has_cost_so_far(patient: Loop) -> None:
    """From another terminal, while Claude works."""
    patient.script(busy(paid(), paid()))
    process = patient.start("run", "my-task")
    until(lambda: (patient.workspace / "ready").exists() and len(patient.events("AssistantText")) >= 2)
    assert "at least $0.20 so far" in patient.call("show", "my-task").out
    process.kill()
    process.wait()
