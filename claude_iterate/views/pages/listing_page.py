"""All workspaces of a project for the first page of the dashboard. Those that run are followed, as on their own pages;
the others are as in `list`, and are read again only when their files have changed."""

from __future__ import annotations

import time

import msgspec

from claude_iterate.core.formats import cost, plural
from claude_iterate.core.rules.next_steps import KILLED
from claude_iterate.core.state.condition import items_done
from claude_iterate.core.tones import state_words, tone
from claude_iterate.system.restorable_file import version
from claude_iterate.text import local_times
from claude_iterate.views.pages.drawn_page import Drawn, panel
from claude_iterate.views.watched_workspace import Seen, WatchedWorkspace, cost_so_far, iteration
from claude_iterate.views.workspace_view import WorkspaceRow, listing
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
        """The rows of those that do not run, with the versions of the files that they were made from."""
        self._before: list[Card] | None = None

    def draw(self) -> Drawn | None:
        """The page as it is now; None when nothing has changed since the last time."""
        at, root, folder = time.time(), self._project.root, self._project.workspaces_folder
        running: dict[str, WatchedWorkspace] = {}
        idle: dict[str, tuple[object, WorkspaceRow]] = {}
        for name in self._project.workspaces():
            layout = Layout(root, folder / name)
            if run_lock.holder(layout.lock) is not None:
                running[name] = self._running.get(name) or WatchedWorkspace(layout)
            else:
                seen = [version(path) for path in (layout.metadata, layout.instructions, layout.runs, layout.status)]
                known = self._idle.get(name)
                if known is None or known[0] != seen:
                    known = (seen, listing(root, folder, [name]).workspaces[0])
                idle[name] = known
        self._running, self._idle = running, idle
        cards = [_live_card(watched.look(), at) for watched in running.values()]
        cards += [_idle_card(row, at) for _, row in idle.values()]
        # Those that run first, then those that ran last.
        cards.sort(key=lambda card: (card.mark == "live", card.last_run), reverse=True)
        if cards == self._before:
            return None
        live = sum(card.mark == "live" for card in cards)
        title = f"{root.name}: {live} of {plural(len(cards), 'workspace')} running"
        shown = panel("listing_panels", "workspaces", rows=cards[:_MOST], more=max(0, len(cards) - _MOST))
        self._before = cards
        return Drawn(title, {"problem": "", "workspaces": shown}, says=title)


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
    killed = f"{KILLED}. {f'Continue: {row.next}' if row.next else ''}" if row.state == "killed" else ""
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
