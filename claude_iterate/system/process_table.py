"""Looks at the processes of the machine: whom they belong to, what they were started with, what they write.

Each look reads about every process there is, so none of this is for every tick.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from claude_iterate.system.processes import LINUX, is_alive

_GONE = (psutil.Error, OSError)
_OUTPUTS = (1, 2)


def with_environment(variable: str, value: str) -> Iterator[int]:
    """Living processes that started with `variable=value` in their environment, ourselves excluded."""
    for pid in psutil.pids():
        with contextlib.suppress(*_GONE):
            found = pid != os.getpid() and psutil.Process(pid).environ().get(variable) == value
            if found and is_alive(pid):
                yield pid


def descendants(roots: set[int]) -> set[int]:
    """Living children of these processes, their children and so on."""
    found: set[int] = set()
    for pid in roots:
        with contextlib.suppress(*_GONE):
            found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return {pid for pid in found - roots if is_alive(pid)}


def describe(pid: int) -> str:
    """The command line of a process, for users."""
    with contextlib.suppress(*_GONE):
        return " ".join(psutil.Process(pid).cmdline()).strip()[:120] or f"process {pid}"
    return f"process {pid}"


def output_files(root: Path) -> list[Path]:
    """The files in this folder that what this process prints goes to: directly (`> run.log`, `nohup`), or through a
    program of the same pipeline (`| tee run.log`). They grow while a run works, and that is no one's work."""
    found = {path for path, handle, _ in _open_files(os.getpid()) if handle in _OUTPUTS}
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and os.getpgid(pid) == os.getpgrp():
                found.update(path for path, _, mode in _open_files(pid) if mode != "r")
    real = Path(os.path.realpath(root))
    return [root / Path(path).relative_to(real) for path in sorted(found) if Path(path).is_relative_to(real)]


def _open_files(pid: int) -> list[tuple[str, int, str]]:
    """Path, handle and mode of each; macOS does not tell the mode."""
    with contextlib.suppress(*_GONE):
        return [(file.path, file.fd, getattr(file, "mode", "")) for file in psutil.Process(pid).open_files()]
    return []


def sandbox_processes(outer: int) -> tuple[int, int] | None:
    """Of a sandbox with a pid namespace: the first process inside, which ends all others with it, and the program that
    was to run; None when they are not there (yet). `outer` is the process that made it and stayed outside."""
    with contextlib.suppress(*_GONE):
        for first in psutil.Process(outer).children():
            for second in first.children():
                if _number_inside(second.pid) == "2":
                    return first.pid, second.pid
    return None


def is_in_sandbox(pid: int) -> bool:
    """True for a living process that counts its pids otherwise than we do (Linux; elsewhere there is none)."""
    try:
        return LINUX and os.stat(f"/proc/{pid}/ns/pid").st_ino != os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # it is gone, or is just going
        return False


def _number_inside(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("NSpid:"):
                return line.split()[-1]
    return ""
