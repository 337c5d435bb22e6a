"""The end of the process: at once when nothing is left to do, and an ordinary one for those who wait for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.package_path import PACKAGES

MEASURED = "measuring" in sys.modules
"""By scripts/coverage."""
CODE = """
import atexit, os, sys, threading
sys.path.insert(0, PACKAGES)
from claude_iterate.cli import program
BEFORE
try:
    program()
finally:
    os.write(1, b"an ordinary end\\n")
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "", marks=pytest.mark.skipif(MEASURED, reason="what measures coverage waits for the end")),
        ("atexit.register(os.write, 1, b'a function')", "an ordinary end\na function"),
        ("threading.Timer(0.5, lambda: os.write(1, b'a thread')).start()", "an ordinary end\na thread"),
        ("sys.setprofile(lambda *_: None)", "an ordinary end\n"),
    ],
    ids=["nothing", "function", "thread", "profiler"],
)
def test_nothing_that_waits_for_the_end_is_missed(before: str, after: str) -> None:
    """What the command printed is whole and its exit code is right; functions for the end are called, threads are
    waited for, a profiler gets its result. Only where there is none of them, the process ends at once."""
    code = CODE.replace("PACKAGES", repr(str(PACKAGES))).replace("BEFORE", before)
    for words, status, said in (("--version", 0, "claude-iterate, version "), ("no-such-command", 2, "")):
        command = [sys.executable, "-P", "-c", code, words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        first, _, rest = done.stdout.partition("\n") if said else ("", "", done.stdout)
        assert (done.returncode, rest) == (status, after), done
        assert first.startswith(said)
