"""The command line: click lives here and only here."""

from __future__ import annotations

import gc


def main() -> int:
    """Run the command that the process was called with; returns the exit code."""
    # Start-up makes 30,000 objects that stay; looking through them for garbage would find none.
    gc.set_threshold(50_000)
    from claude_iterate.cli.boundary import main as run

    try:
        return run()
    finally:
        gc.freeze()  # nor is there any to find in them at the end
