"""What the real Claude Code tells of money: our prices are its own, and what it cannot tell any more is bounded."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from claude_iterate.core import claude_versions, prices
from tests.e2e.conftest import until
from tests.mocks.messages_api import Hang, Message, Usage, text, tool
from tests.real.conftest import RealLoop
from tests.real.prices_of_claude import costs

pytestmark = pytest.mark.real_claude


def test_prices_are_those_of_claude_code(real: RealLoop, claude: str) -> None:
    """For every model in the table the cost of a message with tokens of all kinds is the one that the Claude Code names
    with which the table was made. An older one names no less: the table is a lower bound."""
    usage = Usage(1000, 200, 3000, 400)
    found = costs(claude, real.env, real.api, prices.PRICES, [usage])
    assert claude_versions.NEWEST in prices.MEASURED
    is_the_one = claude_versions.NEWEST in version_of(claude)
    assert not is_the_one or found.keys() == prices.PRICES.keys()
    for model, (cost,) in found.items():
        ours = prices.at_least(model, *usage)
        assert ours is not None
        assert cost == pytest.approx(ours) if is_the_one else cost > ours * 0.999, model


def version_of(claude: str) -> str:
    return subprocess.run([claude, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout


def test_a_claude_that_is_ended_has_cost_what_its_messages_say(real: RealLoop) -> None:
    """Ctrl-C twice while the API is silent. Two answers were paid, with a request of 30,000 tokens each. Claude may
    still print a result, which has their output as well; else that is not known, and the cost is a lower bound."""
    real.make()
    answers = [Message((tool("Bash", command=f"echo {number}"),), Usage(30_000, 500)) for number in (1, 2)]
    real.api.script(*answers, Hang())
    real.set(claude__model="claude-opus-4-8")
    process = real.start("run", "my-task", "--json")
    real.api.wait(lambda requests: len(requests) == 3)
    until(lambda: len(real.events("ToolResult")) == 2)
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
    for number in (1, 2, 3, 4):
        report = real.report(number == 4)
        real.api.script(Message((report,), usage), Message((text("Done for now."),), usage))
    real.set(session="resume", claude__model="claude-opus-4-8", limits__max_cost_usd="1", stop__no_progress="0")
    done = real.finish(real.start("run", "my-task", "-m", "4", "--json"))
    document = json.loads(done.out)
    paid = prices.at_least("claude-opus-4-8", 20_000, 400, 0, 0)
    assert paid is not None
    resumed = [event.get("resumes", "") for event in real.events("IterationStarted")]
    assert [bool(session) for session in resumed] == [False, True, True, True]
    assert document["costUsd"] == pytest.approx(8 * paid)
    assert (document["tokens"]["input"], document["costIsLowerBound"]) == (160_000, False)
    assert (document["reason"], document["iterations"]) == ("completed", 4)
