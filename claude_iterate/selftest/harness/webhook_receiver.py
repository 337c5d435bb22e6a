"""A receiver of notifications on this computer that answers badly: late, with an error, or not at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from claude_iterate.selftest.harness.fault_project import Scene

_NEVER = 30.0


def answering(status: int) -> Callable[[Scene], None]:
    """Whoever posts gets this answer at once."""
    return lambda scene: _serve(scene, status, threading.Event(), 0.0)


def silent(scene: Scene) -> None:
    """Whoever posts waits for an answer until the scene is over."""
    over = threading.Event()
    _serve(scene, 200, over, _NEVER)
    scene.closing.callback(over.set)


def dead(scene: Scene) -> None:
    """There is nobody at that address."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        _tell(scene, place.getsockname()[1])


def _serve(scene: Scene, status: int, over: threading.Event, patience: float) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            over.wait(patience)
            try:
                self.send_response(status)
                self.end_headers()
            except OSError:
                self.close_connection = True  # nobody waited for the answer

        def log_message(self, *_words: Any) -> None:
            """Not on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    scene.closing.callback(server.server_close)
    scene.closing.callback(server.shutdown)
    _tell(scene, server.server_address[1])


def _tell(scene: Scene, port: object) -> None:
    scene.environ["CLAUDE_ITERATE_NOTIFY__URL"] = f"http://127.0.0.1:{port}/"
