"""Builds the sinks of a run: log, console, notifications. No other module does."""

from __future__ import annotations

import os
import shutil
import sys

from claude_iterate.core.events import Warned
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.engine.plan import Plan
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.console.safe_stream import forces_color
from claude_iterate.sinks.fanout import Fanout, Sink
from claude_iterate.sinks.log.text_log import TextLog
from claude_iterate.sinks.notifications.notification_sink import Notifier
from claude_iterate.system.near_paths import near
from claude_iterate.text.transcript import SharedBlocks
from claude_iterate.workspace.run_folder import run_folder
from claude_iterate.workspace.run_folder.run_folder import RunFolder


def sinks_for_run(plan: Plan, request: RunRequest, troubles: list[Warned], place: RunFolder) -> Fanout:
    """All sinks as one. What goes wrong in a sink becomes one of the `troubles`; the run goes on."""
    blocks = SharedBlocks() if plan.settings.output == "verbose" and not request.silent else None
    sinks: list[Sink] = [] if request.silent else [_console(plan, request, blocks)]
    try:
        log = TextLog(
            plan.log,
            lambda text: troubles.append(Warned(text)),
            attended=plan.settings.attended,
            is_ours=place.is_ours,
            on_put_back=lambda: place.note(run_folder.LOG),
            blocks=blocks,
        )
        sinks.insert(0, log)
    except OSError as error:
        troubles.append(Warned(f"There will be no log: {plan.log} cannot be written: {error.strerror}."))
    if plan.settings.notify.url:
        hint = f"Try it: claude-iterate notify test --workspace {plan.layout.name}"
        project = plan.layout.project.name
        sinks.append(Notifier(plan.settings, plan.environ, lambda text: troubles.append(Warned(text, hint)), project))

    def broken(sink: str, error: Exception) -> None:
        text = f"{sink} failed and is left out: {type(error).__name__}: {error}"
        troubles.append(Warned(text, "The run goes on without it."))

    return Fanout(sinks, broken)


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _console(plan: Plan, request: RunRequest, blocks: SharedBlocks | None) -> Console:
    """With `--json` standard output holds the document and nothing else."""
    return Console(
        sys.stderr if request.as_json else sys.stdout,
        sys.stderr,
        plan.settings.output,
        request.color and plan.settings.colors,
        # In attended mode the live line would cover the question.
        live=plan.environ.get("TERM") != "dumb" and not plan.settings.attended,
        columns=_columns,
        attended=plan.settings.attended,
        forced_color=forces_color(plan.environ),
        clock=not sys.stderr.isatty(),
        keys=plan.keys,
        program=plan.command_line.program if plan.detaches else (),
        is_there=os.path.isfile,
        place=near,
        stop=stop_settings(plan.settings, plan.mode.name),
        blocks=blocks,
    )
