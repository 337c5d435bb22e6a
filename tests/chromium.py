"""A real Chromium without a window, driven through its debugging pipe: no package and no download is needed for it.

`Browser.found()` says whether there is one. A `Page` has cookies of its own, so tests do not disturb each other.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 120.0
MISSING = "there is no Chromium: install it (on Debian and Ubuntu: apt install chromium)"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *("--headless=new", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check"),
    *("--disable-features=Translate,MediaRouter,OptimizationHints", "--mute-audio", "--remote-debugging-pipe"),
    *("--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",),
)
_LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads orders from 3 and writes answers to 4."""


class Browser:
    """One process of Chromium for all tests of a worker. All that it writes is in one folder, which `close` removes."""

    def __init__(self, program: str) -> None:
        # Not below `tmp_path`: Chromium makes a socket there, and the path of a socket has 108 bytes at most.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="chromium-"))
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        flags = [*_FLAGS, f"--user-data-dir={folder}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_read), str(to_write), program, *flags, "about:blank"],
            pass_fds=(to_read, to_write),
            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._data = b""
        self.events: list[dict[str, Any]] = []

    @staticmethod
    def found() -> str | None:
        """The program; None where there is none."""
        return next(filter(None, map(shutil.which, _NAMES)), None)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its answer."""
        self._number += 1
        number = self._number  # a question of the page may be answered meanwhile
        order = {"id": number, "method": method, "params": parameters}
        order |= {"sessionId": session} if session else {}
        os.write(self._out, json.dumps(order).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self._message(deadline)
            if found.get("id") == number:
                assert "error" not in found, (method, found["error"])
                return found["result"]  # type: ignore[no-any-return]
            self._noticed(found)

    def _noticed(self, event: dict[str, Any]) -> None:
        """Questions of a page are answered with yes: it would wait without end."""
        if "method" not in event:
            return  # the answer to an answer
        self.events.append(event)
        if event["method"] == "Page.javascriptDialogOpening":
            self._number += 1
            order = {"id": self._number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self._out, json.dumps(order | {"sessionId": event["sessionId"]}).encode() + b"\0")

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._data:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            assert data, "Chromium does not answer"
            self._data += data
        line, _, self._data = self._data.partition(b"\0")
        return json.loads(line)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def page(self, width: int = 1200, height: int = 900) -> Iterator[Page]:
        """An empty page with cookies of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        try:
            target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            made = Page(self, session)
            made.size(width, height)
            yield made
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        """It is asked first, so that it ends its own processes. One that is slower than the pipe may still write."""
        deadline = time.monotonic() + PATIENCE
        with contextlib.suppress(AssertionError, OSError):  # it closes the pipe
            self.call("Browser.close")
            while self._message(deadline):
                pass
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        while self._folder.exists():
            assert time.monotonic() < deadline, f"Chromium does not leave {self._folder}"
            shutil.rmtree(self._folder, ignore_errors=True)


class Page:
    """One page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def size(self, width: int, height: int, touch: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)

    def colours(self, scheme: str) -> None:
        """light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address: str) -> None:
        """Go there, and wait until it is loaded."""
        self.value("window.left = true")
        self.call("Page.navigate", url=address)
        self.until("window.left === undefined && document.readyState === 'complete'")

    def value(self, script: str) -> Any:
        """The value of an expression on the page; of a promise, what it comes to."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer["exceptionDetails"])
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until an expression is true on the page. While another page loads there is nothing to ask."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found: Any = None
            with contextlib.suppress(AssertionError):
                found = self.value(script)
            if found:
                return found
            assert time.monotonic() < deadline, f"the page says: {self.text()[:2000]}; never true: {script}"
            time.sleep(0.02)

    def text(self, selector: str = "body") -> str:
        return str(self.value(f"document.querySelector({json.dumps(selector)})?.innerText"))

    def click(self, selector: str) -> None:
        """With the mouse, where the element is: what lies over it would get the click."""
        found = json.dumps(selector)
        self.value(f"document.querySelector({found}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        place = self.value(
            f"(() => {{ const r = document.querySelector({found}).getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def complaints(self) -> list[str]:
        """What the browser found wrong on this page: errors of scripts, and what the policy forbade."""
        self.value("1")
        found = [event for event in self._browser.events if event.get("sessionId") == self._session]
        thrown = [event["params"] for event in found if event["method"] == "Runtime.exceptionThrown"]
        logged = [event["params"]["entry"] for event in found if event["method"] == "Log.entryAdded"]
        return [json.dumps(one) for one in thrown] + [entry["text"] for entry in logged if entry["level"] == "error"]

    def picture(self, path: Path, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
