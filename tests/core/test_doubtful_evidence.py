"""Evidence that speaks against what it is to bear out."""

from __future__ import annotations

import pytest

from claude_iterate.core.reports.doubtful_evidence import speaks_against
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, VERIFIED, judged

AGAINST = [
    "not implemented",
    "The parser is not yet implemented.",
    "Not implemented: see src/a.py",
    "test_a.py fails",
    "The test fails: expected 3",
    "2 of 9 tests fail",
    "pytest: 3 failed, 10 passed",
    "a.txt is missing",
    "missing",
    "Missing; I looked in src",
    "the file does not exist",
    "src/a.py doesn't exist",
    "could not run the tests",
    "I was unable to verify this.",
    "not tested",
    "only partially there",
    "still a stub",
    "b.txt is empty",
    "no such file",
    "The build is broken.",
    "there is no b.txt",
    "none of the files exist",
    "isn't implemented",
    "doesn\u2019t exist",
    "npm test exits with code 1",
    "FAILED tests/test_a.py::test_b",
    "only 3 of 10 files exist",
    "0 of 3 present",
    "Traceback (most recent call last)",
    "AssertionError in test_b",
    "permission denied",
    "timed out",
    "unable to tell",
    "skipped",
    "b.txt \u2717",
    "the claim says so",
    "per the report, done",
    "b.txt still to be written",
    "done except one",
    "crashes on start",
    "skipped, see below",
    "false",
]
FOR = [
    "a.txt, line 1",
    "`pytest` is green: 12 passed, 0 failed",
    "no test fails",
    "nothing is missing",
    "raises ValueError if the file is missing",
    "test_missing_file covers a missing file",
    "exits with 2 when the name is empty",
    "src/a.py:3 returns 0 on success and fails with a clear message for bad input",
    "without errors",
    "there are no stubs and no TODO left",
    "README.md says: `not implemented` is gone",
    "failures: 0",
    "The error for a failed login names the account.",
    "ran npm test: all 40 tests pass",
    "the list is not empty",
    "A remark; it asks for nothing.",
    "Its steps in TODO.md are ticked.",
    "finds partial matches, see test_partial",
    "The old module does not exist any more, as asked",
    "exits with code 1 on bad input, as asked: tests/test_cli.py:12 passes",
    "pytest: 12 passed, 1 skipped",
    "0 of 120 tests failed",
    "src/cli.py:40 prints an error and exits with code 1 when the file is missing; test_missing passes",
    "test_timeout checks that a request timed out after 5s",
    "legacy.py was removed; ls shows it is not there",
    "missing.txt is created by the script, as asked (ls shows 12 bytes)",
    "failed logins are counted in auth.py:20",
    "answers in under 200 ms, except for the first request, which the instructions allow",
    "9/9 tests, src/a.py:3/4",
    "prints permission denied for other users",
    "there are no TODO marks left",
    "returns false for an empty list, test_empty passes",
]


@pytest.mark.parametrize("words", AGAINST)
def test_words_that_say_otherwise(words: str) -> None:
    """Then a requirement that is `met` counts as not checked, and the words are the finding."""
    assert speaks_against(words)
    answer = {"summary": "", "findings": [], "requirements": [{"number": 1, "status": "met", "evidence": words}]}
    found = judged(answer, (Requirement(1, "one"),))
    assert (found.verdict, [one.status for one in found.requirements]) == (INCOMPLETE, ["not_checked"])


@pytest.mark.parametrize("words", FOR)
def test_words_that_only_sound_so(words: str) -> None:
    """Conditions, denials, quotations, and names of files and tests."""
    assert not speaks_against(words)


@pytest.mark.parametrize(
    ("summary", "remark", "verdict"),
    [
        ("All holds.", "The names could be better.", VERIFIED),
        ("All holds.", "A page about it is missing, but it was not asked for.", VERIFIED),
        ("All holds.", "b.txt is missing entirely", INCOMPLETE),
        ("Not done: b.txt is missing. The claim is false.", "", INVALID),
        ("The work is not complete.", "", INVALID),
    ],
)
def test_a_summary_and_remarks_may_not_say_otherwise(summary: str, remark: str, verdict: str) -> None:
    """Though each entry says `met`."""
    findings = [{"missing": False, "text": remark}] if remark else []
    entry = {"number": 1, "status": "met", "evidence": "a.txt:1"}
    found = judged({"summary": summary, "findings": findings, "requirements": [entry]}, (Requirement(1, "one"),))
    assert found.verdict == verdict
