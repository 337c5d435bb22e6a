"""What the agent reports, read leniently and compared by meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.status import (
    LARGEST,
    OLD,
    OTHER,
    Change,
    Status,
    compare,
    describe,
    iteration_id,
    parse,
    why_not_ours,
)


def test_a_full_report_is_read() -> None:
    """Every documented field arrives; unknown ones do no harm."""
    document = {
        "complete": False,
        "progress": {"completed": 35, "total": 60},
        "worked": True,
        "summary": "Migrated",
        "phase": "two",
        "blockers": ["a", "b"],
        "notes": "n",
        "lastUpdated": "2025-10-16T14:30:00+02:00",
        "mood": "good",
    }
    reading = parse(json.dumps(document).encode())
    assert reading.problems == ()
    assert reading.status == Status(False, 35, 60, True, "Migrated", "two", None, ("a", "b"))
    assert reading.status.remaining == 25


@pytest.mark.parametrize(
    "odd",
    [
        {"progress": "35/60"},
        {"progress": {"completed": -1, "total": 3}},
        {"progress": {"completed": True, "total": 3}},
        {"summary": 3},
        {"worked": "yes"},
        {"blockers": {"a": 1}},
        {"blocked": 3},
        {"lastUpdated": 12},
    ],
)
def test_a_wrong_optional_field_is_a_problem_and_never_hides_completion(odd: dict[str, object]) -> None:
    """`complete` counts, and the oddity is told."""
    reading = parse(json.dumps({"complete": True} | odd).encode())
    assert reading.status is not None
    assert reading.status.complete
    assert len(reading.problems) == 1


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"{}", b'{"complete": "true"}', b'{"complete": 1}', b"\xff"]
)
def test_what_is_no_report_is_refused(data: bytes) -> None:
    """Without a boolean `complete` there is no status."""
    assert parse(data).status is None


def test_a_huge_report_is_refused() -> None:
    """More than 1 MiB is not read, whatever it says."""
    assert parse(b'{"complete": true, "notes": "' + b"x" * LARGEST + b'"}').status is None


def test_a_byte_order_mark_is_forgiven() -> None:
    """Editors on Windows write one."""
    assert parse(b'\xef\xbb\xbf{"complete": true}').status == Status(True)


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes) -> None:
    """Parsing never raises."""
    parse(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["complete", "progress", "completed", "total", "summary", "blocked", "blockers", "worked"]
                ),
                inner,
            )
            | st.lists(inner)
        ),
        max_leaves=8,
    )
)
def test_any_json_is_survived(document: object) -> None:
    """Whatever types stand in the fields."""
    parse(json.dumps(document).encode())


def test_a_new_timestamp_alone_is_no_news() -> None:
    """Only meaning counts."""
    first, second = (parse(json.dumps({"complete": False, "lastUpdated": at}).encode()).status for at in ("a", "b"))
    assert second is not None
    assert compare(first, second) is None


def test_a_change_is_measured_against_the_report_before() -> None:
    """Items and total have their delta; words alone are a change, too."""
    assert compare(Status(False, 30, 60), Status(True, 35, 61)) == Change(5, 1)
    assert compare(Status(False), Status(True)) == Change()
    assert compare(Status(False), Status(False, summary="s")) == Change()


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (Status(False, 30, 60), Status(False, 35, 60, summary="Migrated 35"), "35/60 items (+5) - Migrated 35"),
        (Status(False, 5, 6), Status(True, 6, 6), "6/6 items (+1) - ✅ Complete!"),
        (None, Status(False, 2, 6), "2/6 items (+2)"),
        (Status(False, 3, 6), Status(False, 2, 6), "2/6 items (-1)"),
        (None, Status(False, worked=True, summary="two\nlines"), "two lines"),
        (None, Status(False), "no details"),
    ],
)
def test_a_change_in_words(before: Status | None, now: Status, words: str) -> None:
    """The seed's form: items, delta, summary, completion."""
    assert describe(now, compare(before, now)) == words


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"complete": true}\n```',
        '\n~~~\n{"complete":\ntrue}\n~~~\n\n',
        '```\r\n{"complete": true}\r\n```\r\n',
        '\ufeff````JSON\n{"complete": true}\n````',
    ],
)
def test_a_report_in_a_markdown_fence_is_read(text: str) -> None:
    """Models like to wrap JSON so."""
    assert parse(text.encode()).status == Status(True)


@pytest.mark.parametrize(
    "text", ['```json\n{"complete": true}', '```\n{"complete": true}\n~~~', "```\n```", "```", "``\n``"]
)
def test_half_a_fence_is_no_report(text: str) -> None:
    """It may be torn."""
    assert parse(text.encode()).status is None


OURS, ANOTHER = iteration_id(3, b"\x00\xab\xcd\xef"), iteration_id(2, b"\x00\xab\xcd\xef")


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
    assert why_not_ours(named, OURS, dated, known, claims) == why


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
    assert parse(json.dumps({"complete": True, "iteration": value}).encode()).identity == found


def test_a_report_tells_its_id_and_whether_it_is_dated() -> None:
    """An empty date is none; a wrong one is one."""
    reading = parse(b'{"complete": true, "iteration": "3-00abcdef", "lastUpdated": 17}')
    assert (reading.identity, reading.dated) == (OURS, True)
    reading = parse(b'{"complete": true, "lastUpdated": ""}')
    assert (reading.identity, reading.dated) == ("", False)
