"""The `.gitignore` of a workspace: git leaves alone what a run writes for itself, and the rest can be committed.

Git that takes these files along replaces them under a run, for example with `git stash`; and an old `.status.json`
that it brings back is an old claim. A file that is there is never changed, so an empty one is the way to have none.
"""

from __future__ import annotations

import contextlib
import os

from claude_iterate.workspace.layout import Layout

NAME = ".gitignore"
TEXT = """\
# Written by claude-iterate: what a run keeps for itself. Everything else here can be committed.
# Change this file as you like: it is never overwritten. An empty one is kept, too.
/runs/
/control/
/notes/
/.lock
/.status.json
/iterate-*.log
/report-*
/*.bak
/.*.tmp
"""


def add(layout: Layout) -> None:
    """Write the file unless something has that name. It is a help, so a failure is not a problem."""
    with contextlib.suppress(OSError):
        handle = os.open(layout.folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            os.write(handle, TEXT.encode())
        finally:
            os.close(handle)
