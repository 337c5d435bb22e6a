"""The socket that the dashboard listens on, opened before anything is promised."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

from claude_iterate.errors import ExpectedError
from claude_iterate.operations.dashboard.access_rules import LOOPBACK

_ANOTHER = "Choose another: claude-iterate dashboard --port 0"


def listening(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 means any that is free. What is in the way is an ExpectedError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ExpectedError(f"{host!r} is no address of this computer.", "Leave out --host, or name one.") from None
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        raise _explained(error, host, port) from None
    made.setblocking(False)
    return made


def _explained(error: OSError, host: str, port: int) -> ExpectedError:
    if error.errno == errno.EADDRINUSE:
        return ExpectedError(f"Port {port} is in use, perhaps by another dashboard.", _ANOTHER)
    if error.errno == errno.EACCES:
        return ExpectedError(f"Port {port} is only for the administrator.", _ANOTHER)
    if error.errno == errno.EADDRNOTAVAIL:
        return ExpectedError(f"{host!r} is no address of this computer.", "Leave out --host, or name one.")
    return ExpectedError(f"The dashboard cannot listen on {host}:{port}: {error.strerror}.", _ANOTHER)


def is_loopback(host: str) -> bool:
    """Only programs of this computer reach it there."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> frozenset[str]:
    """The names that an address of the dashboard may have."""
    own = {os.uname().nodename.lower(), f"{os.uname().nodename.lower()}.local"} if not is_loopback(host) else set()
    return LOOPBACK | {host.lower()} | own


def address(host: str, port: int) -> str:
    """As a browser takes it. A socket that listens everywhere is reached here by the loopback."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}/"
