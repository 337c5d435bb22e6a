"""What is known of a call while Claude prints: tools, tasks, doubts, errors, costs."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    AgentExited,
    ApiRetried,
    AssistantText,
    ContextCompacted,
    CutStarted,
    Entry,
    ErrorPrinted,
    Event,
    IterationStarted,
    LimitReported,
    ResultReported,
    SessionOpened,
    TaskEnded,
    TasksListed,
    TaskStarted,
    Thought,
    Tokens,
    ToolCalled,
    ToolResult,
    UsageReported,
)
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.outcomes.call import STDERR_KEPT, Call, Spending
from claude_iterate.core.state.fold import fold


def call_after(*events: Event) -> Call:
    """The call after these events; the first comes at second 1."""
    entries = (Entry(number, float(number), float(number), event) for number, event in enumerate(events, 1))
    call = fold([Entry(0, 0.0, 0.0, IterationStarted(1)), *entries]).call
    assert call is not None
    return call


def test_a_tool_is_open_from_its_call_to_its_answer() -> None:
    """Each with the moment since when it runs; all of them are counted."""
    first, second = ToolCalled("a", "Bash", {}), ToolCalled("b", "Read", {})
    assert call_after(first, second).open_tools == ((first, 1.0), (second, 2.0))
    answered = call_after(first, second, ToolResult("a", "Bash"))
    assert (answered.open_tools, answered.tools) == (((second, 2.0),), 2)


def test_what_claude_said_is_counted_whole() -> None:
    """Also what the journal cut; neither sub-agents nor errors. Compactions are counted."""
    said = (
        AssistantText("four"),
        AssistantText("abc", cut=7),
        AssistantText("sub-agent", parent="t"),
        AssistantText("an error", error="x"),
    )
    call = call_after(*said, ContextCompacted("auto", 9))
    assert (call.said, call.compactions) == (14, 1)


def test_what_is_open_is_bounded() -> None:
    """A Claude that never answers costs no more memory than this: 32 tools, 1000 tasks, the newest."""
    tools = [ToolCalled(str(number), "Bash", {}) for number in range(40)]
    call = call_after(*tools)
    assert [tool.id for tool, _ in call.open_tools] == [str(number) for number in range(8, 40)]
    assert call.tools == 40
    tasks = [TaskStarted(str(number)) for number in range(1010)]
    assert [task.id for task, _ in call_after(*tasks).open_tasks] == [str(number) for number in range(10, 1010)]


REJECTED = LimitReported("rejected", "five_hour")


@pytest.mark.parametrize("doubt", [REJECTED, ApiRetried()], ids=["rejected", "retrying"])
@pytest.mark.parametrize(
    "answer", [AssistantText("hi"), Thought("hm"), ToolCalled("a", "Bash", {})], ids=["said", "thought", "tool"]
)
def test_an_answer_of_the_model_ends_every_doubt(doubt: Event, answer: Event) -> None:
    """Until then the API may not be there at all."""
    assert call_after(doubt).in_doubt
    assert not call_after(doubt, answer).in_doubt


def test_an_error_that_claude_says_is_kept() -> None:
    """It is evidence, and no answer of the model."""
    call = call_after(ApiRetried(), AssistantText("API Error: 529", error="overloaded"))
    assert (call.error_said, call.retrying) == ("API Error: 529", True)


def test_a_result_after_the_cut_takes_no_money_back() -> None:
    """What Claude says when we end it may name less than before."""
    call = call_after(
        ResultReported("success", cost_usd=1.0), CutStarted(Cause.LINGERING), ResultReported(cost_usd=0.4)
    )
    assert call.result == ResultReported("success", cost_usd=1.0)


def test_a_result_after_the_cut_counts_if_it_is_the_first() -> None:
    """It has the costs."""
    call = call_after(CutStarted(Cause.IDLE), ResultReported("error", True, cost_usd=0.4))
    assert call.result == ResultReported("error", True, cost_usd=0.4)


def test_a_later_result_can_name_more() -> None:
    """The costs of a process grow."""
    call = call_after(ResultReported(cost_usd=0.5), ResultReported("success", cost_usd=0.7))
    assert call.result == ResultReported("success", cost_usd=0.7)


def test_the_session_is_the_last_that_has_a_name() -> None:
    """One without a name leaves it."""
    assert call_after(SessionOpened("a"), SessionOpened("b")).session == "b"
    assert call_after(SessionOpened("a"), SessionOpened("")).session == "a"


@pytest.mark.parametrize(
    ("later", "answer"),
    [
        (ResultReported(), {"a": 1}),
        (ResultReported(structured={"b": 2}), {"b": 2}),
    ],
)
def test_an_answer_stands_until_another_one_comes(later: ResultReported, answer: dict[str, int] | None) -> None:
    """A result without an answer does not take it back."""
    found = call_after(ResultReported(structured={"a": 1}), later).result
    assert found is not None
    assert found.structured == answer


def test_the_end_of_stderr_is_kept() -> None:
    """Line by line; the reason for a failure comes last."""
    assert call_after(ErrorPrinted("one"), ErrorPrinted("two")).stderr == "one\ntwo\n"
    assert (
        call_after(ErrorPrinted("x" * STDERR_KEPT), ErrorPrinted("end")).stderr == "x" * (STDERR_KEPT - 5) + "\nend\n"
    )


def test_the_end_of_the_last_error_of_a_tool_is_kept() -> None:
    """An answer that is no error leaves it."""
    errors = ToolResult("a", "Bash", "first", True), ToolResult("b", "Bash", "x" * 5000 + "end", True)
    assert call_after(errors[0], ToolResult("c", "Bash", "fine")).tool_error == "first"
    assert call_after(*errors).tool_error == "x" * 3997 + "end"


@pytest.mark.parametrize(
    ("again", "answer", "left"),
    [
        (ToolCalled("b", "Write", {"file_path": "/a", "content": "other"}), ToolResult("b", "Write", "ok"), ""),
        (ToolCalled("b", "Write", {"file_path": "/b"}), ToolResult("b", "Write", "ok"), "not read yet"),
        (ToolCalled("b", "Read", {"file_path": "/a"}), ToolResult("b", "Read", "ok"), "not read yet"),
        (ToolCalled("b", "Write", {"file_path": "/a"}), ToolResult("b", "Write", "no", True), "no"),
    ],
)
def test_an_error_is_over_when_the_same_went_well_later(again: ToolCalled, answer: ToolResult, left: str) -> None:
    """A file that was not read yet is written at the second try: no run is to end with that."""
    first = ToolCalled("a", "Write", {"file_path": "/a", "content": "x"})
    failed = ToolResult("a", "Write", "not read yet", True)
    assert call_after(first, failed, again, answer).tool_error == left


def test_the_first_cut_names_the_cause() -> None:
    """A second one does not change why Claude was ended; the exit code is that of its end."""
    call = call_after(CutStarted(Cause.IDLE), CutStarted(Cause.STOPPED), AgentExited(-15))
    assert (call.cut, call.exit_code) == (CutStarted(Cause.IDLE), -15)


def test_the_grace_begins_with_the_last_task() -> None:
    """While a task is open it has not begun, and a task before the result begins nothing."""
    one, two = TaskStarted("1"), TaskStarted("2")
    both = call_after(one, two, ResultReported())
    assert both.open_tasks == ((one, 1.0), (two, 2.0))
    left = call_after(one, two, ResultReported(), TaskEnded("1"))
    assert (left.open_tasks, left.result_at) == (((two, 2.0),), 3.0)
    assert call_after(one, two, ResultReported(), TaskEnded("1"), TaskEnded("2")).result_at == 5.0
    assert call_after(one, TaskEnded("1")).result_at is None


def test_claudes_own_list_of_tasks_decides_what_is_open() -> None:
    """A task whose end was never reported is over when the list leaves it out; the grace begins then."""
    one, two = TaskStarted("1"), TaskStarted("2")
    call = call_after(one, ResultReported(), TasksListed((two,)))
    assert (call.open_tasks, call.result_at) == (((two, 3.0),), 2.0)
    assert call_after(one, TasksListed((one,))).open_tasks == ((one, 1.0),)
    over = call_after(one, ResultReported(), TasksListed())
    assert (over.open_tasks, over.result_at) == ((), 3.0)


USED = UsageReported(Tokens(10, 1), 0.25)
OPENED = SessionOpened("s")


@pytest.mark.parametrize(
    ("events", "spent"),
    [
        ([], Spending()),
        ([OPENED], Spending(0.0, at_least=True)),
        ([USED], Spending(0.25, Tokens(10, 1), True)),
        ([USED, UsageReported(Tokens(20, 2), 0.5)], Spending(0.5, Tokens(20, 2), True)),
        ([OPENED, USED, ResultReported(cost_usd=0.3, tokens=Tokens(9))], Spending(0.3, Tokens(9))),
        ([ResultReported(cost_usd=0.3, tokens=Tokens(9)), USED], Spending(0.55, Tokens(19, 1), True)),
        ([OPENED, USED, ResultReported(untold=True)], Spending(0.25, Tokens(10, 1), True)),
        ([USED, ResultReported(untold=True, tokens=Tokens(15))], Spending(0.25, Tokens(15), True)),
        ([USED, CutStarted(Cause.IDLE), ResultReported(cost_usd=0.4)], Spending(0.4)),
        ([ResultReported(untold=True), CutStarted(Cause.IDLE), ResultReported(cost_usd=0.4)], Spending(0.4)),
        ([ResultReported(cost_usd=0.4), CutStarted(Cause.IDLE), ResultReported(untold=True)], Spending(0.4)),
    ],
)
def test_what_a_call_has_cost_so_far(events: list[Event], spent: Spending) -> None:
    """The result's word, and what messages used since; without a result it may be more than that."""
    found = call_after(*events).spending
    assert found.cost_usd == pytest.approx(spent.cost_usd)
    assert (found.tokens, found.at_least) == (spent.tokens, spent.at_least)
