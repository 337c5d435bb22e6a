"""How many tests passed, failed, could not run and were skipped, read from what test runners print for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

_NAMES_KEPT = 20
_LONGEST = 1_000
"""Characters of a line that are read."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
Lines = Sequence[str]


class Counts(msgspec.Struct, frozen=True):
    """One summary. `errors` are tests or files that could not run at all; `red` names tests that failed or could not
    run, the first of them; `at` is the line of the summary: the last summary of an output counts."""

    how: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    red: tuple[str, ...] = ()
    at: int = 0


def read_summary(output: str) -> Counts | None:
    """What the last summary in an output says; None when no runner is known by it."""
    lines = [_plain(line[: 4 * _LONGEST])[:_LONGEST] for line in output.split("\n")]
    found = [counts for reader in _READERS if (counts := reader(lines)) is not None]
    return max(found, key=lambda counts: counts.at, default=None)


def first_names(names: Iterable[str]) -> tuple[str, ...]:
    """The first names, each once."""
    return tuple(dict.fromkeys(names))[:_NAMES_KEPT]


def _plain(line: str) -> str:
    """A line without colours and without what a carriage return has overwritten."""
    return _ANSI.sub("", line).rstrip("\r").rpartition("\r")[2].rstrip()


def _number(found: str | None) -> int:
    """A count; nothing counts as 0. An absurd one is cut off."""
    return int(found[:9]) if found else 0


def _by_word(text: str) -> Counter[str]:
    """`2 failed, 1 passed` as figures by word; 0 for a word that is not there."""
    return Counter({word: _number(figure) for figure, word in re.findall(r"(\d+) ([a-z]+)", text)})


def _matches(pattern: re.Pattern[str], lines: Lines) -> list[tuple[int, re.Match[str]]]:
    """The lines that match, with their places."""
    return [(at, found) for at, line in enumerate(lines) if (found := pattern.match(line))]


def _names(pattern: re.Pattern[str], lines: Lines) -> tuple[str, ...]:
    """What the first group of the pattern finds in these lines."""
    return first_names(found[1] for _, found in _matches(pattern, lines))


_WORD = r"(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)"
_PYTEST = re.compile(
    rf"^=*\s?((?:\d+ {_WORD})(?:, \d+ {_WORD})*|no tests ran) in [\d.]+m?s(?: \([\d:. dayhs,]+\))?\s?=*$"
)
_PYTEST_RED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")


def _pytest(lines: Lines) -> Counts | None:
    """`2 failed, 1 passed, 1 error in 0.43s`, with or without the line around it."""
    found = _matches(_PYTEST, lines)
    if not found:
        return None
    at, match = found[-1]
    count = _by_word(match[1])
    begins = max((place for place, line in enumerate(lines[:at]) if "short test summary" in line), default=at)
    passed, skipped = count["passed"] + count["xpassed"], count["skipped"] + count["xfailed"]
    errors = count["error"] + count["errors"]
    return Counts("pytest", passed, count["failed"], errors, skipped, _names(_PYTEST_RED, lines[begins:at]), at)


_RAN = re.compile(r"^Ran (\d+) tests? in [\d.]+s$")
_ENDED = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?$")
_UNITTEST_RED = re.compile(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+)(?: \((\S+)\))?")


def _unittest(lines: Lines) -> Counts | None:
    """`Ran 6 tests in 0.001s`, and below it how they ended."""
    found = _matches(_RAN, lines)
    if not found:
        return None
    at, match = found[-1]
    ends = _matches(_ENDED, lines[at + 1 : at + 4])
    if not ends:
        return None
    parts = re.findall(r"([a-z ]+)=(\d+)", ends[0][1][1] or "")
    count = Counter({name.strip(): _number(figure) for name, figure in parts})
    failed, errors = count["failures"] + count["unexpected successes"], count["errors"]
    skipped = count["skipped"] + count["expected failures"]
    red = first_names(named[2] or named[1] for _, named in _matches(_UNITTEST_RED, lines[:at]))
    return Counts("unittest", max(0, _number(match[1]) - failed - errors - skipped), failed, errors, skipped, red, at)


_JEST = re.compile(r"^Tests: +((?:\d+ (?:failed|passed|skipped|todo|pending), )*)\d+ total$")
_JEST_RED = re.compile(r"^  ● (.+ › .+|\S.*)$")
_JEST_BROKEN = "Test suite failed to run"
_JEST_EMPTY = re.compile(r"^No tests found, exiting with code")


def _jest(lines: Lines) -> Counts | None:
    """`Tests:       2 failed, 1 skipped, 2 passed, 5 total`; a file that does not load is an error."""
    found = _matches(_JEST, lines)
    if not found:
        return _empty("jest", _JEST_EMPTY, lines)
    at, match = found[-1]
    count = _by_word(match[1])
    named = [named[1] for _, named in _matches(_JEST_RED, lines[:at])]
    red = first_names(name for name in named if name not in (_JEST_BROKEN, "Console"))
    skipped = count["skipped"] + count["todo"] + count["pending"]
    return Counts("jest", count["passed"], count["failed"], named.count(_JEST_BROKEN), skipped, red, at)


def _empty(runner: str, pattern: re.Pattern[str], lines: Lines) -> Counts | None:
    """The runner says that there are no tests."""
    return next((Counts(runner, at=at) for at, _ in _matches(pattern, lines)), None)


_VITEST = re.compile(r"^ +Tests +((?:\d+ \w+(?: expected fail)? ?\|? ?)+\(\d+\)|no tests)$")
_VITEST_SUITES = re.compile(r"^.*Failed Suites (\d+)")
_VITEST_RED = re.compile(r"^ FAIL  (.+?)(?: \[ .* \])?$")
_VITEST_EMPTY = re.compile(r"^No test files found, exiting with code")


def _vitest(lines: Lines) -> Counts | None:
    """`Tests  2 failed | 2 passed | 1 skipped (5)`; a file that does not load is an error."""
    found = _matches(_VITEST, lines)
    if not found:
        return _empty("vitest", _VITEST_EMPTY, lines)
    at, match = found[-1]
    count = _by_word(match[1])
    errors = sum(_number(suites[1]) for _, suites in _matches(_VITEST_SUITES, lines[:at]))
    red = _names(_VITEST_RED, lines[:at])
    return Counts("vitest", count["passed"], count["failed"], errors, count["skipped"] + count["todo"], red, at)


_PASSING = re.compile(r"^  (\d+) passing \([\d.]+\w+\)$")
_MOCHA_OTHER = re.compile(r"^  (\d+) (pending|failing)$")
_MOCHA_RED = re.compile(r"^  \d+\) (.+)$")
_MOCHA_BROKEN = re.compile(r"^\s*(?:Exception during run: |✖ ERROR: |Error: Cannot find module )")
_MOCHA_EMPTY = re.compile(r"^Error: No test files found")


def _mocha(lines: Lines) -> Counts | None:
    """`2 passing (16ms)`, and below it what is pending and failing."""
    found = _matches(_PASSING, lines)
    if not found:
        broken = [Counts("mocha", errors=1, at=at) for at, _ in _matches(_MOCHA_BROKEN, lines)]
        return _empty("mocha", _MOCHA_EMPTY, lines) or next(iter(broken), None)
    at, match = found[-1]
    others = Counter({word[2]: _number(word[1]) for _, word in _matches(_MOCHA_OTHER, lines[at + 1 : at + 3])})
    red = first_names(_mocha_name(lines, place) for place, _ in _matches(_MOCHA_RED, lines) if place > at)
    return Counts("mocha", _number(match[1]), others["failing"], 0, others["pending"], red, at)


def _mocha_name(lines: Lines, at: int) -> str:
    """The names of the suites and of the test stand below each other, up to a colon."""
    parts = [lines[at].split(") ", 1)[1]]
    for line in lines[at + 1 : at + 8]:
        if parts[-1].endswith(":") or not line.startswith("     "):
            break
        parts.append(line.strip())
    return " ".join(parts).removesuffix(":")


_NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$")
_TAP_RED = re.compile(r"^\s*not ok \d+ - (.*?)(?: # .*)?$")
_SPEC_RED = re.compile(r"^\s*✖ (.*) \([\d.]+m?s\)$")


def _node(lines: Lines) -> Counts | None:
    """`# pass 2` and the like, or with `ℹ`; what was cancelled could not run."""
    begins = [at for at, match in _matches(_NODE, lines) if match[1] == "tests"]
    if not begins:
        return None
    at = begins[-1]
    count = Counter({match[1]: _number(match[2]) for _, match in _matches(_NODE, lines[at : at + 8])})
    if not {"pass", "fail"} <= count.keys():
        return None
    # A suite that failed because a test in it did is no test.
    failed = [(place, named[1]) for place, named in _matches(_TAP_RED, lines)]
    red = [name for place, name in failed if not any("subtestsFailed" in line for line in lines[place + 1 : place + 8])]
    red += _names(_SPEC_RED, lines[at:])
    skipped = count["skipped"] + count["todo"]
    return Counts("node", count["pass"], count["fail"], count["cancelled"], skipped, first_names(red), at)


_CARGO_BEGIN = re.compile(r"^running \d+ tests?$")
_CARGO = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
)
_CARGO_BROKEN = re.compile(r"^error: could not compile ")
_CARGO_RED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$")


def _cargo(lines: Lines) -> Counts | None:
    """Each test program has a block of its own; they are summed up. In a block the last line counts, because a test
    may have printed such a line, too."""
    results: list[tuple[int, int, int]] = []
    at, open_block = 0, False
    for place, line in enumerate(lines):
        if _CARGO_BEGIN.match(line):
            open_block = False
        elif match := _CARGO.match(line):
            figures = _number(match[1]), _number(match[2]), _number(match[3])
            results[-1 if open_block else len(results) :] = [figures]
            at, open_block = place, True
    broken = [place for place, _ in _matches(_CARGO_BROKEN, lines)]
    if not results and not broken:
        return None
    passed, failed, ignored = (sum(block[which] for block in results) for which in range(3))
    return Counts("cargo", passed, failed, len(broken[:1]), ignored, _names(_CARGO_RED, lines), max([at, *broken]))


_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$")
_GO_RUN = re.compile(r"^=== RUN   ([^\s/]+)$")
_GO_PACKAGE = re.compile(r"^(ok  |FAIL|\?   )\t(\S+)(?:\t| \[)(.*)$")


def _go(lines: Lines) -> Counts | None:
    """With -v every test is told, and counted if it was begun; without, packages that passed and tests that failed.
    A package that is told both ways failed."""
    packages: dict[str, str] = {}
    found = _matches(_GO_PACKAGE, lines)
    for _, match in found:
        if packages.get(match[2]) not in {"FAIL", "error"}:
            packages[match[2]] = "error" if "failed]" in match[3] else match[1].strip()
    if not found:
        return None
    begun = {match[1] for _, match in _matches(_GO_RUN, lines)}
    tests = [(match[1], match[2]) for _, match in _matches(_GO_TEST, lines) if not begun or match[2] in begun]
    red = [name for how, name in tests if how == "FAIL"]
    failing = [name for name, how in packages.items() if how == "FAIL"]
    broken = [name for name, how in packages.items() if how == "error"]
    errors = len(broken) + (1 if failing and not red else 0)
    passed = sum(how == "PASS" for how, _ in tests) if begun else sum(how == "ok" for how in packages.values())
    skipped = sum(how == "SKIP" for how, _ in tests)
    return Counts("go", passed, len(red), errors, skipped, first_names(red + broken), found[-1][0])


_RSPEC = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$"
)
_RSPEC_RED = re.compile(r"^rspec \S+ # (.+)$")


def _rspec(lines: Lines) -> Counts | None:
    """`3 examples, 1 failure, 1 pending`."""
    found = _matches(_RSPEC, lines)
    if not found:
        return None
    at, match = found[-1]
    examples, failed, pending, errors = map(_number, match.groups())
    red = _names(_RSPEC_RED, lines[at:])
    return Counts("rspec", max(0, examples - failed - pending), failed, errors, pending, red, at)


_CTEST = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$")
_CTEST_LISTED = re.compile(r"^\s+\d+ - (\S+) \((.+)\)$")
_CTEST_EMPTY = re.compile(r"^No tests were found!!!$")


def _ctest(lines: Lines) -> Counts | None:
    """`67% tests passed, 1 tests failed out of 3`; tests that did not run are listed below it."""
    found = _matches(_CTEST, lines)
    if not found:
        return _empty("ctest", _CTEST_EMPTY, lines)
    at, match = found[-1]
    listed = [(named[1], named[2]) for _, named in _matches(_CTEST_LISTED, lines[at:])]
    skipped = sum(how in {"Skipped", "Disabled"} for _, how in listed)
    errors = sum(how == "Not Run" for _, how in listed)
    failed = max(0, _number(match[1]) - errors)
    red = first_names(name for name, how in listed if how not in {"Skipped", "Disabled"})
    return Counts("ctest", max(0, _number(match[2]) - failed - errors - skipped), failed, errors, skipped, red, at)


_SUREFIRE = re.compile(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$")
_SUREFIRE_RED = re.compile(r"^\[ERROR\]   ([\w$]+\.[\w.$]+)(?:->|:|\(| |$)")
_MAVEN_BROKEN = re.compile(r"^\[ERROR\] COMPILATION ERROR")


def _surefire(lines: Lines) -> Counts | None:
    """`Tests run: 5, Failures: 1, Errors: 1, Skipped: 1` below `Results:`, of each module."""
    modules: list[tuple[int, ...]] = []
    at, awaited = 0, False
    for place, line in enumerate(lines):
        if line.endswith(("Results:", "Results :")):
            awaited = True
        elif awaited and (match := _SUREFIRE.match(line)):
            modules.append(tuple(map(_number, match.groups())))
            at, awaited = place, False
    broken = [place for place, _ in _matches(_MAVEN_BROKEN, lines)]
    if not modules and not broken:
        return None
    ran, failed, errors, skipped = (sum(module[which] for module in modules) for which in range(4))
    passed, red = max(0, ran - failed - errors - skipped), _names(_SUREFIRE_RED, lines)
    return Counts("surefire", passed, failed, errors + len(broken[:1]), skipped, red, max([at, *broken]))


_DOTNET = re.compile(
    r"^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+\d+"
)
_DOTNET_RED = re.compile(r"^  Failed (\S.*?) \[.*\]$")
_DOTNET_BROKEN = re.compile(r"^Build FAILED\.$")


def _dotnet(lines: Lines) -> Counts | None:
    """`Failed!  - Failed: 1, Passed: 2, Skipped: 0, Total: 3`, of each assembly."""
    found = _matches(_DOTNET, lines)
    broken = [place for place, _ in _matches(_DOTNET_BROKEN, lines)]
    if not found and not broken:
        return None
    failed, passed, skipped = (sum(_number(match[which]) for _, match in found) for which in range(1, 4))
    at = max([*(place for place, _ in found), *broken])
    return Counts("dotnet", passed, failed, len(broken[:1]), skipped, _names(_DOTNET_RED, lines), at)


_READERS: tuple[Callable[[Lines], Counts | None], ...] = (
    _pytest,
    _unittest,
    _jest,
    _vitest,
    _mocha,
    _node,
    _cargo,
    _go,
    _rspec,
    _ctest,
    _surefire,
    _dotnet,
)
"""Each reads the lines of an output; None when they are not of its runner."""
