"""Counts from what test runners print and write. Most fixtures are recorded outputs, see their README."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.events import TestCounts
from claude_iterate.project.suite_results import JunitProblem, find_junit_files, read_junit_files, read_summary

FIXTURES = Path(__file__).parents[1] / "fixtures" / "test-runners"

FIGURES = {
    "cargo": ((3, 0, 0, 1), (1, 1, 0, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "ctest": ((2, 0, 0, 0), (1, 1, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0)),
    "ctest-v": ((2, 0, 0, 0), (1, 1, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0)),
    "dotnet": ((6, 0, 0, 1), (2, 1, 0, 1), (0, 0, 1, 0), None),
    "go": ((1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0)),
    "go-v": ((2, 0, 0, 1), (2, 1, 0, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "jest": ((2, 0, 0, 1), (2, 2, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0)),
    "mocha": ((2, 0, 0, 1), (2, 2, 0, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "node": ((2, 0, 0, 1), (2, 2, 0, 1), (1, 1, 0, 0), (0, 0, 0, 0)),
    "node-spec": ((2, 0, 0, 1), (2, 2, 0, 1), (1, 1, 0, 0), (0, 0, 0, 0)),
    "pytest": ((2, 0, 0, 2), (1, 2, 1, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "pytest-q": ((2, 0, 0, 2), (1, 2, 1, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "pytest-xdist": ((2, 0, 0, 2), (1, 2, 1, 1), (1, 0, 1, 0), (0, 0, 0, 0)),
    "rspec": ((2, 0, 0, 1), (1, 1, 0, 1), (0, 0, 1, 0), (0, 0, 0, 0)),
    "surefire": ((4, 0, 0, 1), (1, 1, 1, 1), (0, 0, 1, 0), None),
    "unittest": ((2, 0, 0, 1), (1, 2, 1, 2), (0, 0, 1, 0), (0, 0, 0, 0)),
    "vitest": ((2, 0, 0, 1), (2, 2, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0)),
}
RED = {
    "cargo": ("t::divides",),
    "ctest": ("divides",),
    "dotnet": ("Calc.Tests.Numbers.Divides",),
    "go": ("TestDivides",),
    "go-v": ("TestDivides",),
    "jest": ("numbers › divides", "words › joins"),
    "mocha": ("numbers divides", "words joins"),
    "node": ("divides", "joins"),
    "node-spec": ("divides", "joins"),
    "pytest": ("test_a.py::test_divides", "test_a.py::TestWords::test_joins", "test_a.py::test_broken"),
    "rspec": ("n divides",),
    "surefire": ("CalcTest.divides", "CalcTest.reads"),
    "unittest": ("test_a.A.test_broken", "test_a.A.test_divides", "test_a.A.test_unexpected"),
    "vitest": ("a.test.mjs > numbers > divides", "a.test.mjs > words > joins"),
}
CASES = [(name, which) for name in FIGURES for which in range(4)]


def counted(data: bytes) -> TestCounts | None:
    return read_summary(data.decode("utf-8", "replace"))


def figures(counts: TestCounts | None) -> tuple[int, ...] | None:
    return (counts.passed, counts.failed, counts.errors, counts.skipped) if counts is not None else None


@pytest.mark.parametrize(("name", "which"), CASES)
def test_every_runner_in_every_situation(name: str, which: int) -> None:
    """Passed, failed, errors, skipped of a green, a red, a broken and an empty suite. What tests print fools no one."""
    data = (FIXTURES / f"{name}-{('green', 'red', 'error', 'empty')[which]}.txt").read_bytes()
    found = counted(data)
    assert figures(found) == FIGURES[name][which]
    if found is not None:
        assert found.how == name.partition("-")[0]


@pytest.mark.parametrize("name", RED)
def test_red_tests_are_named(name: str) -> None:
    """By the name that the runner prints."""
    found = counted((FIXTURES / f"{name}-red.txt").read_bytes())
    assert found is not None
    assert found.red == RED[name]


def test_blocks_are_summed_up() -> None:
    """cargo has one summary for each of its programs."""
    assert figures(counted((FIXTURES / "cargo-red-all.txt").read_bytes())) == (2, 2, 0, 1)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(
    "planted", [b"0 failed", b"=== 12 passed in 0.01s ===", b"ok  \tcalc\t0.1s", b"12 examples, 0 failures"]
)
def test_words_before_the_summary_do_not_count(name: str, planted: bytes) -> None:
    """A log line that looks like another summary, or like a better one, comes before the real one."""
    data = (FIXTURES / f"{name}-red.txt").read_bytes()
    assert figures(counted(planted + b"\n" + data)) == FIGURES[name][1]


@pytest.mark.parametrize("name", FIGURES)
def test_a_torn_output_is_no_error(name: str) -> None:
    """Cut off at any place. A command that was cut off has no exit code, and is not green for that alone."""
    data = (FIXTURES / f"{name}-red.txt").read_bytes()
    for end in range(0, len(data), 7):
        counted(data[:end])


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"All good!\n", b"0 failed\n", b"passed: 3\n", b"FAILED\nOK\n", b"Tests: passed\n"]
)
def test_unknown_output_is_unknown(text: bytes) -> None:
    """Never zero failures."""
    assert counted(text) is None


@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(data: bytes) -> None:
    """Nothing that a command prints is an error."""
    counted(data)


@pytest.mark.parametrize("which", range(4))
def test_junit_files(which: int) -> None:
    """As written by pytest: the same figures as its summary."""
    found = read_junit_files([FIXTURES / f"pytest-{('green', 'red', 'error', 'empty')[which]}.xml"])
    assert figures(found) == FIGURES["pytest"][which]


def test_junit_files_are_summed_up() -> None:
    """A command may write many."""
    found = read_junit_files([FIXTURES / "pytest-green.xml", FIXTURES / "pytest-red.xml"])
    assert figures(found) == (3, 2, 1, 3)
    assert found is not None
    assert found.red == ("test_a.test_divides", "test_a.test_broken", "test_a.TestWords.test_joins")


BOMB = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;">]><testsuite><testcase name="&y;"/></testsuite>'


@pytest.mark.parametrize(
    "text", [BOMB, "", "<testsuite><testcase name='a'", "<html></html>", "no xml", "<testsuite/><x/>"]
)
def test_a_file_that_cannot_be_trusted_is_a_problem(tmp_path: Path, text: str) -> None:
    """Torn, with a document type, or something else."""
    path = tmp_path / "junit.xml"
    path.write_text(text)
    with pytest.raises(JunitProblem):
        read_junit_files([path])


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """200 MB without content."""
    path = tmp_path / "junit.xml"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(JunitProblem, match="larger than 64 MB"):
        read_junit_files([path])


def test_only_what_the_command_wrote_counts(tmp_path: Path) -> None:
    """A file of yesterday says nothing about today; one that the command names is looked at first."""
    (tmp_path / "target" / "surefire-reports").mkdir(parents=True)
    usual = tmp_path / "target" / "surefire-reports" / "TEST-a.xml"
    named = tmp_path / "out.xml"
    for path in (usual, named):
        path.write_text("<testsuite/>")
    began = usual.stat().st_mtime_ns
    assert find_junit_files("mvn test", tmp_path, began) == [usual]
    assert find_junit_files("pytest --junitxml=out.xml -q", tmp_path, began) == [named]
    assert find_junit_files("mvn test", tmp_path, began + 1) == []


def test_a_skip_hides_no_failure(tmp_path: Path) -> None:
    """A test that failed and was marked as skipped afterwards failed."""
    path = tmp_path / "junit.xml"
    path.write_text('<testsuite><testcase name="a"><skipped/><failure/></testcase></testsuite>')
    assert figures(read_junit_files([path])) == (0, 1, 0, 0)
