"""A receiver of notifications that keeps what arrives, and answers as a test tells it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

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


class Receiver:
    """A real HTTP server. It answers 200, or the entries of `answers` one after the other, and while `open` is not set
    nothing."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self._changed = threading.Condition()
        self.text = b"thank you"
        self.open = threading.Event()
        self.open.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/topic"

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

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
        """The status and the headers of the answer to this request."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._changed:
            self.received.append(Received(request.path, headers, body, time.monotonic()))
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else (200, {})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status, headers = receiver.take(self, body)
                receiver.open.wait(600)
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
