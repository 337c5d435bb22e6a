"""What the README says of a plain shell loop is true: it believes, it insists, and it leaves Claude behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import PATIENCE, until

LOOP = "until grep -q '\"complete\": true' status.json 2>/dev/null; do ./claude -p 'do it'; done"


def claude(folder: Path, body: str) -> None:
    """A Claude that does this."""
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\necho called >> calls\n{body}\n")
    program.chmod(0o755)


def test_it_believes_a_false_done(tmp_path: Path) -> None:
    """It ends well, and the work is not there."""
    claude(tmp_path, "echo '{\"complete\": true}' > status.json")
    assert subprocess.run(["sh", "-c", LOOP], cwd=tmp_path, timeout=PATIENCE, check=False).returncode == 0
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("what", ["echo 'You have hit your session limit; it resets at 3am'; exit 1", "exit 0"])
def test_it_calls_again(tmp_path: Path, what: str) -> None:
    """At a usage limit, whatever Claude says about its reset, and when nothing moves; here until Claude gives in."""
    claude(tmp_path, f"[ $(wc -l < calls) -lt 30 ] && {{ {what}; }}; echo '{{\"complete\": true}}' > status.json")
    subprocess.run(["sh", "-c", LOOP], cwd=tmp_path, timeout=PATIENCE, check=False, capture_output=True)
    assert (tmp_path / "calls").read_text().count("called") == 30


def test_it_leaves_claude_behind(tmp_path: Path) -> None:
    """While Claude hangs, the loop waits for it. The loop is killed, and Claude goes on, unseen and paid for."""
    claude(tmp_path, "echo $$ > pid; while [ ! -e end ]; do sleep 0.1; done; echo done > went-on")
    loop = subprocess.Popen(["sh", "-c", LOOP], cwd=tmp_path)
    try:
        pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()))
        assert loop.poll() is None
        loop.send_signal(signal.SIGKILL)
        loop.wait()
        os.kill(pid, 0)  # it is there
    finally:
        loop.kill()
        (tmp_path / "end").touch()
    until((tmp_path / "went-on").exists)
