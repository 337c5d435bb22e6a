"""Posts notifications of a run. The run only drops notices into a box; one thread carries them.

Whatever the receiver does, it costs the run no time and one warning at most; closing takes seconds, not minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import get_args

from msgspec.structs import replace

from claude_iterate.core.events import Entry, IterationFinished, IterationStarted, RunFinished, StreamEvent
from claude_iterate.core.secrets.redact import redactor_for
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import reduce
from claude_iterate.sinks.notifications.delivery import TRIES, Answer, Courier, Flight
from claude_iterate.sinks.notifications.notices import FINAL, Notice, notices
from claude_iterate.sinks.notifications.outbox import Outbox

STREAM: frozenset[type] = frozenset(get_args(StreamEvent))
CLOSE_WITHIN = 5.0
SLOW = 0.5
"""A receiver that leaves a request unanswered for so long, when the run is over, is not waited for."""
LINGER = 0.25
"""How long the answer to the last word is waited for, once the receiver has all of it."""
HOLD = 0.5
"""An iteration is told when this much later the run is not over: the one that completes it goes without saying."""
GLANCE = 0.02


class Notifier:
    """The sink. `warn` gets one text at most, possibly from another thread."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
        self._settings = settings
        self._redactor = redactor_for(environ, settings)
        self._warn = warn
        self._warning = threading.Lock()
        self._warned = False
        self._state = RunState()
        self._held: list[Notice] = []
        self._held_since = 0.0
        self._outbox = Outbox()
        self._courier = Courier(settings.notify)
        self._failing = False
        self._worker: threading.Thread | None = None
        self._flight: Flight | None = None
        self._over = threading.Event()

    def __call__(self, entry: Entry) -> None:
        """Put what is worth telling into the box."""
        kind = type(entry.event)
        if kind in STREAM:
            return
        self._state = reduce(self._state, entry)
        if isinstance(entry.event, RunFinished) and entry.event.reason == "completed":
            self._held = []
        elif kind in {IterationStarted, RunFinished}:
            self._release()
        if kind is IterationStarted:
            self._prepare()
        found = notices(entry, self._state)
        if kind is IterationFinished:
            self._held, self._held_since = found, entry.elapsed
        else:
            for notice in found:
                self.post(notice)

    def tick(self, now: float) -> None:
        """An iteration that did not end the run is told. One that claims completion waits for the proof."""
        claims = self._state.last_status is not None and self._state.last_status.complete
        if self._held and not claims and now - self._held_since >= HOLD:
            self._release()

    def flush(self) -> None:
        """Nothing: the thread is at work all the time."""

    def post(self, notice: Notice) -> None:
        """Send a notice if the settings want it. Returns at once."""
        if not is_wanted(notice.event, self._settings):
            return
        clean = self._redactor.clean
        self._outbox.put(replace(notice, title=clean(notice.title), body=clean(notice.body)))
        self._prepare()

    def close(self) -> None:
        """Send what is left, in order. If that takes too long, only the last word, past all others."""
        self._release()
        if self._worker is None:
            return
        self._outbox.close()
        deadline = time.monotonic() + CLOSE_WITHIN
        if not self._drained(self._worker, deadline):
            self._send_last_word(deadline)
        self._over.set()
        if self._outbox.lost:
            self._warn_once(f"{self._courier.host} is slow: notifications left out: {self._outbox.lost}.")
        if not self._worker.is_alive():
            self._courier.close()

    def _release(self) -> None:
        held, self._held = self._held, []
        for notice in held:
            self.post(notice)

    def _prepare(self) -> None:
        """Begin to load what sends, while Claude works: at the end of the run somebody would wait for it."""
        if self._worker is None and self._settings.notify.events:
            self._worker = threading.Thread(target=self._work, daemon=True, name="notifications")
            self._worker.start()

    def _work(self) -> None:
        self._courier.prepare()
        while (notice := self._outbox.take()) is not None:
            self._flight = Flight(notice)
            # A receiver that was not there for the last one is not asked as often, until it is back.
            tries = TRIES if not self._failing else 2 if notice.event in FINAL else 1
            self._note(self._courier.send(self._flight, self._pause, tries))
            self._flight = None
        if self._over.is_set():
            self._courier.close()

    def _drained(self, worker: threading.Thread, deadline: float) -> bool:
        """Wait while there is need; False when the last word must not wait any longer for those before it."""
        halfway = deadline - CLOSE_WITHIN / 2
        while time.monotonic() < deadline:
            worker.join(GLANCE)
            if not worker.is_alive():
                return True
            flight = self._flight
            if flight is not None and flight.notice.event in FINAL:
                if flight.handed_over_for() > LINGER:
                    return True
                continue
            if time.monotonic() > halfway or (flight is not None and flight.unanswered_for() > SLOW):
                return False
        return False

    def _send_last_word(self, deadline: float) -> None:
        """Over a second connection, because the first one is busy with a notice that nobody answers."""
        final = self._outbox.last_word()
        if final is None:
            return
        flight, answered = Flight(final), threading.Event()

        def carry() -> None:
            self._note(self._courier.send(flight, self._pause))
            answered.set()

        threading.Thread(target=carry, daemon=True, name="last-notification").start()
        while not answered.wait(GLANCE) and time.monotonic() < deadline:
            if flight.handed_over_for() > LINGER:
                return

    def _pause(self, seconds: float) -> bool:
        return not self._over.wait(seconds)

    def _note(self, answer: Answer) -> None:
        self._failing = not answer.delivered
        if self._failing:
            self._warn_once(f"Notifications to {self._courier.host} fail: {answer.problem}.")

    def _warn_once(self, text: str) -> None:
        with self._warning:
            if not self._warned:
                self._warned = True
                self._warn(self._redactor.clean(text))


def is_wanted(event: str, settings: Settings) -> bool:
    """True when the settings ask for this event, and there is somebody to tell."""
    if not settings.notify.url or (event == "verification" and not settings.verification.notify_on_verification):
        return False
    return "all" in settings.notify.events or event in settings.notify.events
