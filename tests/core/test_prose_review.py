"""A review in prose: verified only when nothing in it speaks against that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from claude_iterate.core.reports.prose_review import read
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, VERIFIED

GOOD = """# Verification

## Summary
All is there.

## Requirements
- tests pass: met, `npm test` is green

## Findings
None.

VERIFICATION-ID: abc
VERDICT: VERIFIED
"""


def test_a_good_report_verifies() -> None:
    """Its summary is kept."""
    assert astuple(read(GOOD, "abc"))[:3] == (VERIFIED, "All is there.", ())


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("None.", "1. None."),
        GOOD.replace("None.", "- none"),
        GOOD.replace("None.", "**None**"),
        GOOD.replace("VERDICT: VERIFIED", "**VERDICT: VERIFIED**"),
        GOOD.replace("## Findings", "### Findings:"),
        GOOD.replace("VERIFICATION-ID: abc", "**VERIFICATION-ID: abc**"),
        "## Findings\nNone.\n\nVERIFICATION-ID: abc\nVERDICT: VERIFIED",
        GOOD.replace("None.", "No issues found."),
        GOOD.replace("None.", "There are no findings."),
        GOOD.replace("None.", "- No open issues were found."),
        GOOD.replace("None.", "Nothing is missing."),
        GOOD.replace("VERIFICATION-ID", "## Open issues\nNone.\n\nVERIFICATION-ID"),
        GOOD.replace("VERIFICATION-ID", "## Remarks\n1. The names could be better.\n\nVERIFICATION-ID"),
        GOOD.replace("All is there.", "All is there. Nothing is missing, no test fails, 0 failed."),
        GOOD.replace("- tests", "- handles missing files: met, test_missing_file passes\n- failed: 0: met\n- tests"),
    ],
)
def test_dress_does_not_matter(text: str) -> None:
    """Bold, bullets and other levels of heading change nothing."""
    assert read(text, "abc").verdict == VERIFIED


ASKED = (Requirement(1, "one"), Requirement(2, "two"), Requirement(3, "three"))


@pytest.mark.parametrize(
    "lines",
    [
        "1. met: a\n2. met: b\n3. met: c",
        "1) one: done\n2) two: **met**\n3) three: ✓",
        "- Requirement 1: met, a.txt\n- Requirement 2: met (b.txt:1)\n- Requirement 3: met by `make`",
        "| # | status | seen |\n|---|---|---|\n| 1 | met | a |\n| 2 | met | b |\n| 3 | met | c |",
        "1. write a.txt\n   Met, seen in a.txt\n2. met: b\n3. met: c",
        "**1-3:** met, all of them seen",
        "1, 2 and 3: met, as `make test` shows",
        "### 1. One\nmet: a\n### 2. Two\nmet: b\n### 3. Three\nmet: c",
    ],
)
def test_each_numbered_requirement_is_called_met(lines: str) -> None:
    """In the ways in which people and models write that."""
    assert read(GOOD.replace("- tests pass: met, `npm test` is green", lines), "abc", asked=ASKED).verdict == VERIFIED


@pytest.mark.parametrize(
    ("lines", "left_out"),
    [
        ("All requirements are met.", "1, 2, 3"),
        ("1. met\n3. met", "2"),
        ("1. met\n2. see the code\n3. met", "2"),
        ("1. met\n2. met\n\n## Other\nmet\n30. met", "3"),
    ],
)
def test_a_requirement_that_is_left_out_is_not_a_pass(lines: str, left_out: str) -> None:
    """The message names it."""
    found = read(GOOD.replace("- tests pass: met, `npm test` is green", lines), "abc", asked=ASKED)
    assert found.verdict == INVALID
    assert f"requirement {left_out} met" in found.summary


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("met (except that b.txt does not exist yet)", "says otherwise"),
        ("met - b.txt absent, but that is fine", "says otherwise"),
        ("met - I did not look", "says otherwise"),
        ("met - b.txt: No such file or directory", "says otherwise"),
        ("met - ls: cannot access b.txt", "says otherwise"),
        ("Met? Hardly. b.txt lacks content", "says otherwise"),
        ("met - half of it", "says otherwise"),
        ("met - skipped", "says otherwise"),
        ("met - the file is empty (0 bytes), a TODO remains", "says otherwise"),
        ("met - assuming b.txt gets written later", "says otherwise"),
        ("met", "without evidence for requirement 2"),
        ("**met** ✓", "without evidence for requirement 2"),
    ],
)
def test_evidence_is_judged_as_in_an_answer_by_schema(line: str, why: str) -> None:
    """A line that calls a requirement met needs evidence, and none that says otherwise."""
    text = GOOD.replace("- tests pass: met, `npm test` is green", f"1. met: a.txt\n2. {line}\n3. met: c.txt")
    found = read(text, "abc", asked=ASKED)
    assert (found.verdict, why in found.summary or "not met" in found.summary) == (INVALID, True), found


def test_an_incomplete_report_lists_what_is_missing() -> None:
    """Findings are numbered items, also over several lines and under headings of their own."""
    text = GOOD.replace("None.", "### Critical\n1. No tests\n   at all\n2. README is empty")
    text = text.replace("VERIFIED", "INCOMPLETE")
    assert astuple(read(text, "abc"))[:3] == (INCOMPLETE, "All is there.", ("No tests at all", "README is empty"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        (GOOD.replace("abc", "other"), "does not name this review"),
        (GOOD.replace("VERIFICATION-ID: abc\n", ""), "does not name this review"),
        (GOOD.replace("VERDICT: VERIFIED", "It cannot be marked VERDICT: VERIFIED yet"), "no verdict line"),
        (GOOD.replace("VERDICT: VERIFIED", "✅ VERIFIED"), "no verdict line"),
        (GOOD + "VERDICT: INCOMPLETE\n", "more than one"),
        (GOOD + "VERDICT: VERIFIED\n", "more than one"),
        (GOOD.replace("# Verification\n", "# Verification\n**VERDICT: INCOMPLETE**\n"), "more than one"),
        (GOOD.replace("# Verification\n", "# Verification\n> Verdict: incomplete - tests are red\n"), "more than one"),
        (GOOD.replace("VERDICT: VERIFIED", "VERDICT: PROBABLY"), "does not end"),
        (GOOD.replace("VERDICT: VERIFIED", "VERDICT: NOT VERIFIED"), "does not end"),
        (GOOD + "On second thought INCOMPLETE\n", "does not end"),
        (GOOD.replace("VERDICT: VERIFIED", "VERDICT:\n\nVERIFIED"), "does not end"),
        (GOOD.replace("VERDICT: VERIFIED", "```\nVERDICT: VERIFIED\n```"), "does not end"),
        (GOOD.replace("VERDICT: VERIFIED", "\nthus\nVERDICT: VERIFIED"), "right after"),
        (GOOD.replace("None.", "1. The tests fail"), "lists findings"),
        (GOOD.replace("None.", "The tests fail"), "lists findings"),
        (GOOD.replace("None.", "None of the requirements is met:\n1. tests are red"), "lists findings"),
        (GOOD.replace("None.", "Nothing works."), "lists findings"),
        (GOOD.replace("None.", "No findings except these:\n1. red"), "lists findings"),
        (GOOD.replace("None.", "### Critical\n1. red"), "lists findings"),
        (GOOD.replace("## Findings\nNone.", ""), "without one section"),
        (GOOD.replace("VERIFICATION-ID", "## Findings\nNone.\n\nVERIFICATION-ID"), "without one section"),
        (GOOD.replace("met, `npm test` is green", "not met"), "not met"),
        (GOOD.replace("met, `npm test` is green", "could not be checked"), "not met"),
    ],
)
def test_whatever_is_odd_is_invalid(text: str, words: str) -> None:
    """Empty, of another review, without a verdict, with two in any dress, or at odds with itself."""
    review = read(text, "abc")
    assert review.verdict == INVALID
    assert words in review.summary


@pytest.mark.parametrize(
    "line",
    [
        "- item 2: **not** met",
        "- item 2: _not_ met",
        "- item 2: `not met`",
        "- item 2: n**o**t met",
        "- item 2: not_met",
        f"1. {'0' * 450}: not met",
        f"1. {'long ' * 100_000}: not met",
        "- item 2: not\n  met",
        "- item 2: not yet done",
        "- item 2: not fully implemented",
        "- item 2: partially met",
        "- item 2: partly",
        "- item 2: failed",
        "- item 2: FAIL",
        "- item 2 failed because of x",
        "- 12 passed, 1 failed, 3 skipped",
        "- item 2 is missing",
        "- item 2 (missing)",
        "- item 2 — missing",
        "- item 2 incomplete",
        "- item 2: pending",
        "- item 2: unverified",
        "- item 2 could not be checked",
        "- [ ] item 2",
        "| 2 | item 2 | ✗ |",
        "| 2 | item 2 | ❌ | a.txt |",
        "| 2 | item 2 | failed | a.txt |",
        "> item 2: **not** met",
        "```\nitem 2: not met\n```",
    ],
)
@pytest.mark.parametrize("section", ["## Requirements", "## Summary"])
def test_no_dress_hides_that_something_is_not_met(line: str, section: str) -> None:
    """Emphasis, tables, crosses, long lines, line breaks and other words, in any section."""
    review = read(GOOD.replace(f"{section}\n", f"{section}\n{line}\n\n"), "abc")
    assert (review.verdict, "not met" in review.summary) == (INVALID, True)


@pytest.mark.parametrize(
    "more",
    [
        "## Additional findings\n1. The README has gone",
        "## Open issues\n- The README has gone",
        "### Remaining work\nThe README",
        "## What is missing\n- The README",
        "# Problems\n- The README",
        "Open issues:\n- The README",
        "**Further findings**\n- The README",
    ],
)
@pytest.mark.parametrize("before", ["## Findings", "VERIFICATION-ID"])
def test_no_other_heading_hides_findings(more: str, before: str) -> None:
    """Several headings may list something; each of them must list nothing."""
    review = read(GOOD.replace(before, f"{more}\n\n{before}"), "abc")
    assert (review.verdict, "lists" in review.summary) == (INVALID, True)


def test_an_answer_that_says_otherwise_makes_it_invalid() -> None:
    """What the reviewer said at last counts too."""
    assert read(GOOD, "abc", "All fine.\nVERDICT: VERIFIED").verdict == VERIFIED
    assert read(GOOD, "abc", "Sorry.\nVERDICT: INCOMPLETE").verdict == INVALID


LINES = st.sampled_from(
    [
        "VERIFICATION-ID: abc",
        "VERDICT: VERIFIED",
        "VERDICT: INCOMPLETE",
        "## Findings",
        "None.",
        "1. x",
        "",
        "## Summary",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_a_random_report_verifies_only_in_the_one_form(lines: list[str]) -> None:
    """The last two lines are id and verdict, there is one section of findings, and it is empty or says none."""
    if read("\n".join(lines), "abc").verdict == VERIFIED:
        said = [line for line in lines if line]
        assert said[-2:] == ["VERIFICATION-ID: abc", "VERDICT: VERIFIED"]
        assert said.count("## Findings") == 1
        assert "VERDICT: INCOMPLETE" not in said
        after = said[said.index("## Findings") + 1 :]
        assert after[0] != "1. x"


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    """Whatever it says."""
    read(text, "abc", text)


def test_long_and_empty_lines_take_no_time() -> None:
    """Patterns are linear: a hostile report cannot hold the engine up. (A quadratic one runs into the time-out.)"""
    lines = ("\n" * 100_000, "- \n" * 30_000, "1-100: met\n" * 10_000)
    for text in (*lines, ":" * 300_000, "# " + ":" * 300_000, " " * 300_000 + "x", "no " * 100_000):
        read("## Findings\n" + text, "abc", text)
        read(GOOD.replace("All is there.", text), "abc", text, ASKED)
