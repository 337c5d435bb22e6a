"""Gathers all there is to know of one workspace into one document, for `show` and its JSON. Reads, never writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claude_iterate.core import formats
from claude_iterate.core.events.reasons import ENDINGS
from claude_iterate.core.reports import status as reports
from claude_iterate.core.settings.declared import Settings, catalogue
from claude_iterate.core.settings.layers import Resolved
from claude_iterate.core.state.handover import handed_on
from claude_iterate.core.state.run_state import RunState
from claude_iterate.views import evidence_view, listing_view
from claude_iterate.views.setting_values import covered, plain, tokens_document
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import liveness, run_lock, status_file


def portrait(project: Project, layout: Layout) -> dict[str, Any]:
    """The document. A damaged metadata file is a WorkspaceProblem."""
    condition, document = listing_view.current(metadata.read(layout.metadata).document, str(layout.folder))
    about = metadata.Metadata(document)
    newest = reader.last_run(layout)
    found = newest if newest and _is_run(newest[1]) else reader.last_run(layout, ("run",))
    return {
        "name": layout.name,
        "path": str(layout.folder),
        "mode": about.mode,
        "status": condition,
        "runningNow": run_lock.holder(layout.lock),
        "copyOf": _copied(layout, about) if condition == "interrupted" else None,
        "report": _report(layout),
        "lastRun": _run(*found) if found else None,
        "proof": _proof(layout),
        "counters": {
            "total": about.count("totalIterations"),
            "setup": about.count("setupIterations"),
            "execution": about.count("executionIterations"),
            "costUsd": _spent(newest[1]) if newest else 0.0,
        },
        "created": about.document.get("created"),
        "settings": changed_settings(project.settings_for(layout)),
        "files": {
            path.name: path.exists()
            for path in (layout.instructions, layout.todo, layout.status, layout.metadata, layout.working)
        },
        "log": _log(layout, found[1] if found else None),
    }


def _copied(layout: Layout, about: metadata.Metadata) -> dict[str, Any] | None:
    """The live run that this workspace tells of though it is not its own: somebody copied the workspace under it."""
    run = str(about.last_run.get("id", ""))
    return (
        {"run": run, "pid": liveness.pid_of(layout, run)} if liveness.of_runner(layout, run) == liveness.LIVES else None
    )


def _log(layout: Layout, state: RunState | None) -> str | None:
    """Where to read of the last run; where there was none, or its log is gone, the newest log there is."""
    logs = layout.logs()
    # By its name: the workspace may have been moved or restored under another one.
    name = Path(state.started.log).name if state is not None and state.started is not None else ""
    own = [log for log in logs if log.name == name] or logs
    return str(own[-1]) if own else None


def changed_settings(resolved: Resolved) -> list[dict[str, Any]]:
    """What differs from the defaults, and where it comes from; secrets covered."""
    return [
        {"key": key, "value": plain(covered(key, value_of(resolved.settings, key))), "origin": _origin(resolved, key)}
        for key in catalogue()
        if value_of(resolved.settings, key) != catalogue()[key].default
    ]


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _is_run(state: RunState) -> bool:
    return state.started is not None and state.started.purpose == "run"


def _spent(newest: RunState) -> float:
    """Over all runs, `verify` and other errands included, as the next one will count it; a rehearsal costs nothing."""
    rehearsal = newest.started is not None and newest.started.dry_run
    return newest.carried.cost_usd if rehearsal else handed_on(newest).cost_usd


def _origin(resolved: Resolved, key: str) -> str:
    origin = resolved.origin(key)
    return f"{origin.kind}: {origin.place}" if origin.kind in {"user", "project"} else origin.kind


def _proof(layout: Layout) -> dict[str, Any] | None:
    """The newest evidence, and of which run it is."""
    found = evidence_view.newest(layout)
    return {"run": found[0], **found[1]} if found else None


def _report(layout: Layout) -> dict[str, Any]:
    reading = status_file.look(layout.status).reading
    status = reading.status if reading else None
    return {
        "present": status is not None,
        "text": reports.describe(status) if status else None,
        "complete": status.complete if status else None,
        "completed": status.completed if status else None,
        "total": status.total if status else None,
        "worked": status.worked if status else None,
        "summary": status.summary if status else None,
        "blocked": status.blocked if status else None,
        "problems": list(reading.problems) if reading else [],
    }


def _wait(state: RunState) -> dict[str, Any] | None:
    if state.wait is None or state.finished is not None:
        return None
    return {"for": state.wait.why, "until": formats.moment(state.wait.until)}


def _run(run: str, state: RunState) -> dict[str, Any]:
    started, finished = state.started, state.finished
    failed = state.last_outcome if state.last_outcome and state.last_outcome.kind != "ok" else None
    return {
        "id": run,
        "started": formats.moment(state.started_at),
        "duration": round(max(0.0, state.last_at - state.started_at), 3),
        "iterations": state.iterations,
        "maxIterations": started.max_iterations if started else 0,
        "dryRun": started.dry_run if started else False,
        "costUsd": round(state.cost_usd, 6),
        "tokens": tokens_document(state.tokens),
        "reason": state.reason,
        "meaning": ENDINGS[state.reason].meaning if state.reason else "",
        "detail": finished.detail if finished else "",
        "advice": finished.advice if finished else "",
        "paused": state.paused and not finished,
        "waiting": _wait(state),
        "lastError": f"{failed.kind}: {failed.message}" if failed and failed.message else "",
        "log": started.log if started else "",
    }
