"""The answer of a review: verified only if every requirement has an entry that is met, with evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, SCHEMA, VERIFIED, judged, rendered

ASKED = (Requirement(1, "write a.txt"), Requirement(2, "all tests pass", "Done when"))


def entry(number: Any, status: Any = "met", evidence: Any = "a.txt, line 1") -> dict[str, Any]:
    return {"number": number, "status": status, "evidence": evidence}


def answer(*entries: Any, findings: Any = (), **more: Any) -> dict[str, Any]:
    given = list(findings) if isinstance(findings, tuple) else findings
    return {"summary": "Looked.", "requirements": list(entries), "findings": given, **more}


GOOD = answer(entry(1), entry(2))


def test_all_met_with_evidence_is_verified() -> None:
    """In any order, with fields that nobody asked for, with an entry twice, with a remark."""
    assert judged(GOOD, ASKED).verdict == VERIFIED
    remark = {"missing": False, "text": "The names could be better."}
    more = answer(entry(2), entry(1) | {"mood": "good"}, entry(1), findings=(remark,), verdict="INCOMPLETE")
    found = judged(more, ASKED)
    assert (found.verdict, found.findings, found.remarks) == (VERIFIED, (), ("The names could be better.",))
    assert [(one.number, one.status) for one in found.requirements] == [(1, "met"), (2, "met")]
    assert judged(answer(entry(1.0), entry(2)), ASKED).verdict == VERIFIED


@pytest.mark.parametrize(
    ("status", "words"),
    [("not_met", "Requirement 2 is not met"), ("not_checked", "Requirement 2 could not be checked")],
)
def test_what_is_not_met_is_a_finding(status: str, words: str) -> None:
    """With its text and what was seen, so that the next iteration can act on it."""
    found = judged(answer(entry(1), entry(2, status, "2 of 9 fail")), ASKED)
    assert found.verdict == INCOMPLETE
    assert found.findings == (f"{words}: [Done when] all tests pass (2 of 9 fail)",)


@pytest.mark.parametrize(
    "finding",
    [{"missing": True, "text": "no tests"}, "no tests", {"text": "no tests"}, {"missing": "no", "text": "no tests"}],
)
def test_a_finding_that_something_is_missing_is_not_a_pass(finding: Any) -> None:
    """Whatever the entries say; one that does not say whether it is a remark counts."""
    found = judged(answer(entry(1), entry(2), findings=(finding,)), ASKED)
    assert (found.verdict, found.findings) == (INCOMPLETE, ("no tests",))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "no list of requirements"),
        (answer(entry(1)), "says nothing about requirement 2"),
        (answer(), "says nothing about requirement 1; it says nothing about requirement 2"),
        (answer(entry(1), entry(2), entry(3)), "names requirement 3, which is not in the list"),
        (answer(entry(1), entry(2), entry(0)), "names requirement 0"),
        (answer(entry(1), entry(2), entry(2, "probably")), "contradicts itself about requirement 2"),
        (answer(entry(1), entry(2, "probably")), "says 'probably' about requirement 2"),
        (answer(entry(1), entry(2, "MET, mostly")), "about requirement 2"),
        (answer(entry(1), entry(2, None)), "about requirement 2"),
        (answer(entry(1), entry(2, evidence="")), "no evidence for requirement 2"),
        (answer(entry(1), entry(2, evidence=" - ")), "no evidence for requirement 2"),
        (answer(entry(1), entry(2, evidence="N/A")), "no evidence for requirement 2"),
        (answer(entry(1), entry(2, evidence="None.")), "no evidence for requirement 2"),
        (answer(entry(1), entry(2, evidence=["x"])), "no evidence for requirement 2"),
        (answer(entry(1), entry("2")), "1 of its entries cannot be read"),
        (answer(entry(1), entry(True), entry(2)), "1 of its entries cannot be read"),
        (answer(entry(1), entry(float("inf")), entry(2)), "1 of its entries cannot be read"),
        (answer(entry(1), "2 is met", entry(2)), "1 of its entries cannot be read"),
        ({"requirements": [entry(1), entry(2)]}, "no list of findings"),
        (answer(entry(1), entry(2), findings="none"), "no list of findings"),
    ],
)
def test_whatever_is_odd_has_no_verdict_and_says_why(given: dict[str, Any], words: str) -> None:
    """Missing entries, unknown numbers, contradictions, no evidence, other words."""
    found = judged(given, ASKED)
    assert found.verdict == INVALID
    assert words in found.summary


def test_a_contradiction_with_a_clear_no_is_a_no() -> None:
    """The next iteration learns what is missing, and what was odd."""
    found = judged(answer(entry(1, "not_met"), entry(2), entry(2, "not_met")), ASKED)
    assert found.verdict == INCOMPLETE
    assert "contradicts itself about requirement 2" in found.findings[-1]


def test_nothing_asked_is_nothing_verified() -> None:
    """Instructions without a word cannot be met."""
    assert judged(answer(), ()).verdict == INVALID


def test_the_report_for_people_says_the_same() -> None:
    """Every requirement with its evidence, every finding, and the verdict at its end."""
    text = rendered(judged(answer(entry(1), entry(2, "not_met", "2 fail")), ASKED), "my-task", "deep", "abc")
    assert "1. ✓ **met**: write a.txt" in text
    assert "2. ❌ **not met**: [Done when] all tests pass" in text
    assert "Evidence: 2 fail" in text
    assert text.endswith("VERIFICATION-ID: abc\nVERDICT: INCOMPLETE\n")
    assert rendered(judged(GOOD, ASKED), "t", "quick", "abc").endswith("VERDICT: VERIFIED\n")
    assert rendered(judged({}, ASKED), "t", "quick", "abc").endswith("VERDICT: NONE\n")


def test_the_schema_asks_for_what_is_read() -> None:
    """It is JSON, and names every field."""
    fields = json.loads(SCHEMA)["properties"]
    assert set(fields) == {"summary", "requirements", "findings"}
    assert set(fields["requirements"]["items"]["properties"]) == {"number", "status", "evidence"}
    assert set(fields["findings"]["items"]["properties"]) == {"missing", "text"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 4) | st.floats() | st.sampled_from(["met", "not_met", "seen", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["number", "status", "evidence", "missing", "text", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)
ENTRIES = st.lists(
    st.builds(entry, st.integers(0, 3), st.sampled_from(["met", "met", "not_met", "no"]), st.sampled_from(["seen", ""]))
    | JSON,
    max_size=5,
)


@given(ENTRIES | JSON, st.just([]) | JSON)
def test_any_answer_verifies_only_if_every_number_is_met(entries: Any, findings: Any) -> None:
    """Property: verified means that the entries are exactly those of the list, all met, each with evidence."""
    found = judged({"summary": "x", "requirements": entries, "findings": findings}, ASKED)
    rendered(found, "t", "quick", "abc")
    if found.verdict == VERIFIED:
        assert {one["number"] for one in entries} == {1, 2}
        assert all(one["status"] == "met" for one in entries)
        assert all(any(one["evidence"] for one in entries if one["number"] == number) for number in (1, 2))
        assert all(finding["missing"] is False for finding in findings)
