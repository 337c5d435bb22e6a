"""Opens the browser without the token on its command line, where every user of the computer could read it: the browser
gets a private file that leads on to the address."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

_PAGE = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>claude-iterate</title>
<p><a href="{address}">Open the dashboard</a>
"""


class BrowserStart:
    """The file, as long as it is needed."""

    def __init__(self, address: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="claude-iterate-dashboard-"))  # for us alone
        self.file = self._folder / "open.html"
        handle = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_PAGE.format(address=escape(address)))

    def open(self, failed: Callable[[], None]) -> None:
        """In the background: some browsers come back only when they are closed."""

        def opened() -> None:
            found = False
            with contextlib.suppress(OSError, webbrowser.Error):
                found = webbrowser.open(self.file.as_uri())
            if not found:
                failed()

        threading.Thread(target=opened, daemon=True).start()

    def remove(self) -> None:
        """The browser has come, or nothing is left to come to."""
        shutil.rmtree(self._folder, ignore_errors=True)
