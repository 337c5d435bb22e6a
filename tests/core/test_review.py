"""The answer of a review: verified only if every requirement has an entry that is met, with evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.review import (
    INCOMPLETE,
    INVALID,
    VERIFIED,
    Requirement,
    judge,
    render_report,
    schema,
)

ASKED = (Requirement(1, "write a.txt"), Requirement(2, "all tests pass", "Done when"))


def entry(number: Any, status: Any = "met", evidence: Any = "it is there", **shown: Any) -> dict[str, Any]:
    shown = shown or {"shown_by": "read", "file": "a.txt", "line": 1}
    return {"number": number, "status": status, "evidence": evidence, **shown}


def answer(*entries: Any, findings: Any = (), **more: Any) -> dict[str, Any]:
    given = list(findings) if isinstance(findings, tuple) else findings
    return {"summary": "Looked.", "requirements": list(entries), "findings": given, **more}


GOOD = answer(entry(1), entry(2))


def test_all_met_with_evidence_is_verified() -> None:
    """In any order, with fields that nobody asked for, with an entry twice, with a remark."""
    assert judge(GOOD, ASKED).verdict == VERIFIED
    remark = {"missing": False, "text": "The names could be better."}
    more = answer(entry(2), entry(1) | {"mood": "good"}, entry(1), findings=(remark,), verdict="INCOMPLETE")
    found = judge(more, ASKED)
    assert (found.verdict, found.findings, found.remarks) == (VERIFIED, (), ("The names could be better.",))
    assert [(one.number, one.status) for one in found.requirements] == [(1, "met"), (2, "met")]
    assert judge(answer(entry(1.0), entry(2)), ASKED).verdict == VERIFIED
    without = {"shown_by": "read", "file": "a.txt", "line": None, "command": None, "exit_code": None}
    assert judge(answer(entry(1, **without), entry(2)), ASKED).verdict == VERIFIED


@pytest.mark.parametrize(
    ("status", "words"),
    [("not_met", "Requirement 2 is not met"), ("not_checked", "Requirement 2 could not be checked")],
)
def test_what_is_not_met_is_a_finding(status: str, words: str) -> None:
    """With its text and what was seen, so that the next iteration can act on it."""
    found = judge(answer(entry(1), entry(2, status, "2 of 9 fail")), ASKED)
    assert found.verdict == INCOMPLETE
    assert found.findings == (f"{words}: [Done when] all tests pass (2 of 9 fail)",)


def test_a_finding_that_something_is_missing_is_not_a_pass() -> None:
    """Whatever the entries say."""
    found = judge(answer(entry(1), entry(2), findings=({"missing": True, "text": "no tests"},)), ASKED)
    assert (found.verdict, found.findings) == (INCOMPLETE, ("no tests",))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (answer(entry(1)), "says nothing about requirement 2"),
        (answer(), "says nothing about requirement 1; it says nothing about requirement 2"),
        (answer(entry(1), entry(2), entry(3)), "names requirement 3, which is not in the list"),
        (answer(entry(1), entry(2), entry(0)), "names requirement 0"),
        (answer(entry(1), entry(2), entry(4), entry(3)), "names requirements 3, 4, which are not in the list"),
        (answer(entry(1), entry(2), entry(2, "not_checked"), entry(1, "not_checked")), "contradicts itself"),
        *(
            (odd, "does not have the form that was asked for")
            for odd in (
                {},
                {"requirements": [entry(1), entry(2)]},
                answer(entry(1), entry(2), findings="none"),
                answer(entry(1), entry(2), findings=("no tests",)),
                answer(entry(1), entry(2), findings=({"missing": "no", "text": "no tests"},)),
                answer(entry(1), entry(2, "probably")),
                answer(entry(1), entry(2, None)),
                answer(entry(1), entry(True), entry(2)),
                answer(entry(1), entry(float("inf")), entry(2)),
                answer(entry(1), "2 is met", entry(2)),
                answer(entry(1), entry(2, shown_by="seen", file="a.txt")),
                answer(entry(1), entry(2, shown_by="read", file=["a.txt"])),
                answer(entry(1), entry(2, shown_by="ran", command="make test", exit_code=False)),
            )
        ),
    ],
)
def test_whatever_is_odd_has_no_verdict_and_says_why(given: dict[str, Any], words: str) -> None:
    """Missing entries, unknown numbers, contradictions, nothing that shows it, other words."""
    found = judge(given, ASKED)
    assert found.verdict == INVALID
    assert words in found.summary


@pytest.mark.parametrize(
    "shown",
    [
        {"shown_by": "not_shown"},
        {"shown_by": "read"},
        {"shown_by": "ran", "exit_code": 0},
        {"shown_by": "ran", "command": "make test"},
        {"shown_by": "ran", "command": "make test", "exit_code": 2},
    ],
    ids=str,
)
def test_what_nothing_shows_is_not_met(shown: dict[str, Any]) -> None:
    """The reviewer's own word for it is not enough."""
    found = judge(answer(entry(1), entry(2, "met", "surely", **shown)), ASKED)
    assert (found.verdict, found.findings) == (
        INCOMPLETE,
        ("Requirement 2 could not be checked: [Done when] all tests pass (surely)",),
    )


SENTENCES = """
src/cache.py implements TTL; missing keys raise KeyError
Users who are not verified get a 403 (auth.py:42).
Retries 3 of 5 times by default (retry.py:10)
The page shows 10 of 200 rows at a time
Timed out requests are retried: client.py:88
Non-root users have no access at all to /admin, verified with curl
The error path returns 500 and logs a Traceback
parse() fails on an empty file, as the specification asks
test_missing_file passes
None of the 14 tests is skipped any more
The stub in tests/ stands in for the mail server
a.txt was deleted; it does not exist
The build breaks if the flag is absent, which test_flag expects
Without --force it did not overwrite the file
Prints "not found" and exits with 1 for an unknown name
An incomplete upload is removed after an hour
The placeholder text is "Search"
TODO.md lists no open item
FAILED is shown in red, PASSED in green
It cannot be run as root: main.py:7
Failing builds are reported by mail
Half of the cache is dropped when it is full
The retry was skipped for 4xx answers
Wrong passwords are counted; the fifth locks the account
Unverified addresses get no newsletter
Crashes are caught and reported, see crash.py:30
""".strip().splitlines()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_words_of_the_evidence_decide_nothing(sentence: str) -> None:
    """Honest sentences about failure count as what the reviewer typed beside them, and so do a summary and a remark."""
    met = judge(answer(entry(1), entry(2, evidence=sentence)), ASKED)
    assert (met.verdict, met.requirements[1].evidence) == (VERIFIED, sentence)
    about = answer(entry(1), entry(2), findings=({"missing": False, "text": sentence},)) | {"summary": sentence}
    assert judge(about, ASKED).verdict == VERIFIED
    assert judge(answer(entry(1), entry(2, "not_met", evidence=sentence)), ASKED).verdict == INCOMPLETE


def test_a_contradiction_with_a_clear_no_is_a_no() -> None:
    """The next iteration learns what is missing, and what was odd."""
    found = judge(answer(entry(1, "not_met"), entry(2), entry(2, "not_met")), ASKED)
    assert found.verdict == INCOMPLETE
    assert "contradicts itself about requirement 2" in found.findings[-1]


def test_nothing_asked_is_nothing_verified() -> None:
    """Instructions without a word cannot be met."""
    assert judge(answer(), ()).verdict == INVALID


def test_the_report_for_people_says_the_same() -> None:
    """Every requirement with its evidence, every finding, and the verdict at its end."""
    text = render_report(judge(answer(entry(1), entry(2, "not_met", "2 fail")), ASKED), "my-task", "deep")
    assert "1. ✓ **met**: write a.txt" in text
    assert "2. ❌ **not met**: [Done when] all tests pass" in text
    assert "Evidence: a.txt:1. it is there" in text
    assert "Evidence: a.txt:1. 2 fail" in text
    assert text.endswith("VERDICT: INCOMPLETE\n")
    assert render_report(judge(GOOD, ASKED), "t", "quick").endswith("VERDICT: VERIFIED\n")
    assert render_report(judge({}, ASKED), "t", "quick").endswith("VERDICT: NONE\n")


def test_the_schema_asks_for_what_is_read() -> None:
    """It is JSON, and names every field."""
    fields = json.loads(schema())["properties"]
    assert set(fields) == {"summary", "requirements", "findings"}
    assert set(fields["requirements"]["items"]["properties"]) == {
        *("number", "status", "shown_by", "evidence"),
        *("file", "line", "command", "exit_code"),
    }
    assert set(fields["findings"]["items"]["properties"]) == {"missing", "text"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 4) | st.floats() | st.sampled_from(["met", "not_met", "seen", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["number", "status", "shown_by", "file", "exit_code", "missing", "text", "x"]),
            inner,
            max_size=4,
        )
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
    """Property: verified means that the entries are exactly those of the list, all met, each shown by something."""
    found = judge({"summary": "x", "requirements": entries, "findings": findings}, ASKED)
    render_report(found, "t", "quick")
    if found.verdict == VERIFIED:
        assert {one["number"] for one in entries} == {1, 2}
        assert all(one["status"] == "met" for one in entries)
        assert all(one.shown_by for one in found.requirements)
        assert all(finding["missing"] is False for finding in findings)
