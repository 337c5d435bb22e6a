"""The command line: click lives here and only here."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn


def program() -> NoReturn:
    """The whole process: `main`, then its end."""
    code = main()
    if _nothing_is_left_to_do():
        os._exit(code)  # the system drops our memory at once; Python would take it apart object by object
    sys.exit(code)


def main() -> int:
    """Run the command that the process was called with; returns the exit code."""
    # Start-up makes 30,000 objects that stay; looking through them for garbage would find none.
    gc.set_threshold(50_000)
    from claude_iterate.cli import quick_imports

    quick_imports.arrange()
    from claude_iterate.cli.boundary import main as run

    try:
        return run()
    finally:
        gc.freeze()  # nor is there any to find in them at the end


def _nothing_is_left_to_do() -> bool:
    """Streams are flushed by now. Functions for the end, threads that are waited for, and tools that watch the program
    get an ordinary end."""
    threads = sys.modules.get("threading")
    waited_for = threads is not None and sum(not each.daemon for each in threads.enumerate()) > 1  # one is ours
    watched = sys.getprofile() is not None or sys.gettrace() is not None
    return not (waited_for or watched or getattr(atexit, "_ncallbacks", lambda: 1)())
