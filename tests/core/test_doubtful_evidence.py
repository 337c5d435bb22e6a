"""Evidence that speaks against what it is to bear out."""

from __future__ import annotations

import pytest

from claude_iterate.core.reports.doubtful_evidence import speaks_against
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, judged

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
