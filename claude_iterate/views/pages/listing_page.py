"""All workspaces of a project for the first page of the dashboard: which run, how far they are.

A workspace that does not run is read from its summary, and again only when its files changed; one that runs is
followed, as its own page does.
"""

from __future__ import annotations

import time

import msgspec

from claude_iterate.core.formats import cost, plural
from claude_iterate.core.state.condition import items_done
from claude_iterate.core.tones import state_words, tone
from claude_iterate.text import local_times
from claude_iterate.views.pages.drawn_page import Drawn, panel
from claude_iterate.views.watched_workspace import Seen, WatchedWorkspace, cost_so_far, iteration
from claude_iterate.views.workspace_view import WorkspaceRow, listing
from claude_iterate.workspace.files.restorable_file import version
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock

_MOST = 300
"""Workspaces on the page."""


class Card(msgspec.Struct, frozen=True):
    """One workspace. `mark` is the tone of its word."""

    name: str
    condition: str
    mark: str
    done: int = 0
    total: int = 0
    facts: str = ""
    doing: str = ""
    last_run: str = ""


class WatchedProject:
    """The workspaces as they come and go. `draw` is for one thread at a time."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._running: dict[str, WatchedWorkspace] = {}
        self._idle: dict[str, tuple[object, WorkspaceRow]] = {}
        self._before: list[Card] | None = None

    def draw(self) -> Drawn | None:
        """The page as it is now; None when nothing has changed since the last time."""
        at, names = time.time(), self._project.workspaces()
        self._running = {name: known for name, known in self._running.items() if name in names}
        self._idle = {name: row for name, row in self._idle.items() if name in names}
        # Those that run first, then those that ran last.
        cards = sorted(
            (self._card(name, at) for name in names),
            key=lambda card: (card.mark == "live", card.last_run),
            reverse=True,
        )
        if cards == self._before:
            return None
        running = sum(card.mark == "live" for card in cards)
        title = f"{self._project.root.name}: {running} of {plural(len(cards), 'workspace')} running"
        shown = panel("listing_panels", "workspaces", rows=cards[:_MOST], more=max(0, len(cards) - _MOST))
        self._before = cards
        return Drawn(title, {"problem": "", "workspaces": shown}, says=title)

    def _card(self, name: str, at: float) -> Card:
        layout = Layout(self._project.root, self._project.workspaces_folder / name)
        if run_lock.holder(layout.lock) is None:
            self._running.pop(name, None)
            return _idle_card(self._row(layout), at)
        watched = self._running.setdefault(name, WatchedWorkspace(layout))
        return _live_card(watched.look(), at)

    def _row(self, layout: Layout) -> WorkspaceRow:
        """As `list` has it."""
        stamp = [version(path) for path in (layout.metadata, layout.instructions, layout.runs, layout.status)]
        known = self._idle.get(layout.name)
        if known is None or known[0] != stamp:
            found = listing(self._project.root, layout.folder.parent, [layout.name]).workspaces[0]
            known = self._idle[layout.name] = stamp, found
        return known[1]


def unread_page() -> Drawn:
    """The page before the first look is over."""
    return Drawn("Workspaces", {"problem": "", "workspaces": panel("listing_panels", "reading")})


def _live_card(seen: Seen, at: float) -> Card:
    story = seen.story
    if story is None or story.started is None:
        return Card(seen.name, seen.condition, "live")
    items, facts = items_done(story.state), (iteration(story.state), cost_so_far(story.state))
    done, total = (min(items.completed, items.total), items.total) if items is not None else (0, 0)
    return Card(seen.name, seen.words, "live", done, total, " · ".join(facts), story.now(at).tool or "")


def _idle_card(row: WorkspaceRow, at: float) -> Card:
    facts = [
        plural(row.iterations, "iteration") if row.iterations else "",
        cost(row.cost_usd, row.cost_is_lower_bound) if row.cost_usd is not None else "",
        local_times.day_and_time(row.last_run, at) if row.last_run else "",
    ]
    done, total = (row.progress.completed, row.progress.total) if row.progress is not None else (0, 0)
    killed = f"The run was killed.{f' Continue: {row.next}' if row.next else ''}" if row.state == "killed" else ""
    return Card(
        row.name,
        state_words(row.state, row.known_by),
        tone(row.state, row.known_by),
        done,
        total,
        " · ".join(filter(None, facts)),
        row.cause or killed,
        row.last_run or "",
    )
