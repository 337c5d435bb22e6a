"""The console that a recorded run is shown on: with the level and the limits that it was started with."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from claude_iterate.core.events import RunStarted
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.recorded_settings import recorded_settings
from claude_iterate.sinks.console.console import Console
from claude_iterate.system.near_paths import near


def recorded_console(
    started: RunStarted,
    out: TextIO,
    err: TextIO,
    level: str = "",
    color: bool = True,
    keys: bool = False,
    wall: Callable[[], float] = time.time,
    columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    environ: Mapping[str, str] = os.environ,
    **more: Any,
) -> Console:
    """A console as the run has it on a terminal. `level`: another one than it was started with. `more` goes to
    `Console`, and wins."""
    settings = recorded_settings(started)
    usual: dict[str, Any] = {
        # In attended mode the live line would cover the question.
        "live": environ.get("TERM") != "dumb" and not settings.attended,
        "attended": settings.attended,
        "clock": not err.isatty(),
        "is_there": os.path.isfile,
        "place": near,
        "stop": stop_settings(settings, started.mode),
    }
    return Console(
        out,
        err,
        level or settings.output,
        color and settings.colors,
        columns=columns,
        keys=keys,
        wall=wall,
        **(usual | more),
    )
