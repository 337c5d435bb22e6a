"""A dashboard that runs as a process of its own, and a client that says exactly what a test wants it to say."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.package_path import PACKAGES

PATIENCE = 120.0


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


class ServedDashboard:
    """`claude-iterate dashboard` in a project. Standard error goes to a file, because no one may read it."""

    def __init__(
        self,
        project: Path,
        home: Path,
        *arguments: str,
        port: int = 0,
        program: tuple[str, ...] = ("-m", "claude_iterate"),
        **environ: str,
    ) -> None:
        self.errors = home / f"dashboard-{os.urandom(3).hex()}.err"
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}
        environment |= {"PYTHONPATH": str(PACKAGES), "PYTHONSAFEPATH": "1", **environ}
        words = ["dashboard", "--port", str(port), *arguments]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *program, *words],
                cwd=project,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, self.errors.read_text()
        parts = urlsplit(self.address)
        self.port, self.token = int(parts.port or 0), parts.query.removeprefix("token=")
        self.base = f"http://127.0.0.1:{self.port}"
        self.cookie = ""

    def enter(self) -> Answered:
        """With the token; from then on every request has the cookie."""
        answer = self.get(f"/?token={self.token}")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def send(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answered:
        """One request; a header that is None is left out, `sec_fetch_site` means Sec-Fetch-Site."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        said = {"host": f"127.0.0.1:{self.port}", "cookie": self.cookie or None, **headers}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in said.items():
                if value is not None:
                    connection.putheader(name.replace("_", "-"), value)
            data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
            if data:
                connection.putheader("content-length", str(len(data)))
            connection.endheaders(data or None)
            found = connection.getresponse()
            read = b"" if found.getheader("content-type", "").startswith("text/event-stream") else found.read()
            headers_found = {name.lower(): value for name, value in found.getheaders()}
            return Answered(found.status, headers_found, read.decode("utf-8", "replace"))
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answered:
        return self.send("GET", path, **headers)

    def page(self, path: str) -> Answered:
        """A page, when all that it shows was read: on a busy machine it comes before."""
        while "Reading the " in (answer := self.get(path)).text:  # the time-out of the test ends it
            time.sleep(0.05)
        return answer

    def post(self, path: str, body: Any, **headers: str | None) -> Answered:
        """As our own page sends it, unless a header says otherwise."""
        usual: dict[str, str | None] = {"origin": self.base, "content_type": "application/json"}
        return self.send("POST", path, body, **usual | headers)

    def stream(self, path: str) -> Stream:
        return Stream(self, path)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        with self.process:
            self.process.kill()


class Stream:
    """The events of a page, as a browser gets them."""

    def __init__(self, served: ServedDashboard, path: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        self._connection.request("GET", path, headers={"cookie": served.cookie})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def next(self, *kinds: str) -> tuple[str, dict[str, Any]]:
        """The next event of these kinds, and its document. At the end of the stream: `end`."""
        kind, data = "", ""
        while line := self._answer.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            kind = value if name == "event" else kind
            data = value if name == "data" else data
            if not name and kind:
                if not kinds or kind in kinds:
                    return kind, json.loads(data)
                kind = ""
        return "end", {}

    def close(self) -> None:
        self._answer.close()
        self._connection.close()
