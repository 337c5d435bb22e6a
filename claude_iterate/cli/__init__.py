"""The command line: click lives here and only here."""

from __future__ import annotations

import gc


def main() -> int:
    """Run the command that the process was called with; returns the exit code."""
    # Start-up makes tens of thousands of objects that stay; looking through them for garbage finds none.
    gc.set_threshold(20_000, 50, 50)
    from claude_iterate.cli.boundary import main as run

    try:
        return run()
    finally:
        gc.freeze()  # nor is there any to find in them at the end
