"""The dashboard as a process: it listens, answers until it is stopped, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import uvicorn

from claude_iterate.errors import ExpectedError
from claude_iterate.operations.dashboard.access_rules import LOOPBACK, AccessKeys
from claude_iterate.operations.dashboard.connection import Connection
from claude_iterate.operations.dashboard.web_pages import GuardedApplication, WebPages
from claude_iterate.workspace.project import Project

_ANOTHER = "Choose another: claude-iterate dashboard --port 0"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 means any that is free. What is in the way is an ExpectedError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise ExpectedError(f"Port {port} is in use, perhaps by another dashboard.", _ANOTHER) from None
        why = str(error) if isinstance(error, UnicodeError) else (error.strerror or "").partition(" (")[0]
        refused = f"The dashboard cannot listen on {host}:{port}: {why}."
        raise ExpectedError(refused, f"{_ANOTHER}; or leave out --host") from None
    made.setblocking(False)
    return made


def is_loopback(host: str) -> bool:
    """Only programs of this computer reach it there."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> frozenset[str]:
    """The names that an address of the dashboard may have."""
    own = {os.uname().nodename.lower(), f"{os.uname().nodename.lower()}.local"} if not is_loopback(host) else set()
    return LOOPBACK | {host.lower()} | own


def address(host: str, port: int) -> str:
    """As a browser takes it. A socket that listens everywhere is reached here by the loopback."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}/"


_PAGE = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>claude-iterate</title>
<p><a href="{address}">Open the dashboard</a>
"""


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
        self._socket = listen(host, port)
        self.port = int(self._socket.getsockname()[1])
        local = is_loopback(host)
        token, session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._keys = AccessKeys(token, session, f"claude-iterate-{self.port}", own_names(host), addresses=not local)
        self.address = f"{address(host, self.port)}?token={token}"
        self._pages = WebPages(project)
        self._opening: Path | None = None

    def open(self, failed: Callable[[], None]) -> None:
        """Open the browser with a file that leads here: its command line can be read by others, and has no token. This
        happens in the background, because some browsers come back only when they are closed."""
        self._opening = Path(tempfile.mkdtemp(prefix="claude-iterate-dashboard-"))  # for us alone
        file = self._opening / "open.html"
        file.touch(0o600)
        file.write_text(_PAGE.format(address=escape(self.address)), encoding="utf-8")

        def open_page() -> None:
            found = False
            with contextlib.suppress(OSError, webbrowser.Error):
                found = webbrowser.open(file.as_uri())
            if not found:
                failed()

        threading.Thread(target=open_page, daemon=True).start()

    def serve(self) -> None:
        """Until SIGINT, SIGTERM or the end of the terminal."""
        application = GuardedApplication(self._pages.application(), self._keys, self._forget)
        config = uvicorn.Config(
            application,
            lifespan="off",
            loop="asyncio",
            http=Connection,
            ws="none",
            log_config=None,
            log_level="critical",
            access_log=False,  # it would have the token
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
            proxy_headers=False,  # a client would say who it is
            limit_concurrency=200,
            backlog=64,  # at most so many come in at once
        )
        try:
            asyncio.run(_Server(config, self._pages).serve(sockets=[self._socket]))
        finally:
            self._socket.close()
            self._forget()

    def _forget(self) -> None:
        """The browser has come, or nothing is left to come to."""
        if self._opening is not None:
            shutil.rmtree(self._opening, ignore_errors=True)
