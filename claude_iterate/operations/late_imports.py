"""Loads what a run may need later while Claude works.

A quick start imports little. But a run lasts for hours, and an upgrade of the package in between must not mix two
versions: what is loaded by then stays as it is. What a run needs only by its settings, such as hooks, checks or a
sandbox, is imported before its first iteration, so it is not here; the rest of such a part is (`_WITH`).
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module

_PACKAGE = "claude_iterate"
_ANY_RUN = (
    "core.outcomes.denials",
    "core.reports.fallbacks",
    "core.tampering.comparison",
    "engine.shell_command",
    "engine.stop_conditions.stop_scripts",
    "progress.git_history",
    "progress.snapshots",
    "sinks.console.terminal_writer",
    "system.crash_reports",
    "text.wait_lines",
    "workspace.running.liveness",
)
_WITH = {
    "agent.command.sandbox": ("agent.processes.containers", "system.namespaces", "workspace.files.confinement"),
    "cli.terminal.keys": ("cli.terminal.attended", "cli.terminal.questions"),
    "engine.hooks.hook_runs": ("core.rules.hook_facts",),
    "engine.proof.verification": (
        "core.reports.doubtful_evidence",
        "core.reports.prose_review",
        "core.reports.requirements",
        "core.reports.review",
        "engine.proof.check",
        "engine.proof.definition",
        "engine.proof.held_review",
        "progress.file_scan",
        "progress.files_with_tests",
        "progress.git_tree",
        "progress.project_state",
    ),
    "engine.work.suite_run": ("progress.suite_results.junit_files",),
}
"""What the second needs comes with the first."""
_FOREIGN = ("jinja2", "jinja2.sandbox")
_PROMPTS_AFTER = 60.0
"""Seconds. A prompt that the user edits meanwhile needs Jinja2, which takes as long as all others together."""
_AT_A_TIME = 0.01
"""Seconds: the engine has other things to do meanwhile."""


def loader() -> Callable[[], None]:
    """To be called again and again: each time it loads a little more."""
    began = time.monotonic()
    waiting = _names()
    later = iter(_FOREIGN)

    def load() -> None:
        now = time.monotonic()
        for names in (waiting, later) if now >= began + _PROMPTS_AFTER else (waiting,):
            for name in names:
                with contextlib.suppress(Exception):  # whatever is wrong with it is told where it is needed
                    import_module(name)
                if time.monotonic() >= now + _AT_A_TIME:
                    return

    return load


def _names() -> Iterator[str]:
    for name in _ANY_RUN:
        yield f"{_PACKAGE}.{name}"
    for part, names in _WITH.items():
        if f"{_PACKAGE}.{part}" in sys.modules:
            for name in names:
                yield f"{_PACKAGE}.{name}"
