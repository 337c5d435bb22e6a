"""What `scripts/test` shows while pytest runs."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = """
import pytest

@pytest.mark.parametrize("number", range(20))
def test_it(number):
    if number == 7:
        pytest.skip("no seven")
    assert number != 9
"""
COMMAND = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "tests.progress_line", "-p", "no:cacheprovider"]
ENVIRON = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""No other plugin: loading them all in three processes would take seconds."""


def command(folder: Path, *more: str) -> list[str]:
    path = folder / "test_cases.py"
    path.write_text(CASES)
    return [*COMMAND, "-c", os.devnull, "--rootdir", str(folder), "--no-header", "-ra", *more, str(path)]


def test_without_a_terminal_a_line_every_ten_percent(tmp_path: Path) -> None:
    """No dots, the failure as it happens and in full, the reasons of skips, and pytest's own closing line."""
    done = subprocess.run(
        command(tmp_path, "-n", "2"),
        cwd=tmp_path,
        env=ENVIRON,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    shown = [line for line in lines if re.match(r" *\d+%  ", line)]
    assert [line.split()[0] for line in shown] == [f"{percent}%" for percent in range(10, 101, 10)]
    assert re.fullmatch(r"100%  20 of 20 tests, 1 failed  \d+:\d\d", shown[-1])
    assert lines.index("FAILED test_cases.py::test_it[9]") < lines.index(shown[-1])
    assert "E       assert 9 != 9" in lines
    assert any(line.startswith("SKIPPED [1]") and line.endswith(": no seven") for line in lines)
    assert re.fullmatch(r"=+ 1 failed, 18 passed, 1 skipped in [\d.]+s.* =+", lines[-1])
    assert done.returncode == 1


def test_on_a_terminal_one_line_is_rewritten(tmp_path: Path) -> None:
    """Each count takes the place of the one before."""
    ours, theirs = pty.openpty()
    environ = {**ENVIRON, "TERM": "xterm"}
    with subprocess.Popen(command(tmp_path), cwd=tmp_path, env=environ, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # Linux says EIO when the other side is closed
            pass
    os.close(ours)
    rows = seen.decode().split("\r\n")
    moving = [row for row in rows if "of 20 tests" in row]
    assert len(moving) < 4, "one up to the failure, one after it; without workers pytest adds a name"
    assert moving[-1].count("\r") > 5
    assert "100%  20 of 20 tests, 1 failed" in moving[-1]
