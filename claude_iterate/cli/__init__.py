"""The command line: click lives here and only here."""

from __future__ import annotations


def main() -> int:
    """Run the command that the process was called with; returns the exit code."""
    from claude_iterate.cli.boundary import main as run

    return run()
