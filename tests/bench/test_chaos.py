"""Small counts of what `bench/chaos` and `bench/endurance` do at length."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")


def bench(name: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "PYTHON": sys.executable}
    command = [str(BENCH / name), *flags]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=500, check=False)


def test_killed_runs_go_on_and_count_right(tmp_path: Path) -> None:
    """SIGKILL at random instants, then resumed: nothing is lost, doubled or left."""
    done = bench("chaos", tmp_path, "--count", "5", "--seed", "4", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "iterations counted twice 0" in done.stdout
    assert "killed with SIGKILL: 0" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_many_iterations_leave_the_runner_as_it_was(tmp_path: Path) -> None:
    """Neither memory nor descriptors nor threads grow."""
    done = bench("endurance", tmp_path, "--count", "150")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("150 iterations")
    assert done.stdout.endswith("flat\n")
