"""Three seconds of what `tests/fuzz.py` does for as long as it is told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent / "fuzz.py"


def test_no_input_raises_out_of_a_reader() -> None:
    """By chance each time, so that the suite goes on searching; a failure prints the case that repeats it."""
    command = [sys.executable, str(FUZZ), "--seconds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
