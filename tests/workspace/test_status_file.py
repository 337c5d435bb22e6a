"""Looking at the report: fresh is what differs in inode, time, size or content."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.selftest.harness.scripted_project import PATIENCE
from claude_iterate.workspace.run_folder.status_file import StatusWatch, look


def test_a_rewrite_with_the_same_words_is_seen(tmp_path: Path) -> None:
    """The agent said it again: that is a report."""
    path = tmp_path / ".status.json"
    path.write_text('{"complete": true}')
    before = look(path)
    os.utime(path, ns=(1, 1))
    assert look(path).file != before.file
    assert look(path).reading == before.reading


def test_an_untouched_file_has_the_same_fingerprint(tmp_path: Path) -> None:
    """Reading does not change it."""
    path = tmp_path / ".status.json"
    path.write_text('{"complete": true}')
    assert look(path) == look(path)


def test_other_content_with_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    """A clock that stands still hides nothing."""
    path = tmp_path / ".status.json"
    path.write_text('{"complete":false}')
    os.utime(path, ns=(5, 5))
    before = look(path)
    path.write_text('{"complete": true}')
    os.utime(path, ns=(5, 5))
    assert look(path).file != before.file


def test_what_is_no_file_is_a_problem_and_nothing_at_all_is_none(tmp_path: Path) -> None:
    """A folder, a pipe; and no file."""
    assert look(tmp_path / "none").reading is None
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path, tmp_path / "pipe"):
        reading = look(odd).reading
        assert reading is not None
        assert reading.status is None


@pytest.mark.parametrize("place", ["real.json", "missing.json"])
def test_a_link_is_not_followed(tmp_path: Path, place: str) -> None:
    """What it leads to was written elsewhere, perhaps by another workspace."""
    (tmp_path / "real.json").write_text('{"complete": true}')
    (tmp_path / ".status.json").symlink_to(place)
    reading = look(tmp_path / ".status.json").reading
    assert reading is not None
    assert (reading.status, "symbolic link" in reading.problems[0]) == (None, True)


def test_a_watch_that_cannot_be_set_up_says_why(tmp_path: Path) -> None:
    """Once, and its end is as quick as that of any other."""
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    watch = StatusWatch(tmp_path / "gone" / ".status.json", lambda: None, said.put)
    assert said.get(timeout=PATIENCE)
    watch.close()
    assert said.empty()


def test_complaints_of_watchdog_stay_off_the_terminal(tmp_path: Path) -> None:
    """It reports an error when it is stopped while it reads."""
    watch = f"StatusWatch(Path({str(tmp_path / 'status')!r}), print, print).close()"
    lines = (
        "import logging; from pathlib import Path",
        "from claude_iterate.workspace.run_folder.status_file import StatusWatch",
        f"{watch}; logging.getLogger('watchdog.observers').error('odd')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
