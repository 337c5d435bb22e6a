"""The way out of a sandbox without a network: a socket on which Claude asks for a connection to its own service.

It answers CONNECT, as a web proxy does, for the addresses of the service and for nothing else. What passes is Claude's
encrypted conversation with its service; it is neither read nor kept.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from claude_iterate.agent.command.sandbox_relay import copy_stream

SERVICE = ("api.anthropic.com:443", "platform.claude.com:443")
"""Where Claude Code asks, and where it renews a login with a subscription."""
_LONGEST_HEAD = 16 * 1024
_LONGEST_PATH = 70
_CONNECT = 30.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def addresses(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What Claude may reach, as HOST:PORT: the host in ANTHROPIC_BASE_URL, or the usual ones."""
    base = environment.get("ANTHROPIC_BASE_URL", "").strip()
    if not base:
        return SERVICE
    parts = urlsplit(base)
    host = "127.0.0.1" if (parts.hostname or "") in _LOOPBACK else parts.hostname
    return (f"{host}:{parts.port or (80 if parts.scheme == 'http' else 443)}",)


def port_on_this_computer(environment: Mapping[str, str]) -> int:
    """The port of a service that runs on this computer itself, such as a gateway; 0 when it runs elsewhere."""
    host, _, port = addresses(environment)[0].rpartition(":")
    return int(port) if host in _LOOPBACK else 0


@contextlib.contextmanager
def open_proxy(allowed: tuple[str, ...]) -> Iterator[str]:
    """The path of a socket that leads to these addresses, for as long as the block lasts."""
    folder = tempfile.mkdtemp(prefix="claude-iterate-", dir=_short_folder())  # only its owner can enter it
    path = f"{folder}/gate"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        listener.listen(64)
        threading.Thread(target=_accept, args=(listener, allowed), daemon=True, name="gate").start()
        yield path
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # else the thread would wait in `accept` without end
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str | None:
    """The usual folder for temporary files, unless its path is too long for a socket."""
    return None if len(tempfile.gettempdir()) < _LONGEST_PATH else "/tmp"  # noqa: S108 - the folder in it has a random name


def _accept(listener: socket.socket, allowed: tuple[str, ...]) -> None:
    while True:
        try:
            near, _ = listener.accept()
        except OSError:
            return  # closed
        threading.Thread(target=_serve, args=(near, allowed), daemon=True, name="gate").start()


def _serve(near: socket.socket, allowed: tuple[str, ...]) -> None:
    with near, contextlib.suppress(OSError):
        near.settimeout(_CONNECT)
        wanted, early = _requested_address(near)
        if wanted not in allowed:
            near.sendall(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            return
        host, _, port = wanted.rpartition(":")
        try:
            far = socket.create_connection((host, int(port)), _CONNECT)
        except OSError:
            near.sendall(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            return
        with far:
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far.sendall(early)
            near.settimeout(None)
            far.settimeout(None)
            back = threading.Thread(target=copy_stream, args=(far, near), daemon=True, name="gate")
            back.start()
            copy_stream(near, far)
            back.join()


def _requested_address(near: socket.socket) -> tuple[str, bytes]:
    """The address that is asked for, and what came after the question; empty for anything but CONNECT."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD:
        more = near.recv(4096)
        if not more:
            break
        head += more
    question, end, early = head.partition(b"\r\n\r\n")
    words = question.split(b"\r\n")[0].split()
    if not end or len(words) != 3 or words[0] != b"CONNECT":
        return "", b""
    return words[1].decode("ascii", "replace").lower(), early
