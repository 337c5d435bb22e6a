"""How many tests passed, failed, could not run and were skipped: from what test runners print for people, and from the
JUnit files that most of them can write.

JUnit files are exact, so they come first. Only those that the command wrote count. A document type is refused: it is
not needed, and its entities can explode.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from xml.parsers import expat

from claude_iterate.core.events import TestCounts
from claude_iterate.system.untrusted_files import find, open_file, settle, status

_NAMES_KEPT = 20
_LONGEST = 1_000
"""Characters of a line that are read."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


Reader = Callable[[str, list[re.Match[str]]], TestCounts]
_READERS: list[tuple[re.Pattern[str], Reader]] = []
"""Each with the summary of its runner, or what the runner prints in place of one."""


def read_summary(output: str) -> TestCounts | None:
    """What the last summary in an output says; None when no runner is known by it."""
    text = "\n".join(_plain(line[: 4 * _LONGEST])[:_LONGEST] for line in output.split("\n"))
    found = [(ends, reader) for summary, reader in _READERS if (ends := list(summary.finditer(text)))]
    if not found:
        return None
    ends, reader = max(found, key=lambda one: one[0][-1].end())
    return reader(text, ends)


def _plain(line: str) -> str:
    """A line without colours and without what a carriage return has overwritten."""
    return _ANSI.sub("", line).rstrip("\r").rpartition("\r")[2].rstrip()


def _reads(*summaries: str) -> Callable[[Reader], Reader]:
    """The reader gets the whole output and all places in it where one of these patterns matches."""

    def register(reader: Reader) -> Reader:
        _READERS.append((_lines("|".join(summaries)), reader))
        return reader

    return register


def _lines(pattern: str) -> re.Pattern[str]:
    return re.compile(f"^(?:{pattern})", re.MULTILINE)


def _first(names: Iterable[str]) -> tuple[str, ...]:
    """The first names, each once."""
    return tuple(dict.fromkeys(names))[:_NAMES_KEPT]


def _number(found: str | None) -> int:
    """A count; nothing counts as 0. An absurd one is cut off."""
    return int(found[:9]) if found else 0


def _by_word(text: str | None) -> Counter[str]:
    """`2 failed, 1 passed` as figures by word; 0 for a word that is not there."""
    return Counter({word: _number(figure) for figure, word in re.findall(r"(\d+) ([a-z]+)", text or "")})


def _sums(ends: Sequence[re.Match[str]], *groups: int) -> list[int]:
    """The sums of these groups over several summaries."""
    return [sum(_number(end[group]) for end in ends) for group in groups]


_WORD = r"(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)"
_PYTEST_RED = _lines(r"(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")


@_reads(rf"=*\ ?((?:\d+ {_WORD})(?:, \d+ {_WORD})*|no tests ran) in [\d.]+m?s(?: \([\d:. dayhs,]+\))? ?=*$")
def _pytest(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`2 failed, 1 passed, 1 error in 0.43s`, with or without the line around it."""
    end, count = ends[-1], _by_word(ends[-1][1])
    _, heading, listed = text[: end.start()].rpartition("short test summary")
    passed, skipped = count["passed"] + count["xpassed"], count["skipped"] + count["xfailed"]
    red = _first(_PYTEST_RED.findall(listed)) if heading else ()
    return TestCounts(passed, count["failed"], count["error"] + count["errors"], skipped, "pytest", red)


_UNITTEST_RED = _lines(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+)(?: \((\S+)\))?")


@_reads(r"Ran (\d+) tests? in [\d.]+s\n(?:.*\n){0,2}?(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?$")
def _unittest(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`Ran 6 tests in 0.001s`, and below it how they ended."""
    end = ends[-1]
    count = Counter({name: _number(figure) for name, figure in re.findall(r"([a-z][a-z ]*)=(\d+)", end[2] or "")})
    failed, errors = count["failures"] + count["unexpected successes"], count["errors"]
    skipped = count["skipped"] + count["expected failures"]
    red = _first(place or name for name, place in _UNITTEST_RED.findall(text, 0, end.start()))
    passed = max(0, _number(end[1]) - failed - errors - skipped)
    return TestCounts(passed, failed, errors, skipped, "unittest", red)


_JEST_RED = _lines(r"  ● (.+ › .+|\S.*)$")
_JEST_BROKEN = "Test suite failed to run"


@_reads(r"Tests: +((?:\d+ (?:failed|passed|skipped|todo|pending), )*)\d+ total$", "No tests found, exiting with code")
def _jest(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`Tests:       2 failed, 1 skipped, 2 passed, 5 total`; a file that does not load is an error."""
    end, count = ends[-1], _by_word(ends[-1][1])
    named = _JEST_RED.findall(text, 0, end.start())
    red = _first(name for name in named if name not in (_JEST_BROKEN, "Console"))
    skipped = count["skipped"] + count["todo"] + count["pending"]
    return TestCounts(count["passed"], count["failed"], named.count(_JEST_BROKEN), skipped, "jest", red)


_VITEST_SUITES = _lines(r".*Failed Suites (\d+)")
_VITEST_RED = _lines(r" FAIL  (.+?)(?: \[ .* \])?$")


@_reads(
    r" +Tests +((?:\d+ \w+(?: expected fail)? (?:\| )?)+\(\d+\)|no tests)$", "No test files found, exiting with code"
)
def _vitest(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`Tests  2 failed | 2 passed | 1 skipped (5)`; a file that does not load is an error."""
    end, count = ends[-1], _by_word(ends[-1][1])
    errors = sum(map(_number, _VITEST_SUITES.findall(text, 0, end.start())))
    red, skipped = _first(_VITEST_RED.findall(text, 0, end.start())), count["skipped"] + count["todo"]
    return TestCounts(count["passed"], count["failed"], errors, skipped, "vitest", red)


_MOCHA_RED = _lines(r"  \d+\) (.+(?:\n     .+){0,7}?):$")


@_reads(
    r"  (\d+) passing \([\d.]+\w+\)$(?:\n  (\d+) pending$)?(?:\n  (\d+) failing$)?",
    r" *(?:(Exception during run: |✖ ERROR: |Error: Cannot find module )|Error: No test files found)",
)
def _mocha(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`2 passing (16ms)`, and below it what is pending and failing. A name goes over several lines, up to a colon."""
    end = next((end for end in reversed(ends) if end[1]), ends[-1])
    red = _first(re.sub(r"\n *", " ", name) for name in _MOCHA_RED.findall(text, end.end()))
    return TestCounts(_number(end[1]), _number(end[3]), int(bool(end[4])), _number(end[2]), "mocha", red)


# A suite that failed because a test in it did is no test.
_TAP_RED = _lines(r"[ \t]*not ok \d+ - (.*?)(?: # .*)?\n(?!(?:.*\n){0,7}.*subtestsFailed)")
_SPEC_RED = _lines(r"[ \t]*✖ (.*) \([\d.]+m?s\)$")
_NODE = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo")


@_reads(r"\n".join(rf"[#ℹ] {word} (\d+)" for word in _NODE))
def _node(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`# pass 2` and the like, or with `ℹ`; what was cancelled could not run."""
    end = ends[-1]
    _tests, _suites, passed, failed, cancelled, skipped, todo = map(_number, end.groups())
    red = _first([*_TAP_RED.findall(text), *_SPEC_RED.findall(text, end.end())])
    return TestCounts(passed, failed, cancelled, skipped + todo, "node", red)


_CARGO = r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
_CARGO_RED = _lines(r"test (\S+)(?: - should panic)? \.\.\. FAILED$")


@_reads(_CARGO, r"(error: could not compile )")
def _cargo(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """Each test program has a block of its own; they are summed up. In a block the last line counts, because a test
    may have printed such a line, too."""
    blocks = [list(_lines(_CARGO).finditer(block)) for block in _lines(r"running \d+ tests?$").split(text)]
    passed, failed, ignored = _sums([results[-1] for results in blocks if results], 1, 2, 3)
    errors = int(any(end[4] for end in ends))
    return TestCounts(passed, failed, errors, ignored, "cargo", _first(_CARGO_RED.findall(text)))


_GO_TEST = _lines(r"--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$")
_GO_RUN = _lines(r"=== RUN   ([^\s/]+)$")


@_reads(r"(ok  |FAIL|\?   )\t(\S+)(?:\t| \[)(.*)$")
def _go(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`go test -v` lists every test, and it counts if it was begun; without -v only packages that passed and tests that
    failed are listed. A package that is listed both ways failed."""
    packages: dict[str, str] = {}
    for end in ends:
        if packages.get(end[2]) not in {"FAIL", "error"}:
            packages[end[2]] = "error" if "failed]" in end[3] else end[1].strip()
    begun = set(_GO_RUN.findall(text))
    tests = [(how, name) for how, name in _GO_TEST.findall(text) if not begun or name in begun]
    red = [name for how, name in tests if how == "FAIL"]
    broken = [name for name, how in packages.items() if how == "error"]
    errors = len(broken) + (1 if "FAIL" in packages.values() and not red else 0)
    passed = sum(how == "PASS" for how, _ in tests) if begun else sum(how == "ok" for how in packages.values())
    skipped = sum(how == "SKIP" for how, _ in tests)
    return TestCounts(passed, len(red), errors, skipped, "go", _first(red + broken))


_RSPEC_RED = _lines(r"rspec \S+ # (.+)$")


@_reads(r"(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$")
def _rspec(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`3 examples, 1 failure, 1 pending`."""
    end = ends[-1]
    examples, failed, pending, errors = map(_number, end.groups())
    red = _first(_RSPEC_RED.findall(text, end.end()))
    return TestCounts(max(0, examples - failed - pending), failed, errors, pending, "rspec", red)


_CTEST_LISTED = _lines(r"[ \t]+\d+ - (\S+) \((.+)\)$")


@_reads(r"\d+% tests passed, (\d+) tests? failed out of (\d+)$", r"No tests were found!!!$")
def _ctest(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`67% tests passed, 1 tests failed out of 3`; tests that did not run are listed below it."""
    end = ends[-1]
    listed = _CTEST_LISTED.findall(text, end.end())
    red = [name for name, how in listed if how not in {"Skipped", "Disabled"}]
    errors, skipped = sum(how == "Not Run" for _, how in listed), len(listed) - len(red)
    failed = max(0, _number(end[1]) - errors)
    passed = max(0, _number(end[2]) - failed - errors - skipped)
    return TestCounts(passed, failed, errors, skipped, "ctest", _first(red))


_SUREFIRE_RED = _lines(r"\[ERROR\]   ([\w$]+\.[\w.$]+)(?:->|:|\(| |$)")


@_reads(
    r".*Results ?:\n(?:(?!.*Results ?:$).*\n)*?(?:\[\w+\] )?"
    r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$",
    r"\[ERROR\] (COMPILATION ERROR)",
)
def _surefire(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`Tests run: 5, Failures: 1, Errors: 1, Skipped: 1` below `Results:`, of each module."""
    ran, failed, errors, skipped = _sums(ends, 1, 2, 3, 4)
    passed, broken = max(0, ran - failed - errors - skipped), any(end[5] for end in ends)
    red = _first(_SUREFIRE_RED.findall(text))
    return TestCounts(passed, failed, errors + broken, skipped, "surefire", red)


_DOTNET_RED = _lines(r"  Failed (\S.*?) \[.*\]$")


@_reads(
    r"(?:Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+), Total: +\d+", r"(Build FAILED\.)$"
)
def _dotnet(text: str, ends: list[re.Match[str]]) -> TestCounts:
    """`Failed!  - Failed: 1, Passed: 2, Skipped: 0, Total: 3`, of each assembly."""
    failed, passed, skipped = _sums(ends, 1, 2, 3)
    red = _first(_DOTNET_RED.findall(text))
    return TestCounts(passed, failed, int(any(end[4] for end in ends)), skipped, "dotnet", red)


LARGEST = 64 << 20
"""Bytes of a JUnit file that is read."""
_PLACES = (
    "junit*.xml",
    "test-results.xml",
    "test-results/*.xml",
    "reports/*.xml",
    "target/surefire-reports/TEST-*.xml",
    "*/target/surefire-reports/TEST-*.xml",
    "build/test-results/*/TEST-*.xml",
    "*/build/test-results/*/TEST-*.xml",
)


class JunitProblem(Exception):
    """A file is no JUnit file, is torn, too large, or unsafe to read."""


def find_junit_files(command: str, root: Path, since_ns: int) -> list[Path]:
    """The JUnit files that a command has written since then: where it says so, or where runners usually put them."""
    words = (word.strip("'\"").rpartition("=")[2] for word in command.split())
    named = [settle(root / word, root) for word in words if word.endswith(".xml")]
    usual = (path for place in _PLACES for path in find(root, place)) if not named else iter(())
    return [path for path in dict.fromkeys([*named, *usual]) if _is_new(path, since_ns)]


def _is_new(path: Path, since_ns: int) -> bool:
    about = status(path)
    return about is not None and stat.S_ISREG(about.st_mode) and about.st_mtime_ns >= since_ns


def read_junit_files(paths: Iterable[Path]) -> TestCounts | None:
    """The sum over these files; None without any. A JunitProblem when one cannot be trusted: half a sum would lie."""
    every = [_Document().read(path) for path in paths]
    if not every:
        return None
    return TestCounts(
        sum(counts.passed for counts in every),
        sum(counts.failed for counts in every),
        sum(counts.errors for counts in every),
        sum(counts.skipped for counts in every),
        "junit",
        _first([name for counts in every for name in counts.red]),
    )


class _Document:
    """One file, read piece by piece: its size does not count."""

    def __init__(self) -> None:
        self._cases = self._failed = self._errors = self._skipped = 0
        self._red: list[str] = []
        self._case: str | None = None
        self._how = ""
        self._root = ""

    def read(self, path: Path) -> TestCounts:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse
        try:
            with open_file(path) as file:
                if os.fstat(file.fileno()).st_size > LARGEST:
                    raise JunitProblem(f"{path.name} is larger than {LARGEST >> 20} MB")
                while piece := file.read(1 << 16):
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except (OSError, expat.ExpatError, ValueError) as error:
            raise JunitProblem(f"{path.name} cannot be read: {os.fsdecode(str(error))}") from None
        if self._root not in {"testsuites", "testsuite"}:
            raise JunitProblem(f"{path.name} is no JUnit file")
        passed = self._cases - self._failed - self._errors - self._skipped
        return TestCounts(passed, self._failed, self._errors, self._skipped, "junit", _first(self._red))

    def _begin(self, name: str, values: dict[str, str]) -> None:
        self._root = self._root or name
        if name == "testcase":
            self._case, self._how = f"{values.get('classname', '')}.{values.get('name', '')}".strip("."), ""
        elif self._case is not None and name in {"failure", "error", "skipped"}:
            # A test can fail and then fail to clean up: the first counts, but a skip never hides a failure.
            self._how = name if self._how in {"", "skipped"} else self._how

    def _end(self, name: str) -> None:
        if name != "testcase" or self._case is None:
            return
        self._cases += 1
        self._failed += self._how == "failure"
        self._errors += self._how == "error"
        self._skipped += self._how == "skipped"
        if self._how in {"failure", "error"} and len(self._red) < 100:
            self._red.append(self._case)
        self._case = None


def _refuse(*_about: object) -> None:
    raise JunitProblem("it has a document type")
