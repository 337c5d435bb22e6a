"""The requirements of a task: everything that the user wrote is in one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.review import MOST, REST, list_requirements, requirements_in


def texts(instructions: str) -> list[str]:
    return [requirement.text for requirement in requirements_in(instructions)]


def test_boxes_and_items_are_numbered_with_their_heading() -> None:
    """In their order, ticked or not, nested or not; a line that only introduces a list is none."""
    found = requirements_in("# Task\nDo these:\n- [ ] a\n  * [x] b\n## Done when\n1. c\n2) d\n")
    assert [(one.number, one.text, one.heading) for one in found] == [
        (1, "a", "Task"),
        (2, "b", "Task"),
        (3, "c", "Done when"),
        (4, "d", "Done when"),
    ]


@pytest.mark.parametrize("text", ["Write a novel.", "# Task\n\nWrite a novel.\n", "Write it. Print it.\n\nSell it."])
def test_a_text_without_a_list_is_one_requirement(text: str) -> None:
    """A single sentence, or several paragraphs."""
    assert texts(text) == [" ".join(text.split())]


@pytest.mark.parametrize("text", ["", "\n \n", "---\n", "<!-- a thought -->\n"])
def test_no_words_are_no_requirement(text: str) -> None:
    """Then nothing can be verified."""
    assert texts(text) == []


def test_what_stands_outside_of_the_list_is_one_more() -> None:
    """A sentence below a heading may be the most important of all."""
    assert texts("- [ ] a\n\n## Done when\n\nAll tests pass.\n") == ["a", REST]
    assert texts("| a | b |\n\n- x\n") == ["x", REST]


def test_an_item_may_have_several_lines() -> None:
    """Indented paragraphs belong to it; a paragraph at the margin does not."""
    assert texts("- a\n  goes on\n\n  and on\n- b\n") == ["a   goes on   and on", "b"]
    assert texts("- a\ngoes on\n\nSomething else.\n") == ["a goes on", REST]


def test_code_and_comments_hold_no_requirements() -> None:
    """Their lists are data."""
    assert texts("- a\n```\n- not this\n```\n~~~yaml\n- nor this\n```\n~~~\n<!-- - [ ] nor\n- that -->\n- b\n") == [
        "a",
        "b",
    ]
    assert texts("- a\n<!-- never closed\n- b\n") == ["a <!-- never closed", "b"]


def test_many_items_share_numbers_and_none_is_left_out() -> None:
    """Five hundred boxes are a hundred numbers, each with all of its five; each is met only if all of them are."""
    found = requirements_in("\n".join(f"- [ ] item {number}" for number in range(1, 501)))
    assert len(found) == MOST
    assert found[0].text == "(1) item 1 (2) item 2 (3) item 3 (4) item 4 (5) item 5"
    assert all(f"({number}) item {number}" in list_requirements(found) for number in range(1, 501))


def test_the_list_is_bounded_for_any_number_of_items() -> None:
    """Ten thousand long ones: from the first to the last of each number."""
    found = requirements_in("\n".join(f"- item {number} {'x' * 1000}" for number in range(10_000)))
    assert len(found) == MOST
    assert "and all items up to (100)" in found[0].text
    assert len(list_requirements(found)) < 200_000


def test_a_long_item_is_shortened_in_the_list_only() -> None:
    """The prompt stays small; the instructions are there to read."""
    found = requirements_in(f"- {'x' * 5000}\n")
    assert (len(found[0].text), len(list_requirements(found)) < 600) == (5000, True)


@given(st.text(alphabet=st.sampled_from("-*#[] x1.)`~<!>\n ab"), max_size=200))
def test_any_text_is_survived_and_counted_from_one(text: str) -> None:
    """Numbers are 1, 2, 3 and so on; words are never without a requirement."""
    found = requirements_in(text)
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert len(list_requirements(found).splitlines()) == len(found)


def test_hostile_texts_take_no_time() -> None:
    """Linear in their length. (A quadratic reader runs into the time-out.)"""
    for text in ("<!--" * 200_000, "- " * 300_000, "#" * 500_000, "- a\n" * 200_000, "```\n" * 200_000):
        requirements_in(text)
