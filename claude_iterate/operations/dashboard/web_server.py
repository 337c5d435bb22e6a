"""The dashboard as a process: it listens, answers until it is told to end, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from claude_iterate.operations.dashboard.access_rules import Keys
from claude_iterate.operations.dashboard.browser_start import BrowserStart
from claude_iterate.operations.dashboard.guarded_application import GuardedApplication
from claude_iterate.operations.dashboard.listening import address, is_loopback, listening, own_names
from claude_iterate.operations.dashboard.web_pages import WebPages
from claude_iterate.workspace.project import Project

_PATIENCE = 3
"""Seconds for answers that are under way when the dashboard ends."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Server(uvicorn.Server):
    """Tells the open pages before it ends. Signals are ours: uvicorn would die of them a second time."""

    def __init__(self, config: uvicorn.Config, pages: WebPages) -> None:
        super().__init__(config)
        self._pages = pages

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in _ENDS:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in _ENDS:
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._pages.followers.close()
        await super().shutdown(sockets)


class Dashboard:
    """Listens from the moment it is made; `serve` answers until a signal comes."""

    def __init__(self, project: Project, host: str, port: int) -> None:
        self._socket = listening(host, port)
        self.port = int(self._socket.getsockname()[1])
        local = is_loopback(host)
        token, session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._keys = Keys(token, session, f"claude-iterate-{self.port}", own_names(host), addresses=not local)
        self.address = f"{address(host, self.port)}?token={token}"
        self._pages = WebPages(project)
        self._browser: BrowserStart | None = None

    def open(self, failed: Callable[[], None]) -> None:
        """Open the browser."""
        self._browser = BrowserStart(self.address)
        self._browser.open(failed)

    def serve(self) -> None:
        """Until SIGINT, SIGTERM or the end of the terminal."""
        application = GuardedApplication(self._pages.application(), self._keys, self._forget)
        config = uvicorn.Config(
            application,
            lifespan="off",
            loop="asyncio",
            http="h11",
            ws="none",
            log_config=None,
            log_level="critical",
            access_log=False,  # it would have the token
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
            limit_concurrency=400,
        )
        try:
            asyncio.run(_Server(config, self._pages).serve(sockets=[self._socket]))
        finally:
            self._socket.close()
            self._forget()

    def _forget(self) -> None:
        if self._browser is not None:
            self._browser.remove()
