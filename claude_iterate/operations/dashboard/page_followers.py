"""One follower for each page that is open somewhere, however many browsers show it: it looks and draws. Each browser
gets the newest page when it is ready for it. Nothing is queued, so a slow browser costs no memory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import asdict, replace
from starlette.concurrency import run_in_threadpool

from claude_iterate.views.pages.drawn_page import Drawn, panel

PAUSE = 0.5
"""Seconds between two looks."""
_LINGERS = 30.0
"""Seconds that a follower keeps drawing after its last page was closed: a reload comes back."""
NOTHING = Drawn("", {})
"""What a browser shows before anything was drawn for it."""


class PageFollower:
    """Draws one page while it is watched. `drawn` is the page as it is now; `draw` is asked for it again and again, and
    gives None when nothing changed."""

    def __init__(self, draw: Callable[[], Drawn | None]) -> None:
        self._draw = draw
        self._news = asyncio.Event()
        self._nudge = asyncio.Event()
        self._left = time.monotonic()
        self.watchers = 0
        self.drawn = NOTHING
        self.closed = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A page is open."""
        self.watchers += 1
        try:
            yield
        finally:
            self.watchers -= 1
            self._left = time.monotonic()

    async def follow(self) -> None:
        """Poll while any browser shows the page, and for a while after."""
        good = NOTHING
        while not self.closed and (self.watchers or time.monotonic() <= self._left + _LINGERS):
            try:
                found = await run_in_threadpool(self._draw)
                shown = good = found or good
            except Exception as problem:  # noqa: BLE001 - the page says it; the next look may go well
                shown = _with_problem(good, problem)
            if shown != self.drawn:
                self.drawn = shown
                self._wake()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nudge.wait(), PAUSE)
            self._nudge.clear()
        self.close()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def nudge(self) -> None:
        """Look now: something was asked for."""
        self._nudge.set()

    def close(self) -> None:
        """No more looks; every page that waits wakes up."""
        self.closed = True
        self._nudge.set()
        self._wake()

    async def wait_for_news(self, shown: Drawn, patience: float) -> bool:
        """Wait until the page is not as `shown` any more; False when it did not change in time."""
        if self.drawn is shown and not self.closed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), patience)
        return self.drawn is not shown


def change(before: Drawn, now: Drawn) -> dict[str, Any]:
    """What a browser needs that shows the page of `before`."""
    again = not before.panels or before.run != now.run
    last = before.lines[-1].seq if before.lines and not again else 0
    return {
        "title": now.title,
        "panels": {name: html for name, html in now.panels.items() if before.panels.get(name) != html},
        "lines": [asdict(line) for line in now.lines if line.seq > last],
        "again": again,
        "offers": now.offers,
        "says": now.says,
        "now": round(time.time(), 1),
    }


def _with_problem(before: Drawn, problem: Exception) -> Drawn:
    """The page as it was, and what went wrong."""
    text = f"The dashboard cannot read this at the moment: {type(problem).__name__}: {problem}"
    return replace(before, panels={**before.panels, "problem": panel("run_panels", "problem", text=text)})


class PageFollowers:
    """All followers by the address of their page."""

    def __init__(self) -> None:
        self._known: dict[str, PageFollower] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = False

    def of(self, address: str, draw: Callable[[], Drawn | None]) -> PageFollower:
        """The follower of this page; a new one that asks `draw` where there is none."""
        self._known = {known: follower for known, follower in self._known.items() if not follower.closed}
        if address not in self._known:
            made = self._known[address] = PageFollower(draw)
            task = asyncio.get_running_loop().create_task(made.follow())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._known[address]

    def nudge(self, name: str) -> None:
        """Something was asked of this workspace."""
        for address, follower in self._known.items():
            if address == "/" or name in address.split("/"):
                follower.nudge()

    def close(self) -> None:
        """The dashboard ends."""
        self.closed = True
        for follower in self._known.values():
            follower.close()
