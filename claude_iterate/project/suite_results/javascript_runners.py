"""Summaries of jest, vitest, mocha and node's own runner."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_iterate.project.suite_results.suite_counts import Counts, kept, number

_COUNT = re.compile(r"(\d+) (failed|passed|skipped|todo|pending)")
_JEST = re.compile(r"^Tests: +((?:\d+ (?:failed|passed|skipped|todo|pending), )*)\d+ total$")
_JEST_RED = re.compile(r"^  ● (.+ › .+|\S.*)$")
_NOT_NAMES = ("Test suite failed to run", "Console")
_VITEST = re.compile(r"^ +Tests +((?:\d+ \w+(?: expected fail)? ?\|? ?)+\(\d+\)|no tests)$")
_VITEST_SUITES = re.compile(r"^.*Failed Suites (\d+)")
_VITEST_RED = re.compile(r"^ FAIL  (.+?)(?: \[ .* \])?$")
_PASSING = re.compile(r"^  (\d+) passing \([\d.]+\w+\)$")
_OTHER = re.compile(r"^  (\d+) (pending|failing)$")
_MOCHA_RED = re.compile(r"^  \d+\) (.+)$")
_MOCHA_BROKEN = re.compile(r"^\s*(?:Exception during run: |✖ ERROR: |Error: Cannot find module )")
_NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$")
_TAP_RED = re.compile(r"^\s*not ok \d+ - (.*?)(?: # .*)?$")
_SPEC_RED = re.compile(r"^\s*✖ (.*) \([\d.]+m?s\)$")
_NOTHING = {
    "jest": re.compile(r"^No tests found, exiting with code"),
    "vitest": re.compile(r"^No test files found, exiting with code"),
    "mocha": re.compile(r"^Error: No test files found"),
}


def _empty(runner: str, lines: Sequence[str]) -> Counts | None:
    at = next((at for at, line in enumerate(lines) if _NOTHING[runner].match(line)), None)
    return None if at is None else Counts(runner, at=at)


def _counted(text: str) -> dict[str, int]:
    return {word: number(much) for much, word in _COUNT.findall(text)}


def jest(lines: Sequence[str]) -> Counts | None:
    """`Tests:       2 failed, 1 skipped, 2 passed, 5 total`; a file that does not load is an error."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _JEST.match(line))]
    if not found:
        return _empty("jest", lines)
    at, match = found[-1]
    counts = _counted(match[1])
    named = [match[1] for line in lines[:at] if (match := _JEST_RED.match(line))]
    errors = named.count(_NOT_NAMES[0])
    red = [name for name in named if name not in _NOT_NAMES]
    skipped = counts.get("skipped", 0) + counts.get("todo", 0) + counts.get("pending", 0)
    return Counts("jest", counts.get("passed", 0), counts.get("failed", 0), errors, skipped, kept(red), at)


def vitest(lines: Sequence[str]) -> Counts | None:
    """`Tests  2 failed | 2 passed | 1 skipped (5)`; a file that does not load is an error."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _VITEST.match(line))]
    if not found:
        return _empty("vitest", lines)
    at, match = found[-1]
    counts = _counted(match[1])
    errors = sum(number(suites[1]) for line in lines[:at] if (suites := _VITEST_SUITES.match(line)))
    red = [named[1] for line in lines[:at] if (named := _VITEST_RED.match(line))]
    skipped = counts.get("skipped", 0) + counts.get("todo", 0)
    return Counts("vitest", counts.get("passed", 0), counts.get("failed", 0), errors, skipped, kept(red), at)


def mocha(lines: Sequence[str]) -> Counts | None:
    """`2 passing (16ms)`, and below it what is pending and failing."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _PASSING.match(line))]
    if not found:
        broken = next((at for at, line in enumerate(lines) if _MOCHA_BROKEN.match(line)), None)
        return _empty("mocha", lines) or (None if broken is None else Counts("mocha", errors=1, at=broken))
    at, match = found[-1]
    others = {other[2]: number(other[1]) for line in lines[at + 1 : at + 3] if (other := _OTHER.match(line))}
    red = [_mocha_name(lines, place) for place, line in enumerate(lines) if place > at and _MOCHA_RED.match(line)]
    failed, pending = others.get("failing", 0), others.get("pending", 0)
    return Counts("mocha", number(match[1]), failed, 0, pending, kept(red), at)


def _mocha_name(lines: Sequence[str], at: int) -> str:
    """The names of the suites and of the test stand below each other, up to a colon."""
    parts = [lines[at].split(") ", 1)[1]]
    for line in lines[at + 1 : at + 8]:
        if parts[-1].endswith(":") or not line.startswith("     "):
            break
        parts.append(line.strip())
    return " ".join(parts).removesuffix(":")


def node(lines: Sequence[str]) -> Counts | None:
    """`# pass 2` and the like, or with `ℹ`; what was cancelled could not run."""
    last = max(
        (at for at, line in enumerate(lines) if (said := _NODE.match(line)) and said[1] == "tests"), default=None
    )
    if last is None:
        return None
    counts = {said[1]: number(said[2]) for line in lines[last : last + 8] if (said := _NODE.match(line))}
    if not {"pass", "fail"} <= counts.keys():
        return None
    red = [
        named[1] for place, line in enumerate(lines) if (named := _TAP_RED.match(line)) and not _only_sums(lines, place)
    ]
    red += [named[1] for line in lines[last:] if (named := _SPEC_RED.match(line))]
    skipped = counts.get("skipped", 0) + counts.get("todo", 0)
    return Counts("node", counts["pass"], counts["fail"], counts.get("cancelled", 0), skipped, kept(red), last)


def _only_sums(lines: Sequence[str], at: int) -> bool:
    """A suite that failed because a test in it did."""
    return any("subtestsFailed" in line for line in lines[at + 1 : at + 8])
