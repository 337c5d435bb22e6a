"""The page of a run on the dashboard. The run is followed once for all who look, and drawn when something changed.

A panel that needs every iteration is drawn again only when an iteration ended. All lists have an end, so neither the
page nor what is sent to it grows with the run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.formats import cost, duration, moment
from claude_iterate.core.rules.endings import in_words
from claude_iterate.core.rules.next_steps import go_on
from claude_iterate.core.rules.trips import counters
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.items_done import items_done
from claude_iterate.errors import ExpectedError
from claude_iterate.text import local_times
from claude_iterate.text.wait_lines import words_for
from claude_iterate.views import glance, iteration_charts
from claude_iterate.views.glance import Seen, WatchedWorkspace
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.run_totals import history_of
from claude_iterate.views.run_view import short
from claude_iterate.views.settings_view import shortened
from claude_iterate.views.story import Happening, Story
from claude_iterate.views.web.drawn_page import Drawn, Line, panel
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes

LINES = 200
"""Lines of the timeline on a page."""
_ROWS, _PROOFS, _TOOLS, _FILES = 50, 5, 12, 20
_LEAST_CONTEXT = 0.005
"""Less would be shown as 0 %."""
_FILE = "run_panels"
NAMES = ("problem", "head", "figures", "watch", "charts", "iterations", "work", "tools", "proof", "log", "runs")
"""The panels, each with the element of its name on the page."""


class RunPanels:
    """Draws the panels of one run; keeps those that need every iteration."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._kept: dict[str, str] = {}

    def drawn(self, picture: RunPicture) -> Drawn:
        """The page of this picture."""
        seen = picture.seen
        title = f"{seen.name}: {seen.words}"
        panels = dict.fromkeys(NAMES, "")
        panels["problem"] = panel(_FILE, "problem", text=picture.problem)
        panels["runs"] = panel(_FILE, "runs", name=seen.name, runs=[(run, short(run)) for run in picture.runs])
        if seen.share < 1.0:
            panels["head"] = panel(_FILE, "reading", share=round(100 * seen.share))
            return Drawn(title, panels, whole=False)
        story = seen.story
        if story is None or story.started is None:
            panels["head"] = panel(_FILE, "unborn", name=seen.name, condition=seen.condition, gone=seen.gone)
            return Drawn(title, panels, says=title)
        panels |= self._of_iterations(story)
        told = lines(story)
        panels |= {name: panel(_FILE, name, **values) for name, values in _live(picture, story, told).items()}
        says = f"{title}. {glance.iteration(story.state)}"
        return Drawn(title, panels, told, offers(picture), says, run=story.run)

    def _of_iterations(self, story: Story) -> dict[str, str]:
        ended = story.rows.ended
        key = (story.run, len(ended), ended[-1] if ended else None)
        if key != self._key:
            rows = history_of(story).iterations[: len(ended)]
            self._key = key
            self._kept = {
                "charts": panel(_FILE, "charts", charts=iteration_charts.draw_charts(rows)),
                "iterations": panel(_FILE, "iterations", rows=_table(rows), more=max(0, len(rows) - _ROWS)),
            }
        return self._kept


def unread(name: str) -> Drawn:
    """The page of a run whose journal is being opened."""
    return Drawn(name, {**dict.fromkeys(NAMES, ""), "head": panel(_FILE, "reading", share=0)}, whole=False)


def _table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """The last iterations, newest first."""
    return [iteration_charts.row_words(row) for row in reversed(rows[-_ROWS:])]


def _live(picture: RunPicture, story: Story, told: Sequence[Line]) -> dict[str, dict[str, Any]]:
    """The values of the panels that change at any time."""
    measured = story.state.work.last_measure
    changes = measured.changes if measured is not None else None
    tools = [line for line in told if line.event in {"ToolCalled", "ToolAnswered"}][-_TOOLS:]
    return {
        "head": _head(picture, story),
        "figures": {"figures": _figures(picture, story)},
        "watch": _watch(picture, story),
        "work": {"measured": measured, "changes": changes, "files": changes.files[:_FILES] if changes else ()},
        "tools": {"lines": tools[::-1], "total": _tools(story)},
        "proof": {"proofs": list(story.evidence.proofs)[: -_PROOFS - 1 : -1]},
        "log": {"name": picture.log_name, "text": picture.log},
    }


def _head(picture: RunPicture, story: Story) -> dict[str, Any]:
    seen, at, state = picture.seen, picture.at, story.state
    status, wait = state.status, state.wait
    live = seen.alive and state.finished is None  # one that has recorded its end is about to leave
    now, items = story.now(at), items_done(state)
    ended = in_words(state.finished, state) if state.finished is not None else None
    heard = at - now.tool_duration if now.tool_duration is not None else at - now.silence
    return {
        "condition": seen.words,
        "mark": "live" if live else seen.tone,
        "iteration": glance.iteration(state),
        "since": round(at - glance.elapsed(seen, at), 1) if live else 0,
        "elapsed": duration(glance.elapsed(seen, at)),
        "dry_run": story.started is not None and story.started.dry_run,
        "purpose": str(story.started.purpose) if story.started is not None else "run",
        "done": min(items.done, items.total) if items is not None else 0,
        "total": items.total if items is not None else 0,
        "left": glance.remaining(story) if live else "",
        "summary": status.summary if status is not None and status.summary else "",
        "doing": _doing(picture, story) if live else "",
        "heard": round(heard, 1) if live and wait is None and state.call is not None else 0,
        "until": round(wait.until, 1) if live and wait is not None else 0,
        "cause": ended.cause if ended is not None else "",
        "next": ended.next if ended is not None else "" if live else go_on(state),
        "said": story.said.text if story.said is not None else "",
    }


def _doing(picture: RunPicture, story: Story) -> str:
    """What it is busy with; how long is counted on the page."""
    state, now = story.state, story.now(picture.at)
    if state.wait is not None:
        return words_for(state.wait.why).sentence
    if now.tool is not None:
        return now.tool
    if state.call is None:
        return "Paused: no iteration begins until Resume" if state.paused else picture.seen.words
    return "Claude thinks"


def _figures(picture: RunPicture, story: Story) -> list[tuple[str, str]]:
    state, seen = story.state, picture.seen
    tokens = state.tokens + state.spending.tokens
    paid = cost(state.cost_usd + state.spending.cost_usd, state.cost_is_lower_bound or state.spending.at_least)
    dry_run = story.started is not None and story.started.dry_run
    used = tokens.input + tokens.output + tokens.cache_read + tokens.cache_creation
    work, context = state.work, state.session.context
    found = {
        "Cost": "none: a dry run" if dry_run else paid,
        "Tokens": "" if dry_run or not used else shortened(used),
        "Iterations": str(state.iterations),
        "Tool calls": _some(_tools(story)),
        "Files changed": _some(work.files_changed) if work.measured else "",
        "Commits": _some(work.commits) if work.measured else "",
        "Waits": f"{story.wait_count} ({duration(story.waited)})" if story.wait_count else "",
        "Notes waiting": _some(seen.notes),
        "Context": f"{100 * context:.0f} %" if context is not None and context >= _LEAST_CONTEXT else "",
    }
    return [(name, text) for name, text in found.items() if text]


def _some(number: int) -> str:
    """Empty for none: such a figure is not shown."""
    return str(number) if number else ""


def _watch(picture: RunPicture, story: Story) -> dict[str, Any]:
    windows = []
    for name, window in story.windows.items():
        used = f"{100 * window.utilization:.0f} % used" if window.utilization is not None else window.status
        ahead = (window.resets_at or 0.0) > picture.at
        resets = local_times.day_and_time(moment(window.resets_at or 0.0), picture.at) if ahead else ""
        windows.append((_words(name), f"{used}, resets {resets}" if resets else used))
    more = picture.seen.notes - len(picture.notes)
    return {"counters": picture.counters, "windows": windows, "notes": picture.notes, "more": more}


def _tools(story: Story) -> int:
    under_way = story.rows.under_way
    return sum(row.tools for row in story.rows.ended) + (under_way.tools if under_way is not None else 0)


def offers(picture: RunPicture) -> tuple[str, ...]:
    """The requests that make sense now. A note can be left at any time."""
    story, always = picture.seen.story, ("note",)
    if picture.seen.gone or (picture.chosen and not picture.seen.alive):
        return ()
    if story is None or not picture.seen.alive or story.state.finished is not None:
        return always
    if story.started is not None and story.started.purpose != "run":
        return ("stop", *always)
    state = story.state
    found = ["resume" if state.paused else "pause", "stop", "skip"]
    return (*found, *(("retry",) if state.wait is not None else ()), *always)


def lines(story: Story) -> tuple[Line, ...]:
    """The timeline, oldest first."""
    return tuple(_line(one) for one in story.recent[-LINES:])


def _line(one: Happening) -> Line:
    clock = f"{datetime.fromtimestamp(one.at, UTC).astimezone():%H:%M:%S}"
    return Line(one.seq, clock, one.iteration, one.event, sanitize_terminal(one.line))


def _words(name: str) -> str:
    return name.replace("_", " ")


_STEPS = 4
"""Pieces of a long journal that are read before the page says how far it is."""
_LOG = 24 * 1024
"""Bytes at the end of the log that are shown."""
_RUNS = 20
_NOTES = 5


class RunPicture(msgspec.Struct, frozen=True):
    """All that a page shows of a run. `problem` says what is wrong with its record, and what to do."""

    seen: Seen
    at: float
    chosen: str = ""
    """The run of the page; empty: the newest, whichever that is."""
    runs: tuple[str, ...] = ()
    """The newest runs of the workspace, newest first."""
    log: str = ""
    log_name: str = ""
    notes: tuple[str, ...] = ()
    counters: tuple[tuple[str, int, int], ...] = ()
    problem: str = ""


class WatchedRun:
    """The newest run of a workspace, or a certain one. `draw` is for one thread at a time."""

    def __init__(self, project: Project, layout: Layout, run: str = "") -> None:
        self._project = project
        self._layout = layout
        self._run = run
        self._watched = WatchedWorkspace(layout, run, _STEPS)
        self._panels = RunPanels()
        self._before: tuple[object, ...] = ()
        self._log: tuple[object, str, str] = (None, "", "")
        self._known = ""
        """The run that `_stop` and `_format` are about."""
        self._settings: Settings | None = None
        self._format = 1

    def draw(self) -> Drawn | None:
        """The page as it is now; None when nothing has changed since the last time."""
        seen = self._watched.look()
        ids = self._layout.run_ids()
        stamp = self._log_stamp(seen)
        now = (seen.cursor, seen.share, seen.alive, seen.notes, seen.gone, seen.condition, ids, stamp)
        if now == self._before:
            return None
        self._learn(seen)
        waiting = tuple(note.text for note in notes.pending(self._layout)[:_NOTES]) if seen.notes else ()
        picture = RunPicture(
            seen,
            time.time(),
            self._run,
            tuple(reversed(ids[-_RUNS:])),
            self._log[2],
            self._log[1],
            waiting,
            self._counters(seen),
            self._problem(seen),
        )
        drawn = self._panels.drawn(picture)
        self._before = now
        return drawn

    def _log_stamp(self, seen: Seen) -> object:
        """What shows that the log was written; its end is read then."""
        name = seen.story.started.log if seen.story is not None and seen.story.started is not None else ""
        path = self._layout.folder / Path(name).name if name else None
        try:
            found = path.stat() if path is not None else None
        except OSError:
            found = None
        stamp = (str(path), found.st_size, found.st_mtime_ns) if found is not None else None
        if stamp != self._log[0]:
            self._log = stamp, path.name if path is not None else "", _end_of(path) if path is not None else ""
        return stamp

    def _learn(self, seen: Seen) -> None:
        """What does not change during a run: the settings that it is counted by, the format of its journal."""
        run = seen.story.run if seen.story is not None else self._run
        if run == self._known or not run:
            return
        self._known, self._settings, self._format = run, None, 1
        try:
            self._format = reader.format_of(self._layout.journal(run))
            self._settings = self._project.settings_for(self._layout).settings
        except (OSError, ExpectedError):
            return

    def _counters(self, seen: Seen) -> tuple[tuple[str, int, int], ...]:
        if self._settings is None or seen.story is None or (started := seen.story.started) is None:
            return ()
        return tuple(counters(seen.story.state.streaks, stop_settings(self._settings, started.mode)))

    def _problem(self, seen: Seen) -> str:
        name = self._layout.name
        if seen.gone:
            return f"The folder of the workspace {name} is gone. See what is left: claude-iterate list"
        if self._format > JOURNAL_FORMAT:
            newer = f"A newer version of claude-iterate wrote this journal (format {self._format})."
            return f"{newer} What this version does not know is left out. Install that version to see all of it."
        if seen.story is not None and seen.story.started is None and seen.share >= 1.0 and not seen.alive:
            lost = f"The journal of run {seen.story.run} has lost its beginning, so little can be told of it."
            return f"{lost} Look: claude-iterate doctor"
        return ""


def _end_of(path: Path) -> str:
    """The last lines of a log, however long it is."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG))
            data = file.read(_LOG)
    except OSError:
        return ""
    return data[data.find(b"\n") + 1 if size > _LOG else 0 :].decode("utf-8", "replace")


def exists(layout: Layout, run: str) -> bool:
    """True for a run of this workspace, by its whole id."""
    return run in layout.run_ids()
