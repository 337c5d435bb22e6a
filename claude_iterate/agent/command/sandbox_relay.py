"""Runs inside a sandbox without a network: carries connections to a socket outside, then becomes Claude.

A program of its own, started by its path in any Python 3; it imports nothing of ours. Its arguments: the socket, the
port of the proxy, the port of a service on the computer outside or 0, and the command line of Claude.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK = 64 * 1024


def main() -> None:
    """Listen first, so that Claude finds everything in place; Claude keeps our process and so its signals."""
    gate, proxy, mirrored = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    listeners = [(_listener(proxy), b"")]
    if mirrored:
        listeners.append((_listener(mirrored), b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % mirrored))
    if not os.fork():
        if not os.fork():
            _serve(gate, listeners)
        os._exit(0)  # so the relay is a child of the first process inside, and Claude has none that it does not know
    os.wait()
    for listener, _ in listeners:
        listener.close()
    try:
        os.execvp(sys.argv[4], sys.argv[4:])  # noqa: S606 - the command line of Claude
    except OSError as error:
        sys.exit(f"{sys.argv[4]} cannot be started inside the sandbox: {error.strerror}")


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def _serve(gate: str, listeners: list[tuple[socket.socket, bytes]]) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):  # a pipe that we held would look like a Claude that has not ended
        os.dup2(nothing, handle)
    for listener, greeting in listeners[1:]:
        threading.Thread(target=_accept, args=(gate, listener, greeting), daemon=True).start()
    _accept(gate, *listeners[0])


def _accept(gate: str, listener: socket.socket, greeting: bytes) -> None:
    while True:
        near, _ = listener.accept()
        threading.Thread(target=_carry, args=(gate, near, greeting), daemon=True).start()


def _carry(gate: str, near: socket.socket, greeting: bytes) -> None:
    far = socket.socket(socket.AF_UNIX)
    try:
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
        back = threading.Thread(target=copy_stream, args=(far, near), daemon=True)
        back.start()
        copy_stream(near, far)
        back.join()
    except OSError:
        pass
    finally:
        near.close()
        far.close()


def copy_stream(source: socket.socket, target: socket.socket) -> None:
    """Until the source is at its end."""
    try:
        while True:
            data = source.recv(_CHUNK)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    main()
