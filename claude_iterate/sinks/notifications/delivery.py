"""Carries one notice to its receiver: time-outs, further tries, redirects. Says how it went, never raises.

httpx is imported when the first notice is carried, so that a run without notifications does not pay for it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from claude_iterate.core.settings.declared import NotifySettings
from claude_iterate.sinks.notifications.notice_forms import Letter, letter
from claude_iterate.sinks.notifications.notices import Notice

if TYPE_CHECKING:
    import httpx

TIMEOUT = 10.0
DEADLINE = TIMEOUT + 0.2
"""For all of a try. A little more, because httpx knows better what it waited for."""
TRIES = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
MOST_REDIRECTS = 3
SHOWN_BYTES = 500
_NO_ANSWER = f"no answer within {TIMEOUT:g} seconds"


class Answer(NamedTuple):
    """How a try went. `retry_in` is None when another try would be in vain or might deliver twice."""

    delivered: bool
    status: int | None = None
    text: str = ""
    problem: str = ""
    retry_in: float | None = None


class Flight:
    """A notice under way, for those who wait for it. `answer` is what the receiver has said of the present try."""

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        self.answer: Answer | None = None
        self._asked_at: float | None = None
        self._handed_over_at: float | None = None
        self._sockets: list[socket.socket] = []

    def begin(self) -> None:
        """A try begins."""
        self.answer, self._sockets, self._handed_over_at = None, [], None
        self._asked_at = time.monotonic()

    def end(self) -> None:
        """The try is over."""
        self._asked_at = self._handed_over_at = None

    def cut(self) -> None:
        """Wake whoever still reads from the receiver: for him it has hung up."""
        for opened in self._sockets:
            with contextlib.suppress(OSError):
                # Not the method of an encrypted one: it takes the encryption away from under the reader.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def unanswered_for(self) -> float:
        """Seconds since the present try began; 0 between tries."""
        return _since(self._asked_at)

    def handed_over_for(self) -> float:
        """Seconds since the receiver has all of it; 0 before, and between tries."""
        return _since(self._handed_over_at)

    def trace(self, name: str, info: Any) -> None:
        """Told by httpx what it does."""
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
        elif name.endswith("send_request_headers.started"):  # of a redirect: the one before has it, and wants it not
            self._handed_over_at = None
        elif name.endswith("send_request_body.complete"):
            self._handed_over_at = time.monotonic()


class Courier:
    """Knows one receiver. May be used by several threads: each try takes a connection of its own if need be."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._making = threading.Lock()
        self._client: httpx.Client | None = None
        self.host = urlsplit(settings.url or "").hostname or ""

    def prepare(self) -> None:
        """Load what it takes to send, which is slow; what goes wrong is told by `send`."""
        with contextlib.suppress(Exception):
            self._open()

    def send(self, flight: Flight, pause: Callable[[float], bool], tries: int = TRIES) -> Answer:
        """Post the notice. `pause` waits before another try; when it says False, there is none."""
        try:
            client = self._open()
            posted = letter(flight.notice, self._settings)
            for number in range(tries):
                flight.begin()
                answer = self._bounded(client, posted, flight)
                flight.end()
                if answer.retry_in is None or number + 1 == tries:
                    break
                if not pause(max(answer.retry_in, FIRST_PAUSE * 2**number)):
                    break
            return answer
        except Exception as error:  # noqa: BLE001 - whatever it is, a notification is no reason to end a run
            return Answer(False, problem=f"{type(error).__name__}: {error}")
        finally:
            flight.end()

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

    def _bounded(self, client: httpx.Client, posted: Letter, flight: Flight) -> Answer:
        """One try, with an end: httpx bounds each wait, and a receiver that drips bytes makes any number of them."""
        found: list[Answer] = []

        def carry() -> None:
            try:
                found.append(self._follow(client, posted, flight))
            except Exception as error:  # noqa: BLE001 - as in `send`
                found.append(Answer(False, problem=f"{type(error).__name__}: {error}"))

        thread = threading.Thread(target=carry, daemon=True, name="notification")
        thread.start()
        thread.join(DEADLINE)
        if found:
            return found[0]
        answer = flight.answer or Answer(False, problem=_NO_ANSWER)
        flight.cut()
        return answer

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


def _since(moment: float | None) -> float:
    return 0.0 if moment is None else time.monotonic() - moment


def _post(client: httpx.Client, url: httpx.URL, posted: Letter, auth: Any, flight: Flight) -> tuple[Answer, str | None]:
    """One request: how it went, and where it says to go instead."""
    import httpx

    extensions = {"trace": flight.trace}
    try:
        with client.stream(
            "POST", url, content=posted.body, headers=posted.headers, auth=auth, extensions=extensions
        ) as response:
            elsewhere = response.headers.get("Location") if response.status_code in {301, 302, 307, 308} else None
            flight.answer = _judged(response, "")
            return _judged(response, _beginning(response)), elsewhere
    except httpx.ConnectTimeout:
        return Answer(False, problem=f"no connection within {TIMEOUT:g} seconds", retry_in=0.0), None
    except httpx.TimeoutException:
        # It may well have arrived; a second one would be one too many.
        return Answer(False, problem=_NO_ANSWER), None
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
