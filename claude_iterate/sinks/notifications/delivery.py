"""Posts one notice to its receiver: a time-out, three tries, redirects on the same host only. Never raises.

httpx is imported with the first notice, so that a run without notifications does not pay for it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from claude_iterate.core.settings.declared import NotifySettings
from claude_iterate.sinks.notifications.notice_forms import request
from claude_iterate.sinks.notifications.notices import Notice

if TYPE_CHECKING:
    import httpx

TIMEOUT = 10.0
TRIES = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
MOST_REDIRECTS = 3
SHOWN_BYTES = 500


class Answer(msgspec.Struct, frozen=True):
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

    def send(self, notice: Notice, pause: Callable[[float], bool], tries: int = TRIES) -> Answer:
        """Post the notice. `pause` waits before another try; when it says False, there is none."""
        for number in range(1, tries + 1):
            answer = self._try(notice)
            again = answer.retry_in if number < tries else None
            if again is None or not pause(max(again, FIRST_PAUSE * 2 ** (number - 1))):
                break
        return answer

    def _try(self, notice: Notice) -> Answer:
        """One try within the time-out. httpx bounds each read, but a slow receiver can make any number of them:
        then the thread is left behind, and ends with the connection or with the process."""
        found: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        threading.Thread(target=lambda: found.put(self._posted(notice)), daemon=True, name="notification").start()
        try:
            return found.get(timeout=TIMEOUT + 1)
        except queue.Empty:
            return Answer(False, problem=f"no answer within {TIMEOUT:g} seconds")

    def _posted(self, notice: Notice) -> Answer:
        """Post, and post again where the same host redirects to. Another host gets neither text nor headers."""
        import httpx

        try:
            headers, body = request(notice, self._settings)
            home = url = httpx.URL(self._settings.url or "")
            for _ in range(MOST_REDIRECTS + 1):
                with self.client.stream("POST", url, content=body, headers=headers) as response:
                    answer = _judged(response)
                    if response.status_code not in {301, 302, 307, 308} or "Location" not in response.headers:
                        return answer
                    url = url.join(response.headers["Location"])
                if not _same_host(home, url):
                    return replace(answer, problem=f"it redirects to another host ({url.host}), which is not followed")
                url = url.copy_with(username=home.username, password=home.password)
            return replace(answer, problem="it redirects in circles")
        except httpx.ConnectTimeout:
            return Answer(False, problem=f"no connection within {TIMEOUT:g} seconds", retry_in=0.0)
        except httpx.TimeoutException:
            # It may have arrived; a second one would be one too many.
            return Answer(False, problem=f"no answer within {TIMEOUT:g} seconds")
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError) as error:
            return Answer(False, problem=_plain(error), retry_in=0.0)
        except Exception as error:  # noqa: BLE001 -- the entry of a thread, and a notification must not fail a run
            return Answer(False, problem=f"{type(error).__name__}: {error}")


def _plain(error: Exception) -> str:
    """`Connection refused`, not `[Errno 111] Connection refused`."""
    text = str(error)
    return (text.partition("] ")[2] if text.startswith("[Errno") else text) or type(error).__name__


def _judged(response: httpx.Response) -> Answer:
    text = _beginning(response)
    status = response.status_code
    if response.is_success:
        return Answer(True, status, text)
    again = _retry_after(response) if status == 429 or status >= 500 else None
    return Answer(False, status, text, f"{status} {response.reason_phrase}".strip(), again)


def _beginning(response: httpx.Response) -> str:
    """The first bytes of the answer. The status is known already: what goes wrong here does not change it."""
    import httpx

    found, deadline = b"", time.monotonic() + TIMEOUT / 2
    with contextlib.suppress(httpx.HTTPError):
        for part in response.iter_raw():
            found += part
            if len(found) >= SHOWN_BYTES or time.monotonic() > deadline:
                break
    return found[:SHOWN_BYTES].decode(errors="replace")


def _retry_after(response: httpx.Response) -> float:
    """What the receiver asks for: seconds, or a date; at most LONGEST_PAUSE."""
    said = response.headers.get("Retry-After", "").strip()
    try:
        wish = float(said) if said[:1].isdigit() else parsedate_to_datetime(said).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(wish, 0.0), LONGEST_PAUSE)


def _same_host(home: httpx.URL, url: httpx.URL) -> bool:
    """The same origin, or the same host asking for encryption. Never back to plain text."""
    usual = {"http": 80, "https": 443}
    before, after = home.port or usual[home.scheme], url.port or usual.get(url.scheme)
    if home.host != url.host:
        return False
    return (home.scheme, before) == (url.scheme, after) or (home.scheme, url.scheme) == ("http", "https")
