"""A few cases of what `tests/fuzz.py` does for as long as it is told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent / "fuzz.py"


def test_no_input_raises_out_of_a_reader() -> None:
    """The same cases each time, so that the suite is red for what was changed; the search by chance is the script's."""
    command = [sys.executable, str(FUZZ), "--cases", "100", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
