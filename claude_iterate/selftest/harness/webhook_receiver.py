"""A real receiver of notifications: an HTTP server on this computer."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from claude_iterate.selftest.harness.fault import FaultProject


class Receiver:
    """Answers every request with the status `usual`. It does not answer while `open` is not set."""

    def __init__(self) -> None:
        self.usual = 200
        self.text = b"thank you"
        self.open = threading.Event()
        self.open.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/topic"

    def take(self, _request: BaseHTTPRequestHandler, _body: bytes) -> tuple[int, dict[str, str]]:
        """The status and the headers of the answer to this request."""
        return self.usual, {}

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

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


def failing(project: FaultProject) -> None:
    """A receiver that answers with an error at once."""
    _open(project).usual = 500


def silent(project: FaultProject) -> None:
    """A receiver that does not answer until the fault is over."""
    _open(project).open.clear()


def dead(project: FaultProject) -> None:
    """An address where nothing listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        project.env["CLAUDE_ITERATE_NOTIFY__URL"] = f"http://127.0.0.1:{place.getsockname()[1]}/"
        project.env["CLAUDE_ITERATE_NOTIFY__EVENTS"] = "all"


def _open(project: FaultProject) -> Receiver:
    receiver = Receiver()
    project.closing.callback(receiver.close)
    project.env["CLAUDE_ITERATE_NOTIFY__URL"] = receiver.url
    project.env["CLAUDE_ITERATE_NOTIFY__EVENTS"] = "all"
    return receiver
