"""The same task and the same error are known again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.fingerprints import UNREADABLE, error_signature, is_same_task, last_words, task_identity

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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("app.py:12: NameError: x", "app.py:99: NameError: x"),
        ("at 2026-11-17T03:04:05Z failed", "at 2027-01-02T13:00:00.5+01:00 failed"),
        ("[03:04:05] failed", "[13:14:15.123] failed"),
        ("<Thing at 0x7f3a9c>", "<Thing at 0x55aa01>"),
        ("cannot read /tmp/pytest-1/a.txt: no", "cannot read /tmp/pytest-27/b.txt: no"),
        ("cannot read /var/folders/x1/T/a: no", "cannot read /var/folders/y2/T/a: no"),
        ("run 6f9619ff-8b86-d011-b42d-00cf4fc964ff failed", "run 16fd2706-8baf-433b-82eb-8c7fada847da failed"),
        ("1 failed in 0.12s", "1 failed in 3.40s"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("two\n  words", "two words"),
    ],
)
def test_what_changes_from_try_to_try_is_taken_out(one: str, other: str) -> None:
    """Line numbers, dates, times, addresses, temporary files, identities, durations, colours, blanks."""
    assert error_signature(one) == error_signature(other)
    assert len(error_signature(one)) == 16


@pytest.mark.parametrize(
    ("one", "other"),
    [("NameError: x", "NameError: y"), ("a.py:1: no", "b.py:1: no"), ("no table users", "no table items")],
)
def test_another_error_has_another_signature(one: str, other: str) -> None:
    """Names and files of the project count."""
    assert error_signature(one) != error_signature(other)


def test_no_error_has_no_signature() -> None:
    """Blanks are no error either."""
    assert (error_signature(""), error_signature(" \n")) == ("", "")


def test_of_a_long_error_the_end_counts() -> None:
    """There programs say what is wrong; it is also what is shown."""
    assert error_signature("a" * 9000 + "\nwrong") == error_signature("b" + "a" * 9000 + "\nwrong")
    assert last_words("a" * 9000 + "\nwrong") == "wrong"
    assert last_words("one\ntwo") == "one two"
