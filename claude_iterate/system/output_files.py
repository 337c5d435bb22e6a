"""The files that what this process prints goes to: directly (`> run.log`, `nohup`), or through a program that reads our
pipe (`| tee run.log`). They grow while a run works, and that is no one's work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from claude_iterate.system.processes import LINUX

_F_GETPATH = 50
"""macOS: the path of an open file."""
_WRITTEN = 0o200
_OUTPUTS = (1, 2)


def within(root: Path) -> list[Path]:
    """Those in this folder, by the name that it has here: links on the way to it are followed."""
    real = os.path.realpath(root)
    return [root / os.path.relpath(path, real) for path in of_this_process() if path.is_relative_to(real)]


def of_this_process() -> list[Path]:
    """Each file once. What cannot be known is left out."""
    found: dict[Path, None] = {}
    pipes: set[str] = set()
    for handle in _OUTPUTS:
        try:
            kind = os.fstat(handle).st_mode
        except OSError:
            continue
        if stat.S_ISREG(kind) and (path := _path(handle)):
            found[Path(path)] = None
        elif stat.S_ISFIFO(kind) and LINUX and (pipe := _link(f"/proc/self/fd/{handle}")):
            pipes.add(pipe)
    for process in _neighbours() if pipes else ():
        found |= dict.fromkeys(_written_by_a_reader(process, pipes))
    return list(found)


def _path(handle: int) -> str:
    if LINUX:
        return _link(f"/proc/self/fd/{handle}")
    try:
        import fcntl

        return os.fsdecode(fcntl.fcntl(handle, _F_GETPATH, bytes(1024)).rstrip(b"\0"))
    except (ImportError, OSError):
        return ""


def _neighbours() -> Iterator[str]:
    """Our parent, and the processes of the same session, such as the other parts of a pipeline."""
    own, session = str(os.getpid()), os.getsid(0)
    parent = str(os.getppid())
    for name in _names("/proc"):
        if name.isdecimal() and name != own and (name == parent or _session(name) == session):
            yield name


def _session(process: str) -> int:
    try:
        return os.getsid(int(process))
    except OSError:
        return -1


def _written_by_a_reader(process: str, pipes: Iterable[str]) -> list[Path]:
    """The files that a process writes, if it has the other end of one of these pipes."""
    folder = f"/proc/{process}/fd"
    links = {name: _link(f"{folder}/{name}") for name in _names(folder)}
    if not any(links[name] in pipes and not _is_written(f"{folder}/{name}") for name in links):
        return []
    places = [place for name, place in links.items() if place.startswith("/") and _is_written(f"{folder}/{name}")]
    return [Path(place) for place in places if os.path.isfile(place)]


def _is_written(link: str) -> bool:
    """The link of an open file is writable if the file is open for writing."""
    try:
        return bool(os.lstat(link).st_mode & _WRITTEN)
    except OSError:
        return False


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
