"""Summaries of pytest and unittest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_iterate.project.suite_results.suite_counts import Counts, kept, number

_WORD = r"(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)"
_PYTEST = re.compile(
    rf"^=*\s?((?:\d+ {_WORD})(?:, \d+ {_WORD})*|no tests ran) in [\d.]+m?s(?: \([\d:. dayhs,]+\))?\s?=*$"
)
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_PYTEST_RED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")
_RAN = re.compile(r"^Ran (\d+) tests? in [\d.]+s$")
_ENDED = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?$")
_PART = re.compile(r"([a-z ]+)=(\d+)")
_UNITTEST_RED = re.compile(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+)(?: \((\S+)\))?")


def pytest(lines: Sequence[str]) -> Counts | None:
    """`2 failed, 1 passed, 1 error in 0.43s`, with or without the line around it."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _PYTEST.match(line))]
    if not found:
        return None
    at, match = found[-1]
    counts: dict[str, int] = {}
    for much, word in _COUNT.findall(match[1]):
        counts[word] = number(much)
    begins = max((place for place, line in enumerate(lines[:at]) if "short test summary" in line), default=at)
    red = [named[1] for line in lines[begins:at] if (named := _PYTEST_RED.match(line))]
    return Counts(
        "pytest",
        counts.get("passed", 0) + counts.get("xpassed", 0),
        counts.get("failed", 0),
        counts.get("error", 0) + counts.get("errors", 0),
        counts.get("skipped", 0) + counts.get("xfailed", 0),
        kept(red),
        at,
    )


def unittest(lines: Sequence[str]) -> Counts | None:
    """`Ran 6 tests in 0.001s`, and below it how they ended."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _RAN.match(line))]
    if not found:
        return None
    at, match = found[-1]
    end = next((ended for line in lines[at + 1 : at + 4] if (ended := _ENDED.match(line))), None)
    if end is None:
        return None
    parts = {name.strip(): number(much) for name, much in _PART.findall(end[1] or "")}
    failed = parts.get("failures", 0) + parts.get("unexpected successes", 0)
    errors, skipped = parts.get("errors", 0), parts.get("skipped", 0) + parts.get("expected failures", 0)
    red = [named[2] or named[1] for line in lines[:at] if (named := _UNITTEST_RED.match(line))]
    passed = max(0, number(match[1]) - failed - errors - skipped)
    return Counts("unittest", passed, failed, errors, skipped, kept(red), at)
