"""Which text is a report of this iteration."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.reports import status
from claude_iterate.core.reports.authorship import OLD, OTHER, doubt, identity, identity_in

OURS, ANOTHER = identity(3, b"\x00\xab\xcd\xef"), identity(2, b"\x00\xab\xcd\xef")


@pytest.mark.parametrize(
    ("named", "dated", "known", "claims", "why"),
    [
        ("", False, False, True, ""),
        ("", True, False, True, ""),
        ("", False, True, False, ""),
        ("", False, True, True, OLD),
        ("", True, True, False, OLD),
        (OURS, True, True, True, ""),
        (ANOTHER, False, False, False, OTHER),
    ],
)
def test_old_texts_and_those_of_other_iterations_are_doubted(
    named: str, dated: bool, known: bool, claims: bool, why: str
) -> None:
    """The id decides where there is one; without it a known text is old if it claims completion, or if something in it
    should have moved."""
    assert doubt(named, OURS, dated, known, claims) == why


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (OURS, OURS),
        (f" {OURS.upper()}\n", OURS),
        (3, ""),
        ("3", ""),
        ("final", ""),
        ("3-abcdef", ""),
        (None, ""),
        ([OURS], ""),
        (f"{OURS}0", ""),
    ],
)
def test_only_our_own_form_is_an_id(value: Any, found: str) -> None:
    """What an agent means by `iteration` in its own report is its own affair."""
    assert identity_in({"iteration": value}) == found


def test_a_report_tells_its_id_and_whether_it_is_dated() -> None:
    """An empty date is none; a wrong one is one."""
    reading = status.parse(b'{"complete": true, "iteration": "3-00abcdef", "lastUpdated": 17}')
    assert (reading.identity, reading.dated) == (OURS, True)
    reading = status.parse(b'{"complete": true, "lastUpdated": ""}')
    assert (reading.identity, reading.dated) == ("", False)
