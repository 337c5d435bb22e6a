"""Carries one notice to its receiver: time-outs, further tries, redirects. Says how it went, never raises.

httpx is imported when the first notice is carried, so that a run without notifications does not pay for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from claude_iterate.core.notices import Notice
from claude_iterate.core.settings import NotifySettings
from claude_iterate.sinks.notice_forms import Letter, letter

if TYPE_CHECKING:
    import httpx

TIMEOUT = 10.0
TRIES = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
MOST_REDIRECTS = 3
SHOWN_BYTES = 500


class Answer(NamedTuple):
    """How a try went. `retry_in` is None when another try would be in vain or might deliver twice."""

    delivered: bool
    status: int | None = None
    text: str = ""
    problem: str = ""
    retry_in: float | None = None


class Flight:
    """A notice under way, for those who wait for it: `handed_over` is set when the receiver has all of it."""

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        self.handed_over = threading.Event()
        self.asked_at: float | None = None

    def unanswered_for(self) -> float:
        """Seconds since the present try began; 0 between tries."""
        asked_at = self.asked_at
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def trace(self, name: str, _info: object) -> None:
        """Told by httpx what it does."""
        if name.endswith("send_request_body.complete"):
            self.handed_over.set()


class Courier:
    """Knows one receiver. May be used by several threads: each try takes a connection of its own if need be."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._making = threading.Lock()
        self._client: httpx.Client | None = None
        self.host = urlsplit(settings.url or "").hostname or ""

    def send(self, flight: Flight, pause: Callable[[float], bool], tries: int = TRIES) -> Answer:
        """Post the notice. `pause` waits before another try; when it says False, there is none."""
        try:
            client = self._open()
            posted = letter(flight.notice, self._settings)
            for number in range(tries):
                flight.handed_over.clear()
                flight.asked_at = time.monotonic()
                answer = self._follow(client, posted, flight)
                flight.asked_at = None
                if answer.retry_in is None or number + 1 == tries:
                    break
                if not pause(max(answer.retry_in, FIRST_PAUSE * 2**number)):
                    break
            return answer
        except Exception as error:  # noqa: BLE001 - whatever it is, a notification is no reason to end a run
            return Answer(False, problem=f"{type(error).__name__}: {error}")
        finally:
            flight.asked_at = None

    def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            self._client.close()

    def _open(self) -> httpx.Client:
        import httpx

        with self._making:
            if self._client is None:
                self._client = httpx.Client(timeout=TIMEOUT)
            return self._client

    def _follow(self, client: httpx.Client, posted: Letter, flight: Flight) -> Answer:
        """Post, and post again where the same host says so. Another host gets nothing: it has no right to it."""
        import httpx

        home = url = httpx.URL(self._settings.url or "")
        auth = (home.username, home.password) if home.userinfo else None
        for _ in range(MOST_REDIRECTS + 1):
            answer, elsewhere = _post(client, url, posted, auth, flight)
            if elsewhere is None:
                return answer
            url = url.join(elsewhere)
            if not _same_host(home, url):
                return answer._replace(problem=f"it redirects to another host ({url.host}), which is not followed")
        return answer._replace(problem="it redirects in circles")


def _post(client: httpx.Client, url: httpx.URL, posted: Letter, auth: Any, flight: Flight) -> tuple[Answer, str | None]:
    """One request: how it went, and where it says to go instead."""
    import httpx

    extensions = {"trace": flight.trace}
    try:
        with client.stream(
            "POST", url, content=posted.body, headers=posted.headers, auth=auth, extensions=extensions
        ) as response:
            elsewhere = response.headers.get("Location") if response.status_code in {301, 302, 307, 308} else None
            return _judged(response, _beginning(response)), elsewhere
    except httpx.ConnectTimeout:
        return Answer(False, problem=f"no connection within {TIMEOUT:g} seconds", retry_in=0.0), None
    except httpx.TimeoutException:
        # It may well have arrived; a second one would be one too many.
        return Answer(False, problem=f"no answer within {TIMEOUT:g} seconds"), None
    except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError) as error:
        return Answer(False, problem=str(error) or type(error).__name__, retry_in=0.0), None


def _judged(response: httpx.Response, text: str) -> Answer:
    status = response.status_code
    if response.is_success:
        return Answer(True, status, text)
    problem = f"{status} {response.reason_phrase}".strip() + (f": {' '.join(text.split())[:200]}" if text else "")
    again = status == 429 or status >= 500
    return Answer(False, status, text, problem, _retry_after(response) if again else None)


def _beginning(response: httpx.Response) -> str:
    """The first bytes of the answer. The status was said before; what goes wrong here does not unsay it."""
    import httpx

    found, deadline = b"", time.monotonic() + TIMEOUT
    try:
        for part in response.iter_raw():
            found += part
            if len(found) >= SHOWN_BYTES or time.monotonic() > deadline:
                break
    except httpx.HTTPError:
        pass
    return found[:SHOWN_BYTES].decode(errors="replace")


def _retry_after(response: httpx.Response) -> float:
    """What the receiver asks for: seconds, or a date. Not longer than we are willing to wait."""
    from email.utils import parsedate_to_datetime

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
