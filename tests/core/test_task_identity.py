"""Which texts are the same task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.fingerprints import UNREADABLE, is_same_task, task_identity

TASK = "# Task\n- [ ] one\n- [x] two\n"


@pytest.mark.parametrize(
    "text",
    [
        TASK,
        TASK.replace("\n", "\r\n"),
        "\n\n" + TASK.rstrip(),
        TASK.replace("one\n", "one  \n"),
        TASK.replace("[ ]", "[x]"),
        TASK.replace("[x]", "[X]"),
    ],
)
def test_ticks_and_blanks_do_not_make_another_task(text: str) -> None:
    """An agent that ticks the boxes of the instructions, an editor that trims lines, git on another system."""
    assert is_same_task(task_identity(TASK), task_identity(text))


@pytest.mark.parametrize(
    "text",
    [
        TASK + "- [ ] three\n",
        TASK.replace("one", "One"),
        TASK.replace("[x]", "[ ]"),
        TASK.replace("- [ ] one\n", ""),
        "",
        "x" + TASK,
        TASK.replace("- [ ] one\n- [x] two", "- [x] two\n- [ ] one"),
    ],
)
def test_other_words_are_another_task_and_so_is_a_box_that_is_open_again(text: str) -> None:
    """A requirement more, a requirement less, one that is to be done once more."""
    assert not is_same_task(task_identity(TASK), task_identity(text))


def test_nothing_is_no_task() -> None:
    """Nor are blanks; and there is nothing that they are the same as."""
    assert task_identity(" \n\t") == UNREADABLE
    assert not is_same_task(task_identity(TASK), UNREADABLE)


@given(st.text(), st.text())
def test_any_text_has_an_identity_and_any_two_can_be_compared(one: str, other: str) -> None:
    """Also what was never an identity: it may come from a file."""
    assert is_same_task(task_identity(one), task_identity(one))
    assert is_same_task(one, other) in {True, False}
