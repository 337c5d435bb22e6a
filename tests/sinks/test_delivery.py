"""Delivery: tries again where that helps, gives up where not, and trusts no other host; the forms of a notice."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.core.settings.declared import NotifySettings
from claude_iterate.sinks.notices import Notice
from claude_iterate.sinks.notifier import Delivery, PostResult, request
from tests.recording_receiver import Receiver

NOTICE = Notice("completion", "Task Complete", "done")


class Trip:
    """A delivery whose pauses are noted instead of waited for."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def send(self, url: str, goes_on: bool = True, **settings: Any) -> PostResult:
        def pause(seconds: float) -> bool:
            self.pauses.append(seconds)
            return goes_on

        return Delivery(NotifySettings(url=url, **settings)).send(NOTICE, pause)


@pytest.fixture
def trip() -> Trip:
    return Trip()


def test_delivered(trip: Trip, receiver: Receiver) -> None:
    """One request; status and answer come back."""
    answer = trip.send(receiver.url)
    assert answer == PostResult(True, 200, "thank you")
    (got,) = receiver.received
    assert (got.path, got.text, got.headers["title"]) == ("/topic", "done", "Task Complete")


def asked(seconds: str) -> dict[str, str]:
    return {"Retry-After": seconds}


@pytest.mark.parametrize(
    ("answers", "delivered", "pauses"),
    [
        *(([(status, {})], True, [0.5]) for status in (429, 500, 503)),
        *(([(status, {})], False, []) for status in (400, 401, 403, 404, 410)),
        ([(500, {})] * 9, False, [0.5, 1.0]),
        ([(429, asked("2"))], True, [2.0]),
        ([(429, asked("7.5"))], True, [7.5]),
        ([(429, asked("900"))], True, [30.0]),
        ([(429, asked("soon"))], True, [0.5]),
        ([(429, asked("-3"))], True, [0.5]),
    ],
)
def test_what_is_tried_again(
    trip: Trip, receiver: Receiver, answers: list[tuple[int, dict[str, str]]], delivered: bool, pauses: list[float]
) -> None:
    """Trouble that passes, three times at most, with growing pauses or as long as the receiver asks, up to 30 seconds.
    A refusal is final."""
    receiver.answers = answers
    assert trip.send(receiver.url).delivered == delivered
    assert (len(receiver.received), trip.pauses) == (len(pauses) + 1, pauses)


def test_no_further_try_when_the_run_is_over(trip: Trip, receiver: Receiver) -> None:
    """The one who pauses decides."""
    receiver.answers = [(500, {})]
    assert not trip.send(receiver.url, goes_on=False).delivered
    assert len(receiver.received) == 1


def test_a_refused_connection(trip: Trip) -> None:
    """A refused connection is tried again; the problem is in the system's words."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        answer = trip.send(f"http://127.0.0.1:{place.getsockname()[1]}/")
    assert (answer.delivered, answer.status, trip.pauses) == (False, None, [0.5, 1.0])
    assert answer.problem == "Connection refused"


@pytest.mark.parametrize(
    ("beginning", "patience", "answer"),
    [
        (b"HTTP/1.1 200 OK\r\n", 0.5, PostResult(False, problem="no answer within 0.5 seconds")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", 4.0, PostResult(True, 200, "a:b\r\n")),
    ],
    ids=["header", "body"],
)
def test_a_receiver_that_drips(
    trip: Trip, monkeypatch: pytest.MonkeyPatch, beginning: bytes, patience: float, answer: PostResult
) -> None:
    """A try as a whole is given up, not only each of its reads; a status that was said counts."""
    monkeypatch.setattr("claude_iterate.sinks.notifier.TIMEOUT", patience)
    enough = threading.Event()

    def drip(place: socket.socket) -> None:
        connection, _ = place.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(beginning)
            while not enough.wait(0.1):
                connection.sendall(b"a:b\r\n")

    with socket.create_server(("127.0.0.1", 0)) as place:
        thread = threading.Thread(target=drip, args=(place,))
        thread.start()
        given = trip.send(f"http://127.0.0.1:{place.getsockname()[1]}/")
        enough.set()
        thread.join()
    assert replace(given, text=given.text[:5]) == answer
    assert trip.pauses == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(trip: Trip, receiver: Receiver, status: int) -> None:
    """Neither the message nor a header reaches another place, and the problem says what to do."""
    other = Receiver()
    try:
        receiver.answers = [(status, {"Location": other.url})]
        answer = trip.send(receiver.url, headers={"Authorization": "Bearer t"})
        assert (answer.delivered, answer.status, other.received) == (False, status, [])
        assert "set `notify.url` to the address that it redirects to" in answer.problem
    finally:
        other.close()


def test_a_connection_that_breaks_is_tried_again(trip: Trip) -> None:
    """A receiver that hangs up without a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)

        def hang_up() -> None:
            for _ in range(3):
                server.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        answer = trip.send(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    assert (answer.delivered, trip.pauses) == (False, [0.5, 1.0])


def test_what_httpx_cannot_send_is_a_problem_and_no_crash(trip: Trip, receiver: Receiver) -> None:
    """A header that breaks the protocol."""
    answer = trip.send(receiver.url, headers={"Transfer-Encoding": "nonsense"})
    assert not answer.delivered
    assert answer.problem


def test_a_flood_as_an_answer_is_cut(trip: Trip, receiver: Receiver) -> None:
    """Only the beginning is read."""
    receiver.text = b"x" * 5_000_000
    assert trip.send(receiver.url).text == "x" * 500


WHOLE = Notice("completion", "Task Complete", "TASK COMPLETE ✅\n\nx < y", "high", ("a", "b"), {"run": "r1"})


def posted(notice: Notice = WHOLE, **settings: Any) -> tuple[dict[str, str], bytes]:
    headers, body = request(notice, NotifySettings(url="http://h/", **settings))
    return {name.decode(): value.decode() for name, value in headers.items()}, body


def test_ntfy() -> None:
    """The text is the body; title, priority and tags are headers."""
    headers, body = posted()
    assert (headers["Title"], headers["Priority"], headers["Tags"]) == ("Task Complete", "high", "a,b")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert body.decode() == WHOLE.body


def test_ntfy_headers_are_ascii_and_one_line() -> None:
    """Other characters come in the encoding of RFC 2047."""
    headers, _ = posted(Notice("e", "Grüße\r\nEvil: yes", "b"))
    assert (
        base64.b64decode(headers["Title"].removeprefix("=?UTF-8?B?").removesuffix("?=")).decode() == "Grüße Evil: yes"
    )


def test_ntfy_is_cut_between_characters() -> None:
    """More than 4096 bytes would become an attachment."""
    _, body = posted(Notice("e", "t", "é" * 5000))
    assert body.decode() == "é" * 2048


def test_json() -> None:
    """One object: what people read and what programs read."""
    headers, body = posted(format="json")
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "version": 1,
        "event": "completion",
        "title": "Task Complete",
        "message": WHOLE.body,
        "priority": "high",
        "run": "r1",
    }


def test_slack() -> None:
    """Its control characters are escaped: `<!channel>` is plain text."""
    _, body = posted(Notice("e", "T", "a & <!channel>"), format="slack")
    assert json.loads(body) == {"text": "*T*\na &amp; &lt;!channel&gt;"}


def test_discord() -> None:
    """At most 2000 characters, and no mentions."""
    _, body = posted(Notice("e", "T", "@everyone " + "é" * 3000), format="discord")
    document = json.loads(body)
    assert document["content"].startswith("**T**\n@everyone")
    assert len(document["content"]) == 2000
    assert document["allowed_mentions"] == {"parse": []}


def test_signature() -> None:
    """The HMAC-SHA256 of the very bytes that are sent; none without a secret."""
    headers, body = posted(format="json", secret="s3cret")
    expected = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Claude-Iterate-Signature"] == f"sha256={expected}"
    assert "X-Claude-Iterate-Signature" not in posted()[0]


def test_the_users_headers_win() -> None:
    """Whatever their case."""
    headers, _ = posted(headers={"priority": "min", "Authorization": "Bearer é"})
    assert (headers["priority"], headers["Authorization"]) == ("min", "Bearer é")
    assert "Priority" not in headers
