"""Which events are worth a notification. Pure: an entry and the state after it become notices.

A new kind of notification is one row in `notice_texts.ROWS`. How a notice travels is not known here.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import Entry, VerificationFinished
from claude_iterate.core.formats import precise_moment
from claude_iterate.core.rules.endings import in_words
from claude_iterate.core.state.items_done import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notifications.notice_texts import ROWS, Draft, iteration_number


class Notice(msgspec.Struct, frozen=True):
    """A notification before it takes a form. `facts` is the part of it that programs read."""

    event: str
    title: str
    body: str
    priority: str = "default"
    tags: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


def notices(entry: Entry, state: RunState, project: str = "", report_url: str = "") -> list[Notice]:
    """The notices of an entry, usually none. Of one-off calls only the verification of `verify` is reported. `project`
    is the name of the project, where several may notify the same user; `report_url` is where reports can be read."""
    rows, started = ROWS.get(type(entry.event)), state.started
    if rows is None or started is None:
        return []
    if started.purpose != "run" and not (started.purpose == "verify" and isinstance(entry.event, VerificationFinished)):
        return []
    ending = in_words(state.finished, state) if state.finished is not None else None
    facts = {
        "run": started.run,
        "iteration": iteration_number(state),
        "maxIterations": started.max_iterations or None,
        "costUsd": round(state.cost_usd, 6),
        "costIsLowerBound": state.cost_is_lower_bound,
        "reason": state.reason,
        "cause": ending.cause if ending is not None else None,
        "next": ending.next if ending is not None else None,
    }
    if report_url and ending is not None and not started.dry_run:
        facts["report"] = _filled_in(report_url, project=project, workspace=started.workspace, run=started.run)
    if state.finished is not None and state.finished.known_by:
        facts["knownBy"] = state.finished.known_by
    if (items := items_done(state)) is not None:
        facts["progress"] = {"completed": items.done, "total": items.total}
    drafts = [row(entry.event, state) for row in rows]
    return [
        _notice(
            _marked(draft) if started.dry_run else draft,
            started.workspace,
            project,
            entry.at,
            id=f"{started.run}-{entry.seq}-{draft.event}",
            **facts,
        )
        for draft in drafts
        if draft is not None
    ]


def _filled_in(address: str, **names: str) -> str:
    for name, value in names.items():
        address = address.replace(f"{{{name}}}", quote(value, safe=""))
    return address


def _marked(draft: Draft) -> Draft:
    """Nobody should take a dry run for the real thing."""
    return replace(draft, title=f"Dry Run: {draft.title}", headline=f"DRY RUN: {draft.headline}")


def setup_complete(workspace: str, project: str, instructions: str, at: float) -> Notice:
    """The one notice that no run sends."""
    lines = [f"Workspace: {workspace}", f"Instructions: {instructions}", f"Next: claude-iterate run {workspace}"]
    draft = Draft("setup_complete", "Setup Complete", "WORKSPACE SETUP COMPLETE", lines, tags=("setup",))
    return _notice(draft, workspace, project, at)


def trial(workspace: str | None, project: str, at: float) -> Notice:
    """What `notify test` sends."""
    lines = ["If you can read this, notifications arrive.", *([f"Workspace: {workspace}"] if workspace else [])]
    return _notice(Draft("test", "Test Notification", "TEST", lines, tags=("test",)), workspace, project, at)


def _notice(draft: Draft, workspace: str | None, project: str, at: float, **known: Any) -> Notice:
    """Facts that are not known are null: programs find the same keys in every notice. The title is often all that a
    phone shows, so it names the workspace."""
    unknown = dict.fromkeys(
        (
            "id",
            "run",
            "iteration",
            "maxIterations",
            "progress",
            "reason",
            "cause",
            "next",
            "costUsd",
            "costIsLowerBound",
            "report",
        )
    )
    facts = {"workspace": workspace, "project": project or None, "at": precise_moment(at), **unknown, **known}
    title = f"[{workspace}] {draft.title}" if workspace else draft.title
    lines = list(draft.lines)
    if known.get("report"):
        lines.append(f"Report: {known['report']}")
    if project and any(line.startswith("Workspace: ") for line in lines):
        lines.append(f"Project: {project}")
    body = "\n".join([draft.headline, "", *lines])
    return Notice(draft.event, title, body, draft.priority, ("claude-iterate", *draft.tags), facts)
