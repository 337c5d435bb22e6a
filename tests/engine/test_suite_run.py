"""The project's test command after an iteration: its counts, and everything that may be wrong with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.events import StopRequested, TestCounts
from claude_iterate.engine.measuring import count_tests
from tests.engine.test_measuring import Run, nothing

GREEN = "echo '== 3 passed in 0.1s =='"
RED = (
    "echo '== short test summary info =='; echo 'FAILED test_a.py::test_b - no';"
    " echo '== 1 failed, 2 passed in 0.1s =='; exit 1"
)
_CASE = '<testcase classname="c" name='
JUNIT = f'<testsuite>{_CASE}"t"/>{_CASE}"u"><failure/></testcase></testsuite>'


class Suite(Run):
    """A run that can start programs."""

    def __init__(self, root: Path, **more: Any) -> None:
        # What is left of a run is found by its id, on the whole machine.
        super().__init__(root, run=f"000001-{os.urandom(4).hex()}", **more)

    def count(self, command: str) -> tuple[TestCounts | None, str]:
        self.measuring._finish_first()  # as the engine does: what git is still doing would be ended as left behind
        return count_tests(self.supervisor, command)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_green_and_red(suite: Suite) -> None:
    """With the names of the red ones."""
    assert suite.count(GREEN) == (TestCounts(3, how="pytest"), "")
    assert suite.count(RED) == (TestCounts(2, 1, how="pytest", red=("test_a.py::test_b",)), "")


def test_a_failure_is_never_read_as_success(suite: Suite) -> None:
    """A green summary of a command that failed is not green: the coverage may be too low, or a second runner failed."""
    counts, _ = suite.count(f"{GREEN}; exit 2")
    assert counts is not None
    assert (counts.passed, counts.errors, counts.is_red) == (3, 1, True)
    assert "failed with exit code 2" in counts.red[0]


def test_red_tests_of_a_command_that_ends_well_are_red(suite: Suite) -> None:
    """`pytest || true`."""
    counts, _ = suite.count(f"({RED}) || true")
    assert counts is not None
    assert counts.is_red


@pytest.mark.parametrize("command", ["true", "echo hello; exit 1", "/does/not/exist", "echo 0 failed"])
def test_unknown_output_is_not_known(suite: Suite, command: str) -> None:
    """It is not zero failures, whatever the exit code."""
    counts, why = suite.count(command)
    assert counts is None
    assert "no counts of tests are in its output" in why


def test_a_hanging_command_is_ended(tmp_path: Path) -> None:
    """After the time that a check may take, with what it started."""
    suite = Suite(tmp_path, verification__check_timeout=1.0, timeouts__terminate_grace=0.1)
    counts, why = suite.count(f"sleep 300 & {GREEN}; sleep 300")
    assert (counts, why) == (None, f"`sleep 300 & {GREEN}; sleep 300` did not end within 1 seconds")


def test_a_flood_costs_no_memory_and_its_summary_is_read(suite: Suite) -> None:
    """Only the end of what it prints is kept."""
    counts, _ = suite.count(f"yes 'a line of a log that says 9 failed' | head -c 30000000; echo; {GREEN}")
    assert counts == TestCounts(3, how="pytest")


def test_a_junit_file_comes_before_the_summary(suite: Suite) -> None:
    """If the command wrote it; one from before does not count."""
    (suite.root / "junit.xml").write_text(JUNIT)
    os.utime(suite.root / "junit.xml", (1, 1))
    assert suite.count(GREEN)[0] == TestCounts(3, how="pytest")
    assert suite.count(f"touch junit.xml; {GREEN}")[0] == TestCounts(1, 1, how="junit", red=("c.u",))


def test_a_junit_file_that_cannot_be_trusted_leaves_the_counts_unknown(suite: Suite) -> None:
    """The summary may be about another part, so it does not stand in."""
    (suite.root / "source").write_text(JUNIT[:60])
    counts, why = suite.count(f"cp source junit.xml; {GREEN}")
    assert counts is None
    assert "its JUnit file cannot be used" in why


def test_a_huge_junit_file_is_not_read(suite: Suite) -> None:
    """200 MB."""
    counts, why = suite.count(f"truncate -s 200M junit.xml; {GREEN}")
    assert counts is None
    assert "larger than" in why


@pytest.mark.setting("progress.tests", "commands.test")
@pytest.mark.parametrize(
    ("wanted", "command", "ran"), [(True, GREEN, True), (False, GREEN, False), (True, None, False)]
)
def test_tests_are_counted_if_that_is_wanted(tmp_path: Path, wanted: bool, command: str | None, ran: bool) -> None:
    """And there is a command. What it writes is not the next iteration's work."""
    line = f"date +%N > report; {command}" if command else None
    suite = Suite(tmp_path, progress__tests=wanted, commands__test=line)
    measured = suite.iteration(1, nothing)
    assert measured.tests == (TestCounts(3, how="pytest") if ran else None)
    assert suite.iteration(2, nothing).progress == ()


def test_red_tests_that_became_green_are_progress(tmp_path: Path) -> None:
    """Though no file changed that counts."""
    (tmp_path / ".gitignore").write_text("fixed\n")
    suite = Suite(tmp_path, progress__tests=True, commands__test=f"if [ -e fixed ]; then {GREEN}; else {RED}; fi")
    assert suite.iteration(1, nothing).progress == ()
    assert suite.iteration(2, suite.write("fixed", "")).progress == ("tests",)


def test_what_cannot_be_counted_is_told_once(tmp_path: Path) -> None:
    """With the command, and the run goes on."""
    suite = Suite(tmp_path, progress__tests=True, commands__test="exit 3")
    assert [suite.iteration(number, nothing).tests for number in (1, 2)] == [None, None]
    warning = "The tests were not counted: `exit 3` failed with exit code 3, and no counts of tests are in its output."
    assert suite.warnings() == [warning]


def test_a_run_that_is_to_stop_runs_no_tests(tmp_path: Path) -> None:
    """They can be run again; the user should not wait for them."""
    suite = Suite(tmp_path, progress__tests=True, commands__test="touch ran")
    suite.recorder.record(StopRequested("SIGINT"))
    assert suite.iteration(1, nothing).tests is None
    assert not (tmp_path / "ran").exists()
