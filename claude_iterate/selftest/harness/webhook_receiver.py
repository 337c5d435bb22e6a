"""A real receiver of notifications: an HTTP server on this computer that keeps what arrives."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from claude_iterate.selftest.harness.fault import FaultProject
from claude_iterate.selftest.harness.scripted_project import TooSlow

PATIENCE = 30.0


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


class Receiver:
    """Answers 200, or the entries of `answers` one after the other. It does not answer while `open` is not set."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.usual = 200
        self.text = b"thank you"
        self.open = threading.Event()
        self.open.set()
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/topic"

    def wait(self, holds: Callable[[list[Received]], Any], patience: float = PATIENCE) -> list[Received]:
        """What has arrived, once `holds` is true of it."""
        with self._changed:
            if not self._changed.wait_for(lambda: holds(self.received), patience):
                raise TooSlow(f"the expected notifications did not come within {patience:.0f} s: {self.received}")
            return list(self.received)

    def named(self, event: str) -> list[Received]:
        """The notifications of one event, in the json form."""
        return [item for item in self.received if item.event == event]

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _take(self, item: Received) -> tuple[int, dict[str, str]]:
        with self._changed:
            self.received.append(item)
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else (self.usual, {})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                item = Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body, time.monotonic())
                status, headers = receiver._take(item)
                receiver.open.wait(60)
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(receiver.text)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(receiver.text)
                except OSError:
                    self.close_connection = True  # the client is gone

            def log_message(self, *_words: Any) -> None:
                """Not on the console."""

        return Handler


def answering(status: int) -> Callable[[FaultProject], None]:
    """A receiver that gives this answer at once."""

    def prepare(project: FaultProject) -> None:
        _opened(project).usual = status

    return prepare


def silent(project: FaultProject) -> None:
    """A receiver that does not answer until the fault is over."""
    _opened(project).open.clear()


def dead(project: FaultProject) -> None:
    """An address where nothing listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        project.env["CLAUDE_ITERATE_NOTIFY__URL"] = f"http://127.0.0.1:{place.getsockname()[1]}/"


def _opened(project: FaultProject) -> Receiver:
    receiver = Receiver()
    project.closing.callback(receiver.close)
    project.env["CLAUDE_ITERATE_NOTIFY__URL"] = receiver.url
    return receiver
