"""Ends the containers of a run: they are held by a service, so no signal to our own processes is sure to reach them.

The guardian imports this module in a bare Python, so it needs nothing but the standard library.
"""

from __future__ import annotations

import subprocess

from claude_iterate.agent.command.environment import CONTAINER_LABEL

_PATIENCE = 30.0


def end_containers(program: str, run: str) -> int:
    """Remove every container of the run, running or not; how many there were. A service that does not answer has none
    that we could reach."""
    found = _said([program, "ps", "-aq", "--filter", f"label={CONTAINER_LABEL}={run}"]).split()
    if found:
        _said([program, "rm", "-f", *found])
    return len(found)


def _said(argv: list[str]) -> str:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
