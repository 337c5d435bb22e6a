"""What the real Claude Code tells of money: our prices are its own, and what it cannot tell any more is bounded."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from typing import Any

import pytest

from claude_iterate.core import prices
from tests.e2e.conftest import until
from tests.mocks.messages_api import Hang, Message, Usage, text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude


def test_prices_are_those_of_claude_code(real: RealLoop, claude: str) -> None:
    """For every model in the table the cost of a message with tokens of all kinds is the one that Claude Code names.
    One Claude, which is asked by one model after the other: each start of it costs a second."""
    usage = Usage(10_000, 2_000, 300_000, 40_000)
    real.api.script(forever=Message((text("Done."),), usage))
    form = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([claude, "-p", *form], cwd=real.root, env=real.env, **pipes) as process:  # type: ignore[call-overload]
        for model in prices.INPUT:
            change = {
                "type": "control_request",
                "request_id": model,
                "request": {"subtype": "set_model", "model": model},
            }
            answers(process, change, "control_response")
            said = {"type": "user", "message": {"role": "user", "content": "Go on."}}
            result = answers(process, said, "result")
        process.stdin.close()
    counted = {model: used["costUSD"] for model, used in result["modelUsage"].items()}
    asked = Counter(request.body["model"] for request in real.api.requests)  # of some models twice
    wanted = {model: asked[model] * (prices.at_least(model, *usage) or 0) for model in prices.INPUT}
    assert counted == pytest.approx(wanted)
    assert min(wanted.values()) > 0


def answers(claude: subprocess.Popen[bytes], line: dict[str, Any], kind: str) -> dict[str, Any]:
    """Give Claude a line, and wait for a line of this kind."""
    assert claude.stdin is not None
    assert claude.stdout is not None
    claude.stdin.write(json.dumps(line).encode() + b"\n")
    claude.stdin.flush()
    for printed in claude.stdout:
        found: dict[str, Any] = json.loads(printed)
        if found["type"] == kind:
            return found
    raise AssertionError(f"Claude ended without a {kind}")


def test_a_claude_that_is_ended_has_cost_what_its_messages_say(real: RealLoop) -> None:
    """Ctrl-C twice while the API is silent. Two answers were paid, with a request of 30,000 tokens each. Claude may
    still print a result, which has their output as well; else that is not known, and the cost is a lower bound."""
    real.make()
    answers = [Message((tool("Bash", command=f"echo {number}"),), Usage(30_000, 500)) for number in (1, 2)]
    real.api.script(*answers, Hang())
    real.set(claude__model="claude-opus-4-8")
    process = real.start("run", "my-task", "--json")
    real.api.wait(lambda requests: len(requests) == 3)
    until(lambda: len(real.events("ToolAnswered")) == 2)
    for count in (1, 2):
        process.send_signal(signal.SIGINT)
        until(lambda wanted=count: len(real.events("StopRequested")) == wanted)  # type: ignore[misc]
    done = real.finish(process)
    document = json.loads(done.out)
    least, most = (prices.at_least("claude-opus-4-8", 60_000, output, 0, 0) for output in (0, 1000))
    assert least is not None
    assert most is not None
    told = bool(real.events("ResultReported"))
    assert document["costIsLowerBound"] is not told
    assert document["costUsd"] == pytest.approx(most) if told else least <= document["costUsd"] < most
    assert ("Cost: $0.3" if told else "Cost: at least $0.30") in done.err


def test_a_resumed_session_costs_what_its_calls_cost(real: RealLoop) -> None:
    """Newer versions name the total of the session in every call, with all calls before; a run adds up calls, and
    `limits.max_cost_usd` ends it no sooner."""
    real.make()
    usage = Usage(20_000, 400)
    for number in (1, 2, 3):
        report = real.report(number == 3)
        real.api.script(Message((report,), usage), Message((text("Done for now."),), usage))
    real.set(session="resume", claude__model="claude-opus-4-8", limits__max_cost_usd="0.8")
    done = real.finish(real.start("run", "my-task", "-m", "3", "--json"))
    document = json.loads(done.out)
    paid = prices.at_least("claude-opus-4-8", 20_000, 400, 0, 0)
    assert paid is not None
    resumed = [event.get("resumes", "") for event in real.events("IterationStarted")]
    assert [bool(session) for session in resumed] == [False, True, True]
    assert document["costUsd"] == pytest.approx(6 * paid)
    assert (document["tokens"]["input"], document["costIsLowerBound"]) == (120_000, False)
    assert (document["reason"], document["iterations"]) == ("completed", 3)
