"""Posts notifications of a run from a thread of their own. The run only puts notices into a queue.

Whatever the receiver does, it costs the run no time and one warning at most; closing takes a few seconds at most.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from claude_iterate.core.events import Entry, IterationStarted
from claude_iterate.core.formats import one_line
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notifications.delivery import TRIES, Delivery
from claude_iterate.sinks.notifications.notices import Notice, notices

CAPACITY = 256
"""Notices that wait. When there are more, the oldest is left out: later ones say more."""
IN_ORDER = 2.0
"""Seconds at the end of a run for what is left, in order."""
LAST = 1.5
"""Seconds after that for the last notice alone, past all others."""


class Notifier:
    """The sink. `warn` gets one text at most, possibly from another thread."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], warn: Callable[[str], None], project: str = ""
    ) -> None:
        self._settings = settings
        self._project = project
        self._redactor = redactor_for(environ, settings)
        self._warn: Callable[[str], None] | None = warn
        self._waiting: queue.Queue[Notice | None] = queue.Queue(CAPACITY)
        self._left_out = 0
        self._delivery = Delivery(settings.notify)
        self._failing = False
        self._worker: threading.Thread | None = None
        self._over = threading.Event()

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Queue the notices of an entry."""
        if isinstance(entry.event, IterationStarted):
            self._start()  # loading httpx takes a while, and Claude works now
        for notice in notices(entry, state, self._project, self._settings.notify.report_url or ""):
            self.post(notice)

    def tick(self, now: float) -> None:
        """Nothing: the thread is at work all the time."""

    def flush(self) -> None:
        """Nothing: the thread is at work all the time."""

    def post(self, notice: Notice) -> None:
        """Send a notice if the settings want it. Returns at once."""
        if is_wanted(notice.event, self._settings):
            clean = self._clean
            words = {name: clean(said) for name in ("cause", "next") if (said := notice.facts.get(name))}
            self._put(replace(notice, title=clean(notice.title), body=clean(notice.body), facts=notice.facts | words))
            self._start()

    def close(self) -> None:
        """Send what is left, in order. If that takes too long, only the last notice, then give up."""
        if self._worker is None:
            return
        self._put(None)
        self._worker.join(IN_ORDER)
        if self._worker.is_alive():
            left = self._take_all()
            self._put(None)
            self._left_out += max(0, len(left) - 1)
            if left:  # the worker waits for the receiver, or for its next try
                self._send(left[-1], tries=1, patience=LAST)
            else:
                self._worker.join(LAST)
        self._over.set()
        if self._left_out:
            self._warn_once(f"{self._delivery.host} is slow: notifications left out: {self._left_out}.")

    def _clean(self, text: str) -> str:
        """Without secrets, and without what would control the receiver's terminal."""
        return sanitize_terminal(self._redactor.clean(text))

    def _put(self, notice: Notice | None) -> None:
        while True:
            try:
                return self._waiting.put_nowait(notice)
            except queue.Full:
                self._left_out += self._take() is not None

    def _take(self) -> Notice | None:
        """The oldest notice that waits; None when there is none."""
        try:
            return self._waiting.get_nowait()
        except queue.Empty:
            return None

    def _take_all(self) -> list[Notice]:
        return list(iter(self._take, None))

    def _start(self) -> None:
        if self._worker is None and self._settings.notify.events:
            self._worker = threading.Thread(target=self._work, daemon=True, name="notifications")
            self._worker.start()

    def _work(self) -> None:
        try:
            _ = self._delivery.client
            while (notice := self._waiting.get()) is not None:
                # A receiver that failed the last time is asked once, until it is back.
                self._send(notice, 1 if self._failing else TRIES)
        except Exception as error:  # noqa: BLE001 -- the entry of a thread
            self._warn_once(f"Notifications to {self._delivery.host} fail: {type(error).__name__}: {error}.")

    def _send(self, notice: Notice, tries: int, patience: float | None = None) -> None:
        answer = self._delivery.send(notice, lambda seconds: not self._over.wait(seconds), tries, patience)
        self._failing = not answer.delivered
        if self._failing and patience is None:  # the last notice is handed over, and its answer not waited for
            said = f": {one_line(answer.text)[:200]}" if answer.text else ""
            self._warn_once(f"Notifications to {self._delivery.host} fail: {answer.problem}{said}.")

    def _warn_once(self, text: str) -> None:
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(self._clean(text))


def is_wanted(event: str, settings: Settings) -> bool:
    """True when the settings ask for this event and name a receiver."""
    if not settings.notify.url or (event == "verification" and not settings.verification.notify_on_verification):
        return False
    return "all" in settings.notify.events or event in settings.notify.events
