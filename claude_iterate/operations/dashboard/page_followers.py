"""One follower for each page that is open somewhere, however many browsers show it: it looks, draws, and keeps what is
new for each of them until they ask. Nothing is queued, so a slow browser costs no memory."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool

from claude_iterate.views.pages.drawn_page import Drawn, panel

PAUSE = 0.5
"""Seconds between two looks."""
_LINGERS = 30.0
"""Seconds that a follower goes on when its last page was closed: a reload comes back."""
_MOST = 100
"""Pages that can be open at once."""
_NUMBERS = itertools.count(1)


class Drawing(Protocol):
    """What a follower asks again and again."""

    def draw(self) -> Drawn | None:
        """The page; None when nothing changed."""


class Cursor(msgspec.Struct, frozen=True):
    """What a browser has: of which follower, up to which version, and up to which line."""

    follower: int = 0
    version: int = 0
    seq: int = 0
    run: str = ""

    @classmethod
    def read(cls, text: str) -> Cursor:
        """From the form that `str` gives; anything else means that it has nothing."""
        parts = text.split(".", 3)
        if len(parts) == 4 and all(part.isdecimal() and len(part) < 16 for part in parts[:3]):
            return cls(int(parts[0]), int(parts[1]), int(parts[2]), parts[3])
        return cls()

    def __str__(self) -> str:
        return f"{self.follower}.{self.version}.{self.seq}.{self.run}"


class PageFollower:
    """Draws one page while it is watched."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._number = next(_NUMBERS)
        self._version = 0
        self._changed: dict[str, int] = {}
        """The version in which each panel became what it is."""
        self._news = asyncio.Event()
        self._nudge = asyncio.Event()
        self._left = time.monotonic()
        self.watchers = 0
        self.drawn = self._good = Drawn("", {}, whole=False)
        self.closed = False

    @property
    def cursor(self) -> Cursor:
        """What a browser has that shows the page as it is now."""
        seq = self.drawn.lines[-1].seq if self.drawn.lines else 0
        return Cursor(self._number, self._version, seq, self.drawn.run)

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
        while not self.closed and (self.watchers or time.monotonic() <= self._left + _LINGERS):
            try:
                found = await run_in_threadpool(self._drawing.draw)
                self._good = found if found is not None else self._good
                shown = self._good
            except Exception as problem:  # noqa: BLE001 - the page says it; the next look may go well
                shown = _with_problem(self._good, problem)
            if shown is not self.drawn and shown != self.drawn:
                self._publish(shown)
            if self.drawn.whole:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._nudge.wait(), PAUSE)
                self._nudge.clear()
        self.close()

    def _publish(self, drawn: Drawn) -> None:
        self._version += 1
        for name, html in drawn.panels.items():
            if self.drawn.panels.get(name) != html:
                self._changed[name] = self._version
        self.drawn = drawn
        self._wake()

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

    async def news(self, cursor: Cursor, patience: float) -> bool:
        """Wait until there is something that this browser does not have; False when there is nothing."""
        if self.closed or (self._version and (cursor.follower, cursor.version) != (self._number, self._version)):
            return True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), patience)
        return cursor.version != self._version or self.closed

    async def first(self, patience: float) -> Drawn:
        """The page, as soon as it is drawn for the first time."""
        if not self._version:
            await self.news(self.cursor, patience)
        return self.drawn

    def change(self, cursor: Cursor) -> dict[str, Any]:
        """What this browser does not have."""
        known = cursor.follower == self._number
        again = not known or cursor.run != self.drawn.run
        version = cursor.version if known else 0
        return {
            "title": self.drawn.title,
            "panels": {name: html for name, html in self.drawn.panels.items() if self._changed[name] > version},
            "lines": [msgspec.structs.asdict(line) for line in self.drawn.lines if again or line.seq > cursor.seq],
            "again": again,
            "offers": self.drawn.offers,
            "says": self.drawn.says,
            "now": round(time.time(), 1),
        }


def _with_problem(before: Drawn, problem: Exception) -> Drawn:
    """The page as it was, with a word about what went wrong."""
    text = f"The dashboard cannot read this at the moment: {type(problem).__name__}: {problem}"
    return replace(before, panels={**before.panels, "problem": panel("run_panels", "problem", text=text)}, whole=True)


class PageFollowers:
    """All followers by the address of their page."""

    def __init__(self) -> None:
        self._known: dict[str, PageFollower] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = False

    def of(self, address: str, drawing: Callable[[], Drawing]) -> PageFollower:
        """The follower of this page; a new one where there is none."""
        self._known = {known: follower for known, follower in self._known.items() if not follower.closed}
        if address not in self._known:
            made = self._known[address] = PageFollower(drawing())
            task = asyncio.get_running_loop().create_task(made.follow())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._known[address]

    def nudge(self, name: str) -> None:
        """Something was asked of this workspace."""
        for address, follower in self._known.items():
            if address == "/" or address.split("/")[2] == name:
                follower.nudge()

    @property
    def is_full(self) -> bool:
        """No further page can be followed."""
        return sum(follower.watchers for follower in self._known.values()) >= _MOST

    def close(self) -> None:
        """The dashboard ends."""
        self.closed = True
        for follower in self._known.values():
            follower.close()


def message(event: str, document: dict[str, Any], identity: str = "") -> str:
    """One event of a stream. JSON has no line breaks, so none can end it early."""
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {event}\ndata: {json.dumps(document)}\n\n"
