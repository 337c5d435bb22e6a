"""The real Claude does its work under the runner: tools, reports, sessions, money, turns, processes."""

from __future__ import annotations

import shlex
import shutil
import sys

import pytest

from tests.e2e.conftest import until
from tests.mocks.messages_api import Message, Request, Scripted, Usage, text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude

BROKEN = "def add(a, b):\n    return 0  # item 1\n\n\ndef double(a):\n    return 0  # item 2\n"
TESTS = """\
import unittest, calc

class Calc(unittest.TestCase):
    def test_add(self): self.assertEqual(calc.add(2, 3), 5)
    def test_double(self): self.assertEqual(calc.double(4), 8)
"""


def first_of_each_session(requests: list[Request]) -> list[Request]:
    return list({request.session: request for request in reversed(requests)}.values())[::-1]


def test_two_iterations_edit_test_and_report(real: RealLoop) -> None:
    """Iteration 1 does item 1, iteration 2 item 2 and claims completion, each in a session of its own; the prompts
    reach the API, the tools their files, and the money is the sum of what Claude counted."""
    real.make("Mend calc.py.\n\n- item 1: add\n- item 2: double\n")
    code, tests = real.root / "calc.py", real.root / "test_calc.py"
    code.write_text(BROKEN)
    tests.write_text(TESTS)
    unittest = (
        f"cd {shlex.quote(str(real.root))} && PYTHONPATH=. {shlex.quote(sys.executable)} -m unittest -q test_calc"
    )
    status = str(real.workspace / ".status.json")
    usage = Usage(input=2000, output=300, cache_read=40, cache_creation=50)
    real.api.script(
        tool("Read", file_path=str(code)),
        tool("Edit", file_path=str(code), old_string="0  # item 1", new_string="a + b"),
        tool("Bash", command=f"{unittest}.Calc.test_add"),
        tool("Write", file_path=str(real.workspace / "TODO.md"), content="- [x] add\n- [ ] double\n"),
        real.report(False, progress={"completed": 1, "total": 2}, summary="add adds"),
        Message((text("Item 1 is done."),), usage),
        tool("Read", file_path=status),
        Message((text("On to double."), tool("Read", file_path=str(code)))),
        tool("Edit", file_path=str(code), old_string="0  # item 2", new_string="a * 2"),
        tool("Bash", command=unittest),
        real.report(True, progress={"completed": 2, "total": 2}, summary="double doubles"),
        Message((text("All is done."),), usage),
    )
    done = real.run()
    assert done.code == 0, done.err
    assert "⚠️ Claude reports that it is done; nothing has proven it (after 2 iterations)" in done.out
    assert (real.iterations(), real.api.left) == ([(1, "ok"), (2, "ok")], 0)
    assert "a + b" in code.read_text()
    assert "a * 2" in code.read_text()

    one, two = first_of_each_session(real.api.requests)
    for number, request in enumerate((one, two), 1):
        assert f"iteration {number} of at most 50" in request.prompt
        assert "- item 2: double" in request.prompt
        assert status in request.system
        assert [message["role"] for message in request.body["messages"]].count("assistant") == 0
        assert request.credential == "x-api-key"
    assert "add adds" in two.prompt
    for request in (real.api.requests[5], real.api.requests[11]):
        assert [result for result in request.tool_results if result.get("is_error")] == []
    assert [event["session"] for event in real.events("IterationFinished")] == [one.session, two.session]

    costs = [result["total_cost_usd"] for result in real.results()]
    assert [event["cost_usd"] for event in real.events("IterationFinished")] == pytest.approx(costs)
    assert real.ending()["cost_usd"] == pytest.approx(sum(costs))
    assert min(costs) > 0
    tokens = {"input": 5 * 1000 + 2000, "output": 5 * 100 + 300, "cache_read": 40, "cache_creation": 50}
    assert [event["tokens"] for event in real.events("IterationFinished")] == [tokens, tokens]


def test_a_session_goes_on_when_it_is_to(real: RealLoop) -> None:
    """`session = resume`: the second call knows what was said in the first. Each costs what it cost itself, also where
    Claude Code counts the money of the whole session."""
    real.make()
    real.api.script(real.report(False), text("The word is plover."), real.report(True), text("Done."))
    assert real.run("--session", "resume").code == 0
    assert len({request.session for request in real.api.requests}) == 1
    assert "plover" in str(real.api.requests[2].body["messages"])
    first, last = real.results()
    counts_sessions = "model_usage_since_last_result" in last
    costs = last["total_cost_usd"] + (0 if counts_sessions else first["total_cost_usd"])
    assert real.ending()["cost_usd"] == pytest.approx(costs)


def test_a_session_that_is_gone_is_not_resumed_again(real: RealLoop) -> None:
    """Claude does not find it: the work goes on in a new one, and the run does not end for it."""
    real.make()
    real.set(delay="1h")
    look = tool("Read", file_path=str(real.workspace / ".status.json"))
    real.api.script(real.report(False), text("One."), look, real.report(True), text("Two."))
    process = real.start("run", "my-task", "--session", "resume")
    until(lambda: real.events("IterationFinished"))
    shutil.rmtree(real.home / ".claude" / "projects")
    assert real.call("skip", "my-task").code == 0
    done = real.finish(process)
    assert done.code == 0, done.err
    assert len({request.session for request in real.api.requests}) == 2
    assert [number for number, kind in real.iterations() if kind == "ok"] == [1, 2]


def test_a_long_system_prompt_arrives_whole(real: RealLoop) -> None:
    """What is too long for an argument goes through a file, and a prompt that begins with a slash is no command."""
    real.make("/help me\n" + "x" * 200_000 + " the end of the task\n")
    (real.root / "AGENTS.md").write_text("y" * 200_000 + " the end of the rules\n")
    real.set(claude__agents_file="AGENTS.md")
    real.api.script(real.report(True), text("Done."))
    assert real.run().code == 0
    assert "the end of the rules" in real.api.requests[0].system
    assert "the end of the task" in real.api.requests[0].prompt


def test_the_end_is_an_end(real: RealLoop) -> None:
    """One call of Claude that tries all that would go on after its result: it has one result, and no turn is bought."""
    real.make()
    idle = f"{real.idler()} 1301"
    real.api.script(
        tool("Bash", command=idle, run_in_background=True, timeout=1000, description="wait"),
        tool("Monitor", command="while true; do echo x; sleep 1; done", description="watch"),
        tool("ScheduleWakeup", delaySeconds=60, prompt="go on", reason="wait"),
        tool("CronCreate", cron="* * * * *", prompt="go on"),
        real.report(True),
        text("It is over."),
    )
    assert real.run().code == 0
    assert (real.iterations(), real.api.left, len(real.results())) == ([(1, "ok")], 0, 1)
    assert real.events("CutStarted") == []
    assert real.processes() == []


@pytest.mark.setting("claude.background")
def test_a_background_command_ends_and_the_later_result_counts(real: RealLoop) -> None:
    """Where background work is wanted: Claude gives a result, hears of its background command, works on and gives
    another: the last one is the sum."""
    real.make()
    real.set(claude__background="true")
    real.api.script(
        tool("Bash", command="sleep 1; echo finished", run_in_background=True, description="wait"),
        text("I wait for it."),
        real.report(True),
        text("It is over."),
    )
    assert real.run().code == 0
    assert real.iterations() == [(1, "ok")]
    assert [event["text"] for event in real.events("ResultReported")][-1] == "It is over."
    assert len(real.results()) == 2
    assert real.ending()["cost_usd"] == pytest.approx(real.results()[-1]["total_cost_usd"])
    assert real.events("CutStarted") == []


def test_running_into_the_turn_limit_is_a_normal_end(real: RealLoop) -> None:
    """Iteration 1 is cut by its turns; in iteration 2 the report is written by the last turn, and counts."""
    real.make()
    real.set(claude__max_turns=1)
    real.api.script(tool("Bash", command="echo hello"), real.report(True))
    assert real.run().code == 0
    assert real.iterations() == [(1, "max_turns"), (2, "max_turns")]
    assert [result["subtype"] for result in real.results()] == ["error_max_turns"] * 2


def test_money_ends_the_run_and_the_next_one_does_not_begin(real: RealLoop) -> None:
    """Claude is told how much is left and stops at it; what it spent is counted, and nothing more is."""
    real.make()
    real.api.script(
        real.report(False), text("One."), Message((tool("Bash", command="touch never"),), Usage(input=100_000))
    )
    done = real.run("--max-cost", "0.1", "--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (7, "budget")
    assert real.iterations() == [(1, "ok"), (2, "budget")]
    assert not (real.root / "never").exists()
    spent = sum(result["total_cost_usd"] for result in real.results())
    assert real.ending()["cost_usd"] == pytest.approx(spent)
    assert spent > 0.1
    asked = len(real.api.requests)
    assert real.run("--max-cost", "0.1", "--detailed-exit-code").code == 7
    assert len(real.api.requests) == asked
    assert real.ending().get("cost_usd", 0) == 0


def test_a_report_before_the_money_ran_out_counts(real: RealLoop) -> None:
    """Even a final answer over the budget is an error to Claude; the work was done before it, and a check proves it."""
    real.make()
    real.set(verification__checks='["true"]')
    real.api.script(real.report(True), Message((text("Done."),), Usage(input=100_000)))
    done = real.run("--max-cost", "0.1")
    assert (done.code, real.ending()["reason"]) == (0, "completed")
    assert real.results()[-1]["subtype"] == "error_max_budget_usd"


def test_denied_tools_end_the_run_and_the_advice_works(real: RealLoop) -> None:
    """Two iterations with the same denial: the message has the rules to add, and with exactly these it works."""
    real.make()
    real.set(claude__permission_mode="default")
    attempt = (tool("Bash", command="touch made.txt"), real.report(True))
    refused: list[Scripted] = [Message(attempt), text("I may not.")]
    real.api.script(*refused * 2)
    done = real.run("--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (6, "agent_failed")
    assert real.iterations() == [(1, "denied"), (2, "denied")]
    advice = real.ending()["advice"]
    assert "claude.permission_mode acceptEdits" in advice
    assert all(line in done.err for line in advice.splitlines())
    assert not (real.root / "made.txt").exists()
    words = shlex.split(real.ending()["next"])
    real.api.script(Message(attempt), text("Done."))
    assert real.call(*words[1:]).code == 0
    assert (real.root / "made.txt").exists()


def test_what_a_tool_leaves_running_is_ended_with_its_iteration(real: RealLoop) -> None:
    """In the background, in a session of its own, even without the run's mark: gone before the next iteration."""
    real.make()
    idler = real.idler()
    command = f"{idler} 300 & setsid {idler} 301 & env -i setsid nohup {idler} 302 >/dev/null 2>&1 & echo started"
    real.api.script(tool("Bash", command=command), text("One."), real.report(True), text("Two."))
    assert real.run().code == 0
    events = [entry["event"] for entry in real.journal()]
    before = events[: [event.get("number") for event in events].index(2)]
    ended = [name for event in before if event["event"] == "LeftoversEnded" for name in event["processes"]]
    for seconds in ("300", "301", "302"):
        assert any(seconds in name for name in ended), ended
    assert "started" in str(real.api.requests[1].tool_results)
    assert real.processes() == []
