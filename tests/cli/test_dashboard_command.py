"""`dashboard`: what keeps it from starting is told with the next step, before anything listens."""

from __future__ import annotations

import socket

import pytest

from claude_iterate.operations.dashboard import web_server
from tests.cli.conftest import Type


def test_a_port_in_use_is_told_with_the_next_step(typed: Type) -> None:
    """The other program is not disturbed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = typed("dashboard", "--port", str(port))
    assert answer.code == 1
    assert f"Port {port} is in use" in answer.err
    assert "claude-iterate dashboard --port 0" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--port", "65536"), 2, "65536"),
        (("--port", "x"), 2, "'x'"),
        (("--host", "203.0.113.7", "--port", "0"), 1, "cannot listen on 203.0.113.7:0: Cannot assign"),
        (("--host", "no such name", "--port", "0"), 1, "cannot listen on no such name:0: Name or service not known."),
    ],
)
def test_a_bad_place_is_refused(typed: Type, arguments: tuple[str, ...], code: int, words: str) -> None:
    """A number that is no port, an address that is not ours."""
    answer = typed("dashboard", *arguments)
    assert answer.code == code
    assert words in answer.err


@pytest.mark.parametrize(
    ("host", "port", "shown"),
    [
        ("127.0.0.1", 1, "http://127.0.0.1:1/"),
        ("::1", 2, "http://[::1]:2/"),
        ("0.0.0.0", 3, "http://127.0.0.1:3/"),
        ("::", 4, "http://[::1]:4/"),
        ("box", 5, "http://box:5/"),
    ],
)
def test_the_address_is_one_that_a_browser_takes(host: str, port: int, shown: str) -> None:
    """One that means everywhere leads nowhere."""
    assert web_server.address(host, port) == shown
