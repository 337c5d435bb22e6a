"""The page of a run on the dashboard, drawn when something changed. All lists have an end, so it does not grow."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.formats import duration
from claude_iterate.core.redact import Redactor
from claude_iterate.core.state.condition import items_done
from claude_iterate.system import untrusted_files
from claude_iterate.system.restorable_file import version
from claude_iterate.text.run_lines import describe_damage
from claude_iterate.views import watched_workspace
from claude_iterate.views.history_view import history_of
from claude_iterate.views.pages import charts
from claude_iterate.views.pages.drawn_page import Drawn, panel
from claude_iterate.views.run_view import short_id
from claude_iterate.views.story import Happening, Story
from claude_iterate.views.watched_workspace import Seen, WatchedWorkspace
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

_ROWS, _PROOFS, _TOOLS, _FILES, _RUNS, _NOTES = 50, 5, 12, 20, 20, 5
_LOG = 24 * 1024
"""Bytes at the end of the log that are shown."""
_FILE = "run_panels"
NAMES = ("problem", "head", "figures", "watch", "charts", "iterations", "work", "tools", "proof", "log", "runs")
"""The panels, each with the element of its name on the page."""


class RunPicture(msgspec.Struct, frozen=True):
    """All that a page shows of a run."""

    seen: Seen
    at: float
    chosen: str = ""
    """The run of the page; empty: the newest, whichever that is."""
    runs: Sequence[str] = ()
    """The newest runs of the workspace, newest first."""
    log: str = ""
    log_name: str = ""
    notes: Sequence[str] = ()


class WatchedRun:
    """The newest run of a workspace, or a certain one. `draw` is for one thread at a time."""

    def __init__(self, layout: Layout, run: str = "") -> None:
        self._layout = layout
        self._run = run
        self._watched = WatchedWorkspace(layout, run)
        self._before: tuple[object, ...] = ()

    def draw(self) -> Drawn | None:
        """The page as it is now; None when nothing has changed since the last time."""
        seen, ids = self._watched.look(), self._layout.run_ids()
        started, last = (seen.story.started, seen.story.last) if seen.story is not None else (None, None)
        log = self._layout.folder / Path(started.log).name if started is not None and started.log else None
        written = version(log) if log is not None else None
        now = (last, seen.alive, seen.notes, seen.condition, ids, log, written)
        if now == self._before:
            return None
        clean = Redactor(os.environ).clean
        picture = RunPicture(
            seen,
            time.time(),
            self._run,
            ids[: -_RUNS - 1 : -1],
            _read_end(log) if log is not None else "",
            log.name if log is not None else "",
            [clean(note.text) for note in notes.pending_notes(self._layout)[:_NOTES]] if seen.notes else (),
        )
        drawn = draw_run(picture)
        self._before = now
        return drawn


def _read_end(path: Path) -> str:
    """The last lines of a log, however long it is."""
    try:
        with untrusted_files.open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG))
            data = file.read(_LOG)
    except OSError:
        return ""
    return data[data.find(b"\n") + 1 if size > _LOG else 0 :].decode("utf-8", "replace")


def unread_page(name: str) -> Drawn:
    """The page of a run whose journal is being opened."""
    return Drawn(name, {**dict.fromkeys(NAMES, ""), "head": panel(_FILE, "reading")})


def draw_run(picture: RunPicture) -> Drawn:
    """The page of this picture."""
    seen, story = picture.seen, picture.seen.story
    title = f"{seen.name}: {seen.words}"
    panels = dict.fromkeys(NAMES, "")
    panels["runs"] = panel(_FILE, "runs", name=seen.name, runs=[(run, short_id(run)) for run in picture.runs])
    if story is None or story.started is None:
        panels["head"] = panel(_FILE, "unborn", seen=seen, text=watched_workspace.without_story(seen).text)
        return Drawn(title, panels, says=title)
    timeline = tuple(story.recent)
    panels |= {name: panel(_FILE, name, **values) for name, values in _values(picture, story, timeline).items()}
    says = f"{title}. {watched_workspace.iteration(story.state)}"
    return Drawn(title, panels, timeline, offers(picture), says, run=story.run)


def _values(picture: RunPicture, story: Story, timeline: Sequence[Happening]) -> dict[str, dict[str, Any]]:
    """What each panel is made from. Charts and table have a call of Claude when it is over, so that what is long is
    sent again only then."""
    rows = history_of(story).iterations[: len(story.rows.ended)]
    table = [charts.row_words(row) for row in reversed(rows[-_ROWS:])]
    measured = story.state.work.last_measure
    changes = measured.changes if measured is not None else None
    tools = [line for line in timeline if line.event in {"ToolCalled", "ToolResult"}][-_TOOLS:]
    return {
        "head": _head(picture, story),
        "figures": {"figures": watched_workspace.figures(story, picture.seen.notes)},
        "watch": _watch(picture, story),
        "charts": {"charts": charts.draw_charts(rows)},
        "iterations": {"rows": table, "more": max(0, len(rows) - _ROWS)},
        "work": {"measured": measured, "changes": changes, "files": changes.files[:_FILES] if changes else ()},
        "tools": {"lines": tools[::-1], "total": sum(row.tools for row in story.rows.every())},
        "proof": {"proofs": list(story.proofs)[: -_PROOFS - 1 : -1]},
        "log": {"name": picture.log_name, "text": picture.log},
    }


def _head(picture: RunPicture, story: Story) -> dict[str, Any]:
    seen, at, state = picture.seen, picture.at, story.state
    live = seen.alive and state.finished is None  # one that has recorded its end is about to leave
    now, elapsed = story.now(at), watched_workspace.run_time(seen, at)
    seen = replace(seen, alive=live)
    (cause, step), (doing, _) = watched_workspace.ending(seen), watched_workspace.activity(seen, at)
    quiet = now.tool_duration if now.tool_duration is not None else now.silence
    return {
        "seen": seen,
        "story": story,
        "live": live,
        "iteration": watched_workspace.iteration(state),
        "since": round(at - elapsed, 1) if live else 0,
        "elapsed": duration(elapsed),
        "items": items_done(state),
        "left": watched_workspace.time_left(story) if live else "",
        "doing": "Paused: no iteration begins until Resume" if doing == "paused" else doing,
        "heard": round(at - quiet, 1) if live and state.wait is None and state.call is not None else 0,
        "until": round(state.wait.until, 1) if live and state.wait is not None else 0,
        "cause": cause,
        "next": step,
        "damaged": describe_damage(state.damaged),
    }


def _watch(picture: RunPicture, story: Story) -> dict[str, Any]:
    return {
        "counters": watched_workspace.breaker_counters(story),
        "windows": watched_workspace.windows(story, picture.at),
        "notes": picture.notes,
        "more": picture.seen.notes - len(picture.notes),
    }


def offers(picture: RunPicture) -> tuple[str, ...]:
    """The requests that make sense now. A note can be left at any time."""
    story, always = picture.seen.story, ("note",)
    if picture.seen.gone or (picture.chosen and not picture.seen.alive):
        return ()
    if story is None or not picture.seen.alive or story.state.finished is not None:
        return always
    if story.state.run.purpose != "run":
        return ("stop", *always)
    state = story.state
    found = ["resume" if state.paused else "pause", "stop", "skip"]
    return (*found, *(("retry",) if state.wait is not None else ()), *always)
