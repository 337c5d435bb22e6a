"""Only one command at a time changes a settings file, from reading it to writing it back.

The kernel locks the folder itself: there is no lock file, and a killed command leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.system import locks

_PATIENCE = 5.0
"""Seconds to wait; others need milliseconds. Where folders cannot be locked (some network disks), we then go on."""
_PAUSE = 0.01


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Lock the folder of the file while it is changed. A link counts as the file that it leads to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not locks.try_lock(handle) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)
