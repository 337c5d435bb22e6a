"""Counts from JUnit files, which most test runners can write: exact, where printed summaries are meant for people.

Only files that the command wrote count. A document type is refused: it is not needed, and its entities can explode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from xml.parsers import expat

from claude_iterate.project.suite_results import Counts, first_names

LARGEST = 64 << 20
_MOST_FILES = 500
_PLACES = (
    "junit.xml",
    "junit*.xml",
    "test-results.xml",
    "test-results/*.xml",
    "reports/junit*.xml",
    "reports/*.xml",
    "target/surefire-reports/TEST-*.xml",
    "*/target/surefire-reports/TEST-*.xml",
    "build/test-results/*/TEST-*.xml",
    "*/build/test-results/*/TEST-*.xml",
)


class JunitProblem(Exception):
    """A file is no JUnit file, is torn, too large, or unsafe to read."""


def find_written(command: str, root: Path, since_ns: int) -> list[Path]:
    """The JUnit files that a command has written since then: where it says so, or where runners usually put them."""
    words = (word.strip("'\"").rpartition("=")[2] for word in command.split())
    named = [root / word for word in words if word.endswith(".xml")]
    usual = (path for place in _PLACES for path in root.glob(place)) if not named else iter(())
    found = [path for path in dict.fromkeys([*named, *usual]) if _is_new(path, since_ns)]
    return found[:_MOST_FILES]


def _is_new(path: Path, since_ns: int) -> bool:
    try:
        return path.is_file() and path.stat().st_mtime_ns >= since_ns
    except OSError:
        return False


def read_junit_files(paths: Iterable[Path]) -> Counts | None:
    """The sum over these files; None without any. A JunitProblem when one cannot be trusted: half a sum would lie."""
    every = [_Document().read(path) for path in paths]
    if not every:
        return None
    return Counts(
        "junit",
        sum(counts.passed for counts in every),
        sum(counts.failed for counts in every),
        sum(counts.errors for counts in every),
        sum(counts.skipped for counts in every),
        first_names([name for counts in every for name in counts.red]),
    )


class _Document:
    """One file, read piece by piece: its size does not count."""

    def __init__(self) -> None:
        self._cases = self._failed = self._errors = self._skipped = 0
        self._red: list[str] = []
        self._case: str | None = None
        self._how = ""
        self._root = ""

    def read(self, path: Path) -> Counts:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse
        try:
            if path.stat().st_size > LARGEST:
                raise JunitProblem(f"{path.name} is larger than {LARGEST >> 20} MB")
            with path.open("rb") as file:
                while piece := file.read(1 << 16):
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except (OSError, expat.ExpatError, ValueError) as error:
            raise JunitProblem(f"{path.name} cannot be read: {os.fsdecode(str(error))}") from None
        if self._root not in {"testsuites", "testsuite"}:
            raise JunitProblem(f"{path.name} is no JUnit file")
        passed = self._cases - self._failed - self._errors - self._skipped
        return Counts("junit", passed, self._failed, self._errors, self._skipped, first_names(self._red))

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
