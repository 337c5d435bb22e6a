"""Reports of agents that write no status file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.fallbacks import from_block, from_boxes
from claude_iterate.core.reports.status import Status


def block(**fields: str) -> str:
    body = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return f"Some words.\n---LOOP_STATUS---\n{body}\n---END_LOOP_STATUS---\n\n"


def reading_of(text: str) -> tuple[Status, int]:
    """The report in the text, and how many problems it has."""
    reading = from_block(text)
    assert reading is not None
    assert reading.status is not None
    return reading.status, len(reading.problems)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"STATUS": "COMPLETE"}, Status(True, source="block")),
        (
            {"EXIT_SIGNAL": "true", "STATUS": "COMPLETE", "FILES_MODIFIED": "0"},
            Status(True, worked=False, source="block", files=0),
        ),
        (
            {"STATUS": "IN_PROGRESS", "TASKS_COMPLETED_THIS_LOOP": "2", "RECOMMENDATION": "go on"},
            Status(False, worked=True, summary="go on", source="block", tasks=2),
        ),
        (
            {"STATUS": "BLOCKED", "EXIT_SIGNAL": "true"},
            Status(False, blocked="no reason given", source="block"),
        ),
        ({"STATUS": "IN_PROGRESS", "FILES_MODIFIED": "1"}, Status(False, worked=True, source="block", files=1)),
        (
            {"STATUS": "IN_PROGRESS", "TESTS_STATUS": "FAILING", "WORK_TYPE": "Testing"},
            Status(False, source="block", tests="failing", work="testing"),
        ),
        (
            {"STATUS": "BLOCKED", "RECOMMENDATION": "need a key"},
            Status(False, summary="need a key", blocked="need a key", source="block"),
        ),
    ],
)
def test_a_block_is_a_report(fields: dict[str, str], status: Status) -> None:
    """Complete, blocked, worked and the recommendation each have their place."""
    reading = reading_of(block(**fields))
    assert reading == (status, 0)


@pytest.mark.parametrize("indent", ["", "  ", "   "])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_block_is_seen_however_its_lines_are_set(indent: str, ending: str) -> None:
    """Indented, as in a list; with the line ends of another system."""
    text = ending.join(indent + line for line in block(STATUS="COMPLETE", RECOMMENDATION="none").splitlines())
    reading = reading_of(text)
    assert reading == (Status(True, summary="none", source="block"), 0)


@pytest.mark.parametrize("indent", ["    ", "\t", "  \t", "      "])
def test_a_block_that_is_set_in_as_code_is_an_example(indent: str) -> None:
    """Four blanks or a tab."""
    text = "Like this:\n\n" + "\n".join(indent + line for line in block(STATUS="COMPLETE").splitlines()[1:])
    assert from_block(text) is None


@pytest.mark.parametrize("more", ["Item 3 is still open.", "```\n", "---LOOP_STATUS---"])
def test_a_block_claims_completion_only_at_the_end_of_the_answer(more: str) -> None:
    """What follows may take it back. That is told; a fence that is opened there says nothing."""
    reading = reading_of(f"{block(STATUS='COMPLETE')}{more}\n")
    assert (reading[0].complete, reading[1]) == ((True, 0) if more.startswith("`") else (False, 1))
    open_work = reading_of(f"{block(STATUS='IN_PROGRESS')}{more}\n")
    assert open_work[1] == 0


def test_a_block_that_contradicts_itself_claims_nothing() -> None:
    """In progress and to be ended: that is told."""
    reading = reading_of(block(STATUS="IN_PROGRESS", EXIT_SIGNAL="True"))
    assert reading == (Status(False, source="block"), 1)


def test_the_last_whole_block_counts() -> None:
    """An unfinished one after it does not, nor one before it."""
    text = block(STATUS="COMPLETE") + block(STATUS="IN_PROGRESS") + "\n---LOOP_STATUS---\nSTATUS: COMPLETE\n"
    reading = reading_of(text)
    assert not reading[0].complete


def test_no_block_is_no_report() -> None:
    """Nothing, an unterminated one, or the words in a sentence."""
    assert from_block("all done") is None
    assert from_block("---LOOP_STATUS---\nSTATUS: COMPLETE\n") is None
    assert from_block("I print ---LOOP_STATUS--- and ---END_LOOP_STATUS--- here") is None


def test_odd_fields_are_told() -> None:
    """A bad number or word counts as none."""
    reading = reading_of(block(STATUS="MAYBE", FILES_MODIFIED="many", TESTS_STATUS="fine", WORK_TYPE="sleep"))
    assert reading == (Status(False, source="block"), 4)


def test_boxes_of_every_kind_are_counted_and_code_is_not() -> None:
    """Dashes, stars, pluses, numbers, nested; not in fences of either kind, not without a list mark."""
    marks = "- [x] a\n* [ ] b\n+ [X] c\n1. [ ] d\n  2) [x] nested\n"
    text = marks + "```\n- [ ] code\n~~~\n- [ ] code\n```\n[ ] no\n- [y] no\n"
    assert from_boxes(text) == Status(False, 3, 5, source="boxes")
    assert from_boxes("no boxes - [x]here") is None


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("````\n- [ ] code\n```\n- [ ] code\n````\n- [ ] box\n", 1),
        ("```\n- [ ] code\n```python\n- [ ] code\n```\n- [ ] box\n", 1),
        ("```\n- [ ] code\n`````  \n- [ ] box\n", 1),
        ("~~~\n- [ ] code\n```\n- [ ] code\n~~~\n- [ ] box\n", 1),
        ("~~~ `a` ~~~\n- [ ] code\n~~~\n- [ ] box\n", 1),
        ("```inline``` text\n- [ ] box\n- [ ] box\n", 2),
        ("``` ```\n- [ ] box\n", 1),
        ("```\r\n- [ ] code\r\n```\r\n- [ ] box\r\n", 1),
    ],
)
def test_a_fence_ends_where_markdown_ends_it(text: str, total: int) -> None:
    """At the same mark, at least as often, and alone; what opens and closes within a line opens nothing."""
    assert from_boxes(text) == Status(False, 0, total, source="boxes")


def test_ticked_boxes_are_never_a_completion() -> None:
    """Whoever ticked them."""
    status = from_boxes("- [x] all\n- [x] of it\n")
    assert status is not None
    assert not status.complete


@given(st.text(alphabet="-*+[] xX1.`~\nSTATUS:_LOOPEND"))
def test_any_text_is_survived(text: str) -> None:
    """Neither reader raises."""
    from_block(text)
    from_boxes(text)


@pytest.mark.parametrize(
    ("signal", "complete", "odd"), [("false", False, 0), ("False", False, 0), ("", False, 1), ("maybe", False, 1)]
)
def test_an_exit_signal_that_is_not_true_never_completes(signal: str, complete: bool, odd: int) -> None:
    """Whatever STATUS says; a signal that says neither is told."""
    reading = reading_of(block(STATUS="COMPLETE", EXIT_SIGNAL=signal))
    assert (reading[0].complete, reading[1]) == (complete, odd)


DRESSES = ["- EXIT_SIGNAL: false", "**EXIT_SIGNAL**: false", "exit_signal: **false**", "* `EXIT_SIGNAL`: no"]


@pytest.mark.parametrize("line", DRESSES)
def test_an_exit_signal_is_read_in_any_dress(line: str) -> None:
    """As an item of a list, in bold, in small letters."""
    reading = reading_of(f"---LOOP_STATUS---\nSTATUS: COMPLETE\n{line}\n---END_LOOP_STATUS---")
    assert not reading[0].complete


@pytest.mark.parametrize("fence", ["```", "~~~~", "  ```text"])
def test_a_block_in_code_is_an_example(fence: str) -> None:
    """The one outside counts, also if it comes first; a fence that is not closed goes on to the end."""
    closed = fence.removesuffix("text")
    quoted = f"{fence}\n{block(STATUS='COMPLETE')}\n"
    assert from_block(quoted) is None
    reading = reading_of(block(STATUS="IN_PROGRESS") + "\n" + quoted + closed)
    assert reading[0] == Status(False, source="block")
    assert from_block(quoted + closed + "\n" + block(STATUS="COMPLETE")) is not None
