"""Loads what a run may need later while Claude works on the first iteration.

A quick start imports little. But a run lasts for hours, and an upgrade of the package in between must not mix two
versions: what is loaded by then stays as it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

_PACKAGE = "claude_iterate"
_NEVER = (
    "cli.commands.",
    "fake_claude",
    "operations.cassettes",
    "operations.dashboard",
    "operations.doctor",
    "operations.watching",
    "selftest",
    "views.charts",
    "views.report",
    "views.screen",
    "views.web",
    "workspace.archives",
    "workspace.templates",
)
"""What no run needs; its own command has been loaded."""
_FOREIGN = ("jinja2",)
_AT_A_TIME = 0.01
"""Seconds: the engine has other things to do meanwhile."""


def loader() -> Callable[[], None]:
    """To be called again and again: each time it loads a little more."""
    waiting = _names()

    def load() -> None:
        until = time.monotonic() + _AT_A_TIME
        for name in waiting:
            with contextlib.suppress(Exception):  # whatever is wrong with it is told where it is needed
                import_module(name)
            if time.monotonic() >= until:
                return

    return load


def _names() -> Iterator[str]:
    import pkgutil

    yield from _FOREIGN
    folder = str(Path(__file__).parents[1])
    for module in pkgutil.walk_packages([folder], f"{_PACKAGE}.", onerror=lambda _: None):
        name = module.name.removeprefix(f"{_PACKAGE}.")
        if name != "__main__" and not name.startswith(_NEVER):
            yield module.name
