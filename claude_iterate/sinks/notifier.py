"""Posts notifications of a run from a thread of their own. The run only puts notices into a queue.

Whatever the receiver does, it costs the run no time and one warning at most; closing takes a few seconds at most. A
notice takes one of four forms on its way: ntfy, json, Slack or Discord. httpx is imported with the first one, so that a
run without notifications does not pay for it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from claude_iterate import __version__
from claude_iterate.core.events import Entry
from claude_iterate.core.formats import one_line
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.core.settings.declared import NotifySettings, Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notices import Notice, notices

if TYPE_CHECKING:
    import httpx

CAPACITY = 256
"""Notices that wait for a slow receiver. When there are more, the oldest is left out: later ones say more."""
IN_ORDER = 2.0
"""Seconds at the end of a run for what is left, in order."""
LAST = 1.5
"""Seconds after that for the last notice alone, past all others."""


class Notifier:
    """The sink. `warn` gets one text at most, possibly from another thread."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], warn: Callable[[str], None], project: str = ""
    ) -> None:
        self._settings = settings
        self._project = project
        self._redactor = redactor_for(environ, settings)
        self._warn: Callable[[str], None] | None = warn
        self._waiting: queue.SimpleQueue[Notice | None] = queue.SimpleQueue()
        self._left_out = 0
        self._delivery = Delivery(settings.notify)
        self._failing = False
        self._worker: threading.Thread | None = None
        self._over = threading.Event()

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Queue the notices of an entry."""
        for notice in notices(entry, state, self._project, self._settings.notify.report_url or ""):
            self.post(notice)

    def tick(self, now: float) -> None:
        """Nothing: the thread is at work all the time."""

    def flush(self) -> None:
        """Nothing, as well."""

    def post(self, notice: Notice) -> None:
        """Send a notice if the settings want it. Returns at once."""
        if is_wanted(notice.event, self._settings):
            clean = self._clean
            words = {name: clean(said) for name in ("cause", "next") if (said := notice.facts.get(name))}
            if self._waiting.qsize() >= CAPACITY:
                with contextlib.suppress(queue.Empty):
                    self._waiting.get_nowait()
                    self._left_out += 1
            self._waiting.put(
                replace(notice, title=clean(notice.title), body=clean(notice.body), facts=notice.facts | words)
            )
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=True, name="notifications")
                self._worker.start()

    def close(self) -> None:
        """Send what is left, in order. If that takes too long, only the last notice, then give up."""
        if self._worker is None:
            return
        self._waiting.put(None)
        self._worker.join(IN_ORDER)
        left = []
        if self._worker.is_alive():
            with contextlib.suppress(queue.Empty):
                while (notice := self._waiting.get_nowait()) is not None:
                    left.append(notice)
            self._waiting.put(None)
            if left:  # the worker waits for the receiver, or for its next try
                self._send(left[-1], tries=1, patience=LAST)
            else:
                self._worker.join(LAST)
        self._over.set()
        self._left_out += max(0, len(left) - 1)
        if self._left_out:
            self._warn_once(f"{self._delivery.host} is slow: notifications left out: {self._left_out}.")

    def _clean(self, text: str) -> str:
        """Without secrets, and without what would control the receiver's terminal."""
        return sanitize_terminal(self._redactor.clean(text))

    def _work(self) -> None:
        try:
            _ = self._delivery.client
            while (notice := self._waiting.get()) is not None:
                # A receiver that failed the last time is asked once, until it is back.
                self._send(notice, 1 if self._failing else TRIES)
        except Exception as error:  # noqa: BLE001 -- the entry of a thread
            self._warn_once(f"Notifications to {self._delivery.host} fail: {type(error).__name__}: {error}.")

    def _send(self, notice: Notice, tries: int, patience: float | None = None) -> None:
        answer = self._delivery.send(notice, lambda seconds: not self._over.wait(seconds), tries, patience)
        self._failing = not answer.delivered
        if self._failing and patience is None:  # the last notice is handed over, and its answer not waited for
            said = f": {one_line(answer.text)[:200]}" if answer.text else ""
            self._warn_once(f"Notifications to {self._delivery.host} fail: {answer.problem}{said}.")

    def _warn_once(self, text: str) -> None:
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(self._clean(text))


def is_wanted(event: str, settings: Settings) -> bool:
    """True when the settings ask for this event and name a receiver."""
    if not settings.notify.url or (event == "verification" and not settings.verification.notify_on_verification):
        return False
    return "all" in settings.notify.events or event in settings.notify.events


TIMEOUT = 10.0
TRIES = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
SHOWN_BYTES = 500


class PostResult(msgspec.Struct, frozen=True):
    """How a try went. `retry_in` is None when another try is useless or might deliver twice."""

    delivered: bool
    status: int | None = None
    text: str = ""
    problem: str = ""
    retry_in: float | None = None


class Delivery:
    """Knows one receiver. Threads may share it: each request has a connection of its own."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings

    @cached_property
    def host(self) -> str:
        """The receiver's name: the rest of its address can be a secret."""
        return urlsplit(self._settings.url or "").hostname or ""

    @cached_property
    def client(self) -> httpx.Client:
        """Slow to make: it loads httpx and certificates."""
        import httpx

        return httpx.Client(timeout=TIMEOUT, limits=httpx.Limits(max_keepalive_connections=0))

    def send(
        self, notice: Notice, pause: Callable[[float], bool], tries: int = TRIES, patience: float | None = None
    ) -> PostResult:
        """Post the notice. `pause` waits before another try; when it says False, there is none. `patience`: seconds for
        a try, if they are fewer than usual."""
        for number in range(1, tries + 1):
            answer = self._try(notice, patience or TIMEOUT + 1)
            again = answer.retry_in if number < tries else None
            if again is None or not pause(max(again, FIRST_PAUSE * 2 ** (number - 1))):
                break
        return answer

    def _try(self, notice: Notice, patience: float) -> PostResult:
        """One try within the time-out. httpx bounds each read, but a slow receiver can make any number of them:
        then the thread is left behind, and ends with the connection or with the process."""
        found: queue.SimpleQueue[PostResult] = queue.SimpleQueue()
        threading.Thread(target=lambda: found.put(self._post(notice)), daemon=True, name="notification").start()
        try:
            return found.get(timeout=patience)
        except queue.Empty:
            return PostResult(False, problem=f"no answer within {TIMEOUT:g} seconds")

    def _post(self, notice: Notice) -> PostResult:
        """Post. A redirect is not followed: the place that it names must get neither text nor headers."""
        import httpx

        try:
            headers, body = request(notice, self._settings)
            with self.client.stream("POST", self._settings.url or "", content=body, headers=headers) as response:
                return _read_answer(response)
        except httpx.ConnectTimeout:
            return PostResult(False, problem=f"no connection within {TIMEOUT:g} seconds", retry_in=0.0)
        except httpx.TimeoutException:
            # It may have arrived; a second one would be one too many.
            return PostResult(False, problem=f"no answer within {TIMEOUT:g} seconds")
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError) as error:
            return PostResult(False, problem=_plain_words(error), retry_in=0.0)
        except Exception as error:  # noqa: BLE001 -- the entry of a thread, and a notification must not fail a run
            return PostResult(False, problem=f"{type(error).__name__}: {error}")


def _plain_words(error: Exception) -> str:
    """`Connection refused`, not `[Errno 111] Connection refused`."""
    text = str(error)
    return (text.partition("] ")[2] if text.startswith("[Errno") else text) or type(error).__name__


def _read_answer(response: httpx.Response) -> PostResult:
    """What it came to, with the first bytes of the answer. What goes wrong with those does not change the status."""
    import httpx

    found, deadline = b"", time.monotonic() + TIMEOUT / 2
    with contextlib.suppress(httpx.HTTPError):
        for part in response.iter_raw():
            found += part
            if len(found) >= SHOWN_BYTES or time.monotonic() > deadline:
                break
    status, text = response.status_code, found[:SHOWN_BYTES].decode(errors="replace")
    if response.is_success:
        return PostResult(True, status, text)
    again = _retry_after(response) if status == 429 or status >= 500 else None
    moved = " (set `notify.url` to the address that it redirects to)" if response.has_redirect_location else ""
    return PostResult(False, status, text, f"{status} {response.reason_phrase}{moved}", again)


def _retry_after(response: httpx.Response) -> float:
    """The seconds that the receiver asks for, at most LONGEST_PAUSE."""
    said = response.headers.get("Retry-After", "").strip()
    try:
        return min(float(said), LONGEST_PAUSE) if said[:1].isdigit() else 0.0
    except ValueError:
        return 0.0


SCHEMA = 1
"""The version of the json form. It grows when a receiver would have to change."""
NTFY_BYTES = 4096
"""ntfy turns what is longer into an attachment."""
SLACK_LENGTH = 40000
DISCORD_LENGTH = 2000


def request(notice: Notice, settings: NotifySettings) -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body in the form that the settings ask for, signed if there is a secret. The user's headers win."""
    headers, body = FORMS[settings.format](notice)
    headers = {"User-Agent": f"claude-iterate/{__version__}", "Accept-Encoding": "identity", **headers}
    if settings.secret:
        digest = hmac.new(settings.secret.encode(), body, hashlib.sha256).hexdigest()
        headers["X-Claude-Iterate-Signature"] = f"sha256={digest}"
    own = {name.lower() for name in settings.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in own} | dict(settings.headers)
    return {name.encode(): value.encode() for name, value in headers.items()}, body


def _ntfy(notice: Notice) -> tuple[dict[str, str], bytes]:
    headers = {"Title": notice.title, "Priority": notice.priority, "Tags": ",".join(notice.tags)}
    if notice.facts.get("report"):
        headers["Click"] = notice.facts["report"]  # what a tap on it opens
    headers = {"Content-Type": "text/plain; charset=utf-8"} | {name: _header(text) for name, text in headers.items()}
    return headers, notice.body.encode()[:NTFY_BYTES].decode(errors="ignore").encode()


def _json(notice: Notice) -> tuple[dict[str, str], bytes]:
    known = {"event": notice.event, "title": notice.title, "message": notice.body, "priority": notice.priority}
    return _as_json({"version": SCHEMA, **known, **notice.facts})


def _slack(notice: Notice) -> tuple[dict[str, str], bytes]:
    # Slack reads <...> as links and mentions; an agent's words must not call a whole channel.
    plain = f"*{notice.title}*\n{notice.body}"[:SLACK_LENGTH]
    return _as_json({"text": plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")})


def _discord(notice: Notice) -> tuple[dict[str, str], bytes]:
    text = f"**{notice.title}**\n{notice.body}"
    if len(text) > DISCORD_LENGTH:
        text = text[: DISCORD_LENGTH - 4] + " ..."
    # Without this, `@everyone` in an agent's words would call everyone.
    return _as_json({"content": text, "allowed_mentions": {"parse": []}})


def _as_json(document: dict[str, object]) -> tuple[dict[str, str], bytes]:
    return {"Content-Type": "application/json"}, json.dumps(document, ensure_ascii=False).encode(errors="replace")


def _header(text: str) -> str:
    """A header's value: one line, and beyond ASCII in the encoding of RFC 2047."""
    line = " ".join(text.split())
    if line.isascii():
        return line
    return f"=?UTF-8?B?{base64.b64encode(line.encode(errors='replace')).decode()}?="


FORMS: dict[str, Callable[[Notice], tuple[dict[str, str], bytes]]] = {
    "ntfy": _ntfy,
    "json": _json,
    "slack": _slack,
    "discord": _discord,
}
