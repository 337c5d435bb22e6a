"""State is a fold: of the whole, or of the parts one after the other; and it survives the journal's form."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.core.abridgement import abridge
from claude_iterate.core.events import (
    AgentExited,
    AssistantText,
    Carried,
    Changes,
    CheckFinished,
    CutStarted,
    Entry,
    ErrorPrinted,
    Event,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    ResultReported,
    RunFinished,
    RunStarted,
    SessionOpened,
    StatusChanged,
    StopRequested,
    TaskEnded,
    TaskStarted,
    Tokens,
    ToolCalled,
    ToolResult,
    VerificationStarted,
    WaitStarted,
    Warned,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Cause, Kind, Why
from claude_iterate.core.outcomes.call import Call, advance
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.state.carry_over import carry_over
from claude_iterate.core.state.fold import fold, fold_from, reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.views.iteration_rows import IterationRows
from tests.core.building import after, entries

STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",), carried=Carried(7, 1.5, 2))
WORDS = st.text(max_size=12)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(STARTED),
    st.builds(IterationStarted, st.integers(1, 5), WORDS, WORDS, WORDS),
    st.builds(ToolCalled, WORDS, WORDS, st.dictionaries(WORDS, WORDS, max_size=2)),
    st.builds(ToolResult, WORDS, WORDS, WORDS, st.booleans()),
    st.builds(AssistantText, WORDS, WORDS, WORDS),
    st.builds(SessionOpened, WORDS),
    st.builds(TaskStarted, WORDS),
    st.builds(TaskEnded, WORDS),
    st.builds(ResultReported, WORDS, st.booleans(), WORDS, cost_usd=st.floats(0, 9)),
    st.builds(LimitReported, st.sampled_from(["allowed", "rejected"])),
    st.builds(WorkMeasured, st.integers(1, 5), st.none() | st.builds(Changes, st.integers(0, 3))),
    st.builds(ErrorPrinted, WORDS),
    st.builds(CutStarted, st.sampled_from(["idle", "lingering"])),
    st.builds(AgentExited, st.integers(-9, 9)),
    st.builds(StatusChanged, st.builds(Status, st.booleans()), st.just(Change())),
    st.builds(
        IterationFinished,
        st.integers(1, 5),
        st.builds(Outcome, st.sampled_from(["ok", "crash"])),
        st.none() | st.builds(Status, st.booleans(), worked=st.booleans()),
        cost_usd=st.floats(0, 9),
    ),
    st.builds(StopRequested, WORDS, st.booleans()),
    st.builds(Warned, WORDS),
    st.builds(RunFinished, st.just("completed")),
)
ENTRIES = st.lists(EVENTS, max_size=30).map(
    lambda events: [Entry(number, float(number), number / 2, event) for number, event in enumerate(events, 1)]
)


@given(ENTRIES, st.integers(0, 30))
def test_folding_in_parts_is_folding_at_once(entries: list[Entry], cut: int) -> None:
    """A run picked up from its journal is in the state it would be in had it never been put down."""
    assert fold_from(fold(entries[:cut]), entries[cut:]) == fold(entries)


@given(ENTRIES)
def test_entries_survive_the_journal(entries: list[Entry]) -> None:
    """Encoded and decoded an entry is the same entry."""
    for entry in entries:
        assert msgspec.json.decode(msgspec.json.encode(entry), type=Entry) == entry


@given(ENTRIES)
def test_the_abridged_journal_decides_the_same(entries: list[Entry]) -> None:
    """Shortening texts for the journal changes no counter and no verdict."""
    whole, short = fold(entries), fold(abridge(entry) for entry in entries)
    for name in ("iterations", "streaks", "cost_usd", "last_outcome"):
        assert getattr(whole, name) == getattr(short, name)


def finished(kind: Kind = Kind.OK, worked: bool | None = None, cost: float = 0.0) -> IterationFinished:
    status = None if worked is None else Status(False, worked=worked)
    return IterationFinished(1, Outcome(kind), status, cost_usd=cost, tokens=Tokens(1, 2, 3, 4))


def test_idleness_and_failures_count_only_in_a_row() -> None:
    """One good iteration forgives; silence about work is no idleness."""
    assert after(finished(worked=False), finished(worked=False)).streaks.idle_iterations == 2
    assert after(finished(worked=False), finished(worked=True)).streaks.idle_iterations == 0
    assert after(finished(worked=False), finished(), WorkMeasured(1)).streaks.idle_iterations == 0
    assert after(finished(Kind.CRASH), finished(Kind.IDLE), finished(Kind.TIMEOUT)).breaker.failures == 3
    assert after(finished(Kind.CRASH), finished(Kind.MAX_TURNS)).breaker.failures == 0


def test_totals_reach_over_runs() -> None:
    """A run carries what came before; an iteration in which it was killed does not count."""
    state = after(STARTED, IterationStarted(1), finished(cost=0.5), IterationStarted(2))
    assert (state.total_iterations, state.total_cost_usd) == (8, 2.0)
    assert carry_over(state) == Carried(8, 2.0, 3)


@pytest.mark.parametrize(
    ("outcome", "claims", "counts"),
    [
        (Outcome(Kind.OK), False, True),
        (Outcome(Kind.CONFIG, "no instructions", called=False), False, False),
        (Outcome(Kind.CONFIG, "no such model"), False, True),
        (Outcome(Kind.SKIPPED, "by a hook", called=False), False, True),
        (Outcome(Kind.USAGE_LIMIT), False, False),
        (Outcome(Kind.USAGE_LIMIT), True, True),
        (Outcome(Kind.REBOOTED), True, False),
    ],
)
def test_what_counts_as_an_iteration(outcome: Outcome, claims: bool, counts: bool) -> None:
    """One for which Claude could not be called is none; `history` counts as the state does."""
    ended = IterationFinished(1, outcome, Status(True) if claims else None)
    state, rows = RunState(), IterationRows("r")
    for entry in entries(STARTED, IterationStarted(1), ended):
        before, state = state, reduce(state, entry)
        rows.take(entry, before, state)
    assert (state.iterations, [row.done_again for row in rows.every()]) == (int(counts), [not counts])


def test_a_result_before_our_cut_stands() -> None:
    """What Claude prints when we end it does not unsay its result."""
    good, bad = ResultReported("success", cost_usd=1.0), ResultReported("error", True, cost_usd=1.2)
    state = after(IterationStarted(1), good, CutStarted(Cause.LINGERING), bad)
    assert state.call is not None
    assert state.call.result == ResultReported("success", cost_usd=1.2)


def test_an_open_task_and_a_new_session_take_the_end_back() -> None:
    """The grace after a result starts when nothing is open any more."""
    state = after(IterationStarted(1), TaskStarted("t"), ResultReported(), TaskEnded("t"))
    assert state.call is not None
    assert state.call.result_at == 4.0
    again = after(IterationStarted(1), ResultReported(), SessionOpened("s"))
    assert again.call is not None
    assert again.call.result_at is None


def test_words_of_another_version_are_kept() -> None:
    """A journal with a verb, a cause or a kind that this version does not know is read, folded and written as it is."""
    lines = [
        b'{"seq":1,"at":0.0,"elapsed":0.0,"event":{"event":"Requested","verb":"dance"}}',
        b'{"seq":2,"at":0.0,"elapsed":0.0,"event":{"event":"WaitStarted","why":"full_moon","until":9.0}}',
        b'{"seq":3,"at":0.0,"elapsed":0.0,"event":{"event":"CutStarted","cause":"boredom"}}',
        b'{"seq":4,"at":0.0,"elapsed":0.0,"event":{"event":"IterationFinished","number":1,"outcome":{"kind":"odd"}}}',
    ]
    entries = [msgspec.json.decode(line, type=Entry) for line in lines]
    assert [msgspec.json.encode(entry) for entry in entries] == lines
    state = fold(entries)
    assert (state.iterations, state.last_outcome, state.wait) == (
        1,
        Outcome(Kind("odd")),
        WaitStarted(Why("full_moon"), 9.0),
    )


def test_fields_of_older_versions_do_no_harm() -> None:
    """A journal keeps its meaning when a field that is not used any more is still in it."""
    line = b'{"seq":1,"at":0.0,"elapsed":0.0,"event":{"event":"%s"}}'
    old = (
        (b'SessionOpened","session":"s","credential":"none', SessionOpened("s")),
        (b'ResultReported","terminal_reason":"completed","subtype":"success', ResultReported("success")),
        (b'IterationStarted","number":1,"system_prompt_bytes":6,"resumes":"s', IterationStarted(1, resumes="s")),
    )
    for text, event in old:
        assert msgspec.json.decode(line % text, type=Entry).event == event
    changed = b'{"status":{"complete":true,"notes":"n","last_updated":"x"},"change":{"items":1,"now_complete":true}}'
    assert msgspec.json.decode(changed.replace(b"{", b'{"event":"StatusChanged",', 1), type=Event) == StatusChanged(
        Status(True), Change(1)
    )


def test_a_later_result_takes_no_money_back() -> None:
    """The cost is the process's, so it never falls: a further result that names less, or nothing, leaves it."""
    state = after(IterationStarted(1), ResultReported(cost_usd=0.5), ResultReported("success", cost_usd=0.2))
    assert state.call is not None
    assert state.call.result == ResultReported("success", cost_usd=0.5)


def test_a_tool_changes_only_the_tools() -> None:
    """Of a call, its call and its answer change the open tools, their number and what was in doubt, nothing else."""
    now = Call(1, 2.0, "s", ResultReported(), 3.0, "e", LimitReported("rejected"), (), (), True, 4, None, 5, "x", "r")
    tool = ToolCalled("t", "Bash")
    called = advance(now, Entry(1, 0.0, 7.0, tool))
    assert called == replace(now, open_tools=((tool, 7.0),), tools=5, last_tool=tool, rejected=None, retrying=False)
    assert advance(called, Entry(2, 0.0, 8.0, ToolResult("t"))) == replace(called, open_tools=())


def test_a_check_is_flaky_when_it_ends_differently_on_the_same_project() -> None:
    """Red then green or green then red; not after a change, not when the project is unknown, and not when the check was
    stopped. A new verification begins without it, unless its checks stand from before."""

    def flaky(*found: CheckFinished | VerificationStarted) -> tuple[str, ...]:
        return fold(Entry(number, 1.0, 1.0, event) for number, event in enumerate(found, 1)).claim.flaky

    red, green = CheckFinished("x", 1, project="a"), CheckFinished("x", 0, project="a")
    assert flaky(red, green) == flaky(green, red) == flaky(red, green, red) == ("x",)
    assert flaky(red, red) == flaky(green, CheckFinished("y", 1, project="a")) == ()
    assert flaky(red, CheckFinished("x", 0, project="b")) == ()
    assert flaky(CheckFinished("x", 1), CheckFinished("x", 0)) == ()
    assert flaky(green, CheckFinished("x", None, cut="stopped", project="a")) == ()
    assert flaky(green, CheckFinished("x", None, cut="timeout", project="a")) == ("x",)
    assert flaky(red, green, VerificationStarted(2, 1)) == ()
    assert flaky(red, green, VerificationStarted(1, 0, "quick", 1)) == ("x",)
