"""Processes that live in another pid namespace, as those in a sandbox do (Linux; elsewhere there are none)."""

from __future__ import annotations

import contextlib
import os


def first_two(outer: int) -> tuple[int, int] | None:
    """The first process inside, which ends all others with it, and the program that was to run; None when they are not
    there (yet). `outer` is the process that made the namespace and stayed outside."""
    for first in _children(outer):
        for second in _children(first):
            if _number_inside(second) == "2":
                return first, second
    return None


def is_elsewhere(pid: int) -> bool:
    """True for a living process that counts its pids otherwise than we do."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino != os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # it is gone, or is just going
        return False


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
        return [int(word) for word in file.read().split()]
    return []


def _number_inside(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("NSpid:"):
                return line.split()[-1]
    return ""
