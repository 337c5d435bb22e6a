"""A receiver of notifications that keeps what arrives, and answers as a test tells it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from claude_iterate.selftest.harness import webhook_receiver
from claude_iterate.selftest.harness.scripted_project import PATIENCE, TooSlow


class Received(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def event(self) -> str:
        """The name of the event, for notifications in the json form."""
        return str(self.document["event"])


class Receiver(webhook_receiver.Receiver):
    """Answers 200, or the entries of `answers` one after the other."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self._changed = threading.Condition()
        super().__init__()

    def wait(self, holds: Callable[[list[Received]], Any], patience: float = PATIENCE) -> list[Received]:
        """What has arrived, once `holds` is true of it."""
        with self._changed:
            if not self._changed.wait_for(lambda: holds(self.received), patience):
                raise TooSlow(f"the expected notifications did not come within {patience:.0f} s: {self.received}")
            return list(self.received)

    def named(self, event: str) -> list[Received]:
        """The notifications of one event, in the json form."""
        return [item for item in self.received if item.event == event]

    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str]]:
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._changed:
            self.received.append(Received(request.path, headers, body, time.monotonic()))
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else super().take(request, body)
