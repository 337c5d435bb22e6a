"""Summaries of cargo, go, rspec, ctest, Maven's surefire and dotnet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_iterate.project.suite_results.suite_counts import Counts, kept, number

_CARGO_BEGIN = re.compile(r"^running \d+ tests?$")
_CARGO = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
)
_CARGO_BROKEN = re.compile(r"^error: could not compile ")
_CARGO_RED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$")
_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$")
_GO_RUN = re.compile(r"^=== RUN   ([^\s/]+)$")
_GO_PACKAGE = re.compile(r"^(ok  |FAIL|\?   )\t(\S+)(?:\t| \[)(.*)$")
_RSPEC = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$"
)
_RSPEC_RED = re.compile(r"^rspec \S+ # (.+)$")
_CTEST = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$")
_CTEST_LISTED = re.compile(r"^\s+\d+ - (\S+) \((.+)\)$")
_SUREFIRE = re.compile(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$")
_SUREFIRE_RED = re.compile(r"^\[ERROR\]   ([\w$]+\.[\w.$]+)(?:->|:|\(| |$)")
_MAVEN_BROKEN = re.compile(r"^\[ERROR\] COMPILATION ERROR")
_DOTNET = re.compile(
    r"^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+\d+"
)
_DOTNET_RED = re.compile(r"^  Failed (\S.*?) \[.*\]$")
_DOTNET_BROKEN = re.compile(r"^Build FAILED\.$")


def cargo(lines: Sequence[str]) -> Counts | None:
    """Each test program has a block of its own; they are summed up. In a block the last line counts, because a test
    may have printed such a line, too."""
    results: list[tuple[int, int, int]] = []
    at, open_block = 0, False
    for place, line in enumerate(lines):
        if _CARGO_BEGIN.match(line):
            open_block = False
        elif match := _CARGO.match(line):
            figures = number(match[1]), number(match[2]), number(match[3])
            results[-1 if open_block else len(results) :] = [figures]
            at, open_block = place, True
    broken = [place for place, line in enumerate(lines) if _CARGO_BROKEN.match(line)]
    if not results and not broken:
        return None
    red = [match[1] for line in lines if (match := _CARGO_RED.match(line))]
    passed, failed, ignored = (sum(block[which] for block in results) for which in range(3))
    return Counts("cargo", passed, failed, len(broken[:1]), ignored, kept(red), max([at, *broken]))


def go(lines: Sequence[str]) -> Counts | None:
    """With -v every test is told, and counted if it was begun; without, packages that passed and tests that failed.
    A package that is told both ways failed."""
    packages: dict[str, str] = {}
    at = 0
    for place, line in enumerate(lines):
        if match := _GO_PACKAGE.match(line):
            at = place
            how = "error" if "failed]" in match[3] else match[1].strip()
            packages[match[2]] = how if packages.get(match[2]) not in {"FAIL", "error"} else packages[match[2]]
    if not packages:
        return None
    begun = {match[1] for line in lines if (match := _GO_RUN.match(line))}
    told = [
        (match[1], match[2]) for line in lines if (match := _GO_TEST.match(line)) and (not begun or match[2] in begun)
    ]
    red = [name for how, name in told if how == "FAIL"]
    failing = [name for name, how in packages.items() if how == "FAIL"]
    errors = sum(how == "error" for how in packages.values()) + (1 if failing and not red else 0)
    passed = sum(how == "PASS" for how, _ in told) if begun else sum(how == "ok" for how in packages.values())
    broken = [name for name, how in packages.items() if how == "error"]
    return Counts("go", passed, len(red), errors, sum(how == "SKIP" for how, _ in told), kept(red + broken), at)


def rspec(lines: Sequence[str]) -> Counts | None:
    """`3 examples, 1 failure, 1 pending`."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _RSPEC.match(line))]
    if not found:
        return None
    at, match = found[-1]
    examples, failed, pending, errors = (number(match[which]) for which in range(1, 5))
    red = [named[1] for line in lines[at:] if (named := _RSPEC_RED.match(line))]
    return Counts("rspec", max(0, examples - failed - pending), failed, errors, pending, kept(red), at)


def ctest(lines: Sequence[str]) -> Counts | None:
    """`67% tests passed, 1 tests failed out of 3`; tests that did not run are listed below it."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _CTEST.match(line))]
    if not found:
        none = next((at for at, line in enumerate(lines) if line == "No tests were found!!!"), None)
        return None if none is None else Counts("ctest", at=none)
    at, match = found[-1]
    listed = [(named[1], named[2]) for line in lines[at:] if (named := _CTEST_LISTED.match(line))]
    skipped = sum(how in {"Skipped", "Disabled"} for _, how in listed)
    errors = sum(how == "Not Run" for _, how in listed)
    failed = max(0, number(match[1]) - errors)
    red = [name for name, how in listed if how not in {"Skipped", "Disabled"}]
    passed = max(0, number(match[2]) - failed - errors - skipped)
    return Counts("ctest", passed, failed, errors, skipped, kept(red), at)


def surefire(lines: Sequence[str]) -> Counts | None:
    """`Tests run: 5, Failures: 1, Errors: 1, Skipped: 1` below `Results:`, of each module."""
    total = [0, 0, 0, 0]
    at, awaited, seen = 0, False, False
    for place, line in enumerate(lines):
        if line.endswith(("Results:", "Results :")):
            awaited = True
        elif awaited and (match := _SUREFIRE.match(line)):
            total = [have + number(match[which]) for which, have in enumerate(total, 1)]
            at, awaited, seen = place, False, True
    broken = [place for place, line in enumerate(lines) if _MAVEN_BROKEN.match(line)]
    if not seen and not broken:
        return None
    ran, failed, errors, skipped = total
    red = [match[1] for line in lines if (match := _SUREFIRE_RED.match(line))]
    passed = max(0, ran - failed - errors - skipped)
    return Counts("surefire", passed, failed, errors + len(broken[:1]), skipped, kept(red), max([at, *broken]))


def dotnet(lines: Sequence[str]) -> Counts | None:
    """`Failed!  - Failed: 1, Passed: 2, Skipped: 0, Total: 3`, of each assembly."""
    found = [(at, match) for at, line in enumerate(lines) if (match := _DOTNET.match(line))]
    broken = [at for at, line in enumerate(lines) if _DOTNET_BROKEN.match(line)]
    if not found and not broken:
        return None
    failed, passed, skipped = (sum(number(match[which]) for _, match in found) for which in range(1, 4))
    red = [match[1] for line in lines if (match := _DOTNET_RED.match(line))]
    at = max([*(place for place, _ in found), *broken])
    return Counts("dotnet", passed, failed, len(broken[:1]), skipped, kept(red), at)
