"""What the real Claude Code tells of money: our prices are its own, and what it cannot tell any more is bounded."""

from __future__ import annotations

import json
import signal

import pytest

from claude_iterate.core import prices
from tests.e2e.conftest import until
from tests.mocks.messages_api import Hang, Message, Usage, text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude


@pytest.mark.parametrize("model", prices.INPUT)
def test_prices_are_those_of_claude_code(real: RealLoop, model: str) -> None:
    """For every model in the table the cost of a message with tokens of all kinds is the one that Claude Code names."""
    real.make()
    real.set(claude__model=model)
    usage = Usage(10_000, 2_000, 300_000, 40_000)
    real.api.script(Message((text("Done."),), usage))
    real.run("-m", "1")
    counted = real.results()[-1]["modelUsage"][model]
    assert counted["costUSD"] == pytest.approx(prices.at_least(model, *usage))


def test_a_claude_that_is_ended_has_cost_what_its_messages_say(real: RealLoop) -> None:
    """Ctrl-C twice while the API is silent: there is no result. Two answers were paid, with a request of 30,000 tokens
    each; their output is not known."""
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
    assert document["costIsLowerBound"] is True
    assert least <= document["costUsd"] <= most
    assert "Cost: at least $0.30" in done.err
