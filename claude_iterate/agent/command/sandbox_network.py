"""The way out of a sandbox without a network: a proxy outside, a relay inside, and a unix socket between them.

The proxy answers CONNECT, as a web proxy does, for the addresses of Claude's service and for nothing else. What passes
is Claude's encrypted conversation with its service; it is neither read nor kept. The relay carries connections to the
socket and then becomes Claude, which it tells its port. For that this file is started as a program, by its path and in
any Python 3, so it imports nothing of ours. Its arguments: the socket, the port of a service on the computer outside or
0, and the command line of Claude.

Whatever connects, at most so many connections are open at a time; others wait.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

SERVICE = ("api.anthropic.com:443", "platform.claude.com:443")
"""Where Claude Code asks, and where it renews a login with a subscription."""
_CHUNK = 64 * 1024
_LONGEST_HEAD = 16 * 1024
_LONGEST_PATH = 70
_CONNECT, _QUESTION, _AGAIN = 30.0, 10.0, 0.1
"""Seconds to reach the service, for a whole question, and until the next try where files or threads have run out."""
_MOST = 100
"""Connections at a time; Claude needs a few."""
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
    too_long = len(tempfile.gettempdir()) >= _LONGEST_PATH  # for the path of a socket
    # Only its owner can enter the folder.
    folder = tempfile.mkdtemp(prefix="claude-iterate-", dir="/tmp" if too_long else None)  # noqa: S108
    path = f"{folder}/gate"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        listener.listen(socket.SOMAXCONN)
        threading.Thread(target=_accept, args=(listener, _serve_request, allowed), daemon=True, name="gate").start()
        yield path
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # else the thread would wait in `accept` without end
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)


def _accept(listener: socket.socket, serve: Callable[..., None], *more: object) -> None:
    """Serve each connection in a thread of its own, until the listener is closed. All connections together, with two
    files each, leave three quarters of the files that we may open to others."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    places = threading.BoundedSemaphore(_MOST if files < 0 else max(1, min(_MOST, files // 8)))

    def serve_and_leave(near: socket.socket) -> None:
        try:
            with near, contextlib.suppress(OSError, RuntimeError):
                serve(near, *more)
        finally:
            places.release()

    while places.acquire():
        try:
            near, _ = listener.accept()
            threading.Thread(target=serve_and_leave, args=(near,), daemon=True, name="gate").start()
        except (OSError, RuntimeError) as error:  # it is closed; or files or threads have run out
            places.release()
            if isinstance(error, OSError) and error.errno in {errno.EBADF, errno.EINVAL}:
                return
            time.sleep(_AGAIN)


def _serve_request(near: socket.socket, allowed: tuple[str, ...]) -> None:
    wanted, early = _requested_address(near)
    if wanted not in allowed:
        near.sendall(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        return
    host, _, port = wanted.rpartition(":")
    try:
        far = socket.create_connection((host, int(port)), _CONNECT)
    except (OSError, ValueError):  # a name that no host can have is a ValueError
        near.sendall(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        return
    with far:
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        far.sendall(early)
        near.settimeout(None)
        far.settimeout(None)
        _carry_both_ways(near, far)


def _requested_address(near: socket.socket) -> tuple[str, bytes]:
    """The address that is asked for, and what came after the question; empty for anything but CONNECT. A question that
    takes too long is an OSError."""
    head, end = b"", time.monotonic() + _QUESTION
    while b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD:
        near.settimeout(max(0.001, end - time.monotonic()))
        more = near.recv(4096)
        if not more:
            break
        head += more
    near.settimeout(_CONNECT)
    question, found, early = head.partition(b"\r\n\r\n")
    words = question.split(b"\r\n")[0].split()
    if not found or len(words) != 3 or words[0] != b"CONNECT":
        return "", b""
    return words[1].decode("ascii", "replace").lower(), early


def main() -> None:
    """Listen first, so that Claude finds everything in place; Claude keeps our process and so its signals."""
    gate, mirrored = sys.argv[1], int(sys.argv[2])
    try:
        listeners = [_mirror(mirrored)] if mirrored else []
        proxy = _listener(0)  # after the other, whose port is given
        os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    except OSError as error:
        sys.exit(f"Inside the sandbox there is no way to Claude's service: {error.strerror}")
    listeners.append((proxy, b""))
    if not os.fork():
        if not os.fork():
            _serve(gate, listeners)
        os._exit(0)  # so the relay is a child of the first process inside, and Claude has none that it does not know
    os.wait()
    for listener, _ in listeners:
        listener.close()
    try:
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606 - the command line of Claude
    except OSError as error:
        sys.exit(f"{sys.argv[3]} cannot be started inside the sandbox: {error.strerror}")


def _mirror(port: int) -> tuple[socket.socket, bytes]:
    """What listens for the service on the computer outside, and what it says to the proxy first. Where only root may
    have such a port, Claude is told another one."""
    try:
        listener = _listener(port)
    except PermissionError:
        listener = _listener(0)
        parts = urlsplit(os.environ.get("ANTHROPIC_BASE_URL", "").strip())
        place = f"{parts.netloc.removesuffix(f':{port}')}:{listener.getsockname()[1]}"
        os.environ["ANTHROPIC_BASE_URL"] = parts._replace(netloc=place).geturl()
    return listener, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(socket.SOMAXCONN)
    return listener


def _serve(gate: str, listeners: list[tuple[socket.socket, bytes]]) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):  # a pipe that we held would look like a Claude that has not ended
        os.dup2(nothing, handle)
    for listener, greeting in listeners[1:]:
        threading.Thread(target=_accept, args=(listener, _carry, gate, greeting), daemon=True).start()
    listener, greeting = listeners[0]
    _accept(listener, _carry, gate, greeting)


def _carry(near: socket.socket, gate: str, greeting: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as far:
        far.connect(gate)
        if greeting:
            far.sendall(greeting)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                more = far.recv(1)
                if not more:
                    return
                answer += more
            if b" 200 " not in answer.split(b"\r\n")[0]:
                return
        _carry_both_ways(near, far)


def _carry_both_ways(near: socket.socket, far: socket.socket) -> None:
    """Until the far side is at its end; the near one may be at its own before."""
    forth = threading.Thread(target=_copy, args=(near, far), daemon=True, name="gate")
    forth.start()
    _copy(far, near)
    for side in (near, far):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
    forth.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
