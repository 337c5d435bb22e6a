"""The way out of a sandbox leads to Claude's service and nowhere else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from claude_iterate.agent.command import sandbox_network

PATIENCE = 120


@pytest.fixture
def service() -> Iterator[int]:
    """A service on this computer that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        while data := connection.recv(1000):
                            connection.sendall(data)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def asked(path: str, question: bytes) -> bytes:
    """All that comes back."""
    with socket.socket(socket.AF_UNIX) as near:
        near.settimeout(PATIENCE)
        near.connect(path)
        near.sendall(question)
        near.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: near.recv(1000), b""))


def test_the_service_is_reached(service: int) -> None:
    """What follows the question goes to the service, and its answer comes back."""
    with sandbox_network.open_proxy((f"127.0.0.1:{service}",)) as path:
        answer = asked(path, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\nhello" % service)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nhello")


@pytest.mark.parametrize(
    "question",
    [
        b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n",
        b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n",
        b"CONNECT api.anthropic.com:443@127.0.0.1:%d HTTP/1.1\r\n\r\n",
        b"%d\r\n\r\n",
        b"CONNECT 127.0.0.1:%d",
        b"x" * 100_000 + b"%d",
    ],
)
def test_nothing_else_is(service: int, question: bytes) -> None:
    """Another address, another method, nonsense: refused, and no connection is made."""
    with sandbox_network.open_proxy(("api.anthropic.com:443",)) as path:
        try:
            answer = asked(path, question % service)
        except OSError:  # it may hang up while we still speak
            return
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_the_socket_is_gone_afterwards() -> None:
    """With its folder: nothing of a run stays in the folder for temporary files."""
    with sandbox_network.open_proxy(()) as path:
        assert asked(path, b"").startswith(b"HTTP/1.1 403 ")
    with pytest.raises(FileNotFoundError):
        asked(path, b"")


@pytest.mark.parametrize(
    ("base", "addresses", "port"),
    [
        ("", sandbox_network.SERVICE, 0),
        ("https://gateway.example/v1", ("gateway.example:443",), 0),
        ("http://gateway.example:8080", ("gateway.example:8080",), 0),
        ("http://localhost:4000", ("127.0.0.1:4000",), 4000),
    ],
)
def test_the_address_is_that_of_the_service(base: str, addresses: tuple[str, ...], port: int) -> None:
    """From ANTHROPIC_BASE_URL, or the usual one."""
    environment = {"ANTHROPIC_BASE_URL": base}
    assert sandbox_network.addresses(environment) == addresses
    assert sandbox_network.port_on_this_computer(environment) == port
