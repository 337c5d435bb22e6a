"""Ends what a run left behind: processes that carry the run's id in their environment, adopted orphans, containers.

Claude's shell tool gives each command a session of its own, so killing Claude's process group misses them. Containers
are held by a service, so no signal to our own processes is sure to reach them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence

from claude_iterate.agent.command.command_line import CONTAINER_LABEL, RUN_VARIABLE
from claude_iterate.system import processes, signals

_POLITE = 0.5
_PATIENCE = 4.5
_POLL = 0.02
_COLLAPSE = 3.0
"""Seconds in which the kernel has ended everything in a sandbox. Usually it takes a few milliseconds."""
_CONTAINERS = 30.0
_SURVIVORS: set[int] = set()


def find_leftovers(run: str) -> list[int]:
    """Living processes with this run's id in their environment."""
    return list(processes.with_environment(RUN_VARIABLE, run))


def adopted_children(known: Iterable[int]) -> set[int] | None:
    """Children of ours that are not `known`: orphans that we adopted as subreaper, dead or alive. Nothing is reaped.

    A process in the session of a known one counts as known too: it is a helper of a helper of ours.
    """
    # The first process of a container adopts every orphan, not only ours.
    children = processes.children() if os.getpid() != 1 else None
    if children is None:
        return None
    known = set(known)
    return {pid for pid in children - known if _session(pid) not in known}


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:  # it is gone
        return 0


def _living_orphans(known: Iterable[int]) -> set[int] | None:
    """Living orphans that we adopted; the dead ones are reaped.

    Call this only while no process of our own is running: reaping it would lose its exit code.
    """
    strangers = adopted_children(known)
    if strangers is None:
        return None
    living = {pid for pid in strangers if processes.is_alive(pid)}
    for pid in strangers - living:
        processes.reap(pid)
    return living


def end_leftovers(
    run: str, known: Iterable[int] = (), thorough: bool = False, in_own_sandbox: bool = False
) -> tuple[str, ...]:
    """End every process of this run that still lives; returns a line for each process that was ended.

    The quick way ends only adopted orphans, which on Linux is all there can be. `thorough` searches all processes of
    the machine; so does every system that cannot list our children. `in_own_sandbox`: they were in a sandbox, which
    ends all that is in it when its program ends. It is given the time for that: what it ends was not left behind.
    """
    known = tuple(known)
    if in_own_sandbox:
        _let_collapse(run, known)
    if not thorough and _living_orphans(known) == set():
        return ()
    return _end(run, (*known, os.getpid()), lambda: _living_orphans(known) or set())


def _let_collapse(run: str, known: tuple[int, ...]) -> None:
    until = time.monotonic() + _COLLAPSE
    while time.monotonic() < until:
        if not any(map(processes.is_in_sandbox, {*find_leftovers(run), *(_living_orphans(known) or set())})):
            return
        time.sleep(_POLL)


def end_marked(run: str, containers: str = "") -> tuple[str, ...]:
    """End what carries the id of a run that is not ours, and its containers, which the program `containers` knows if
    there are any; nothing else is touched."""
    ended = _end(run, (os.getpid(),), set)
    end_containers(containers, run)
    return ended


def end_processes(
    find: Callable[[], set[int]], steps: Sequence[tuple[int, float]], before_signal: Callable[[int], None]
) -> set[int]:
    """Signal what `find` finds, for so many seconds with each signal; returns what still lives."""
    living: set[int] = set()
    for number, patience in steps:
        deadline = time.monotonic() + patience
        signalled: set[int] = set()
        while time.monotonic() < deadline:
            living = find()
            if not living:
                return living
            for pid in living - signalled:
                before_signal(pid)
                signals.send(pid, number)
            signalled |= living
            time.sleep(_POLL)
    return living


def _end(run: str, known: tuple[int, ...], also: Callable[[], set[int]]) -> tuple[str, ...]:
    """A line for each process that was ended."""
    names: dict[int, str] = {}

    def name(pid: int) -> None:
        names.setdefault(pid, processes.describe(pid))

    living = end_processes(
        lambda: {*find_leftovers(run), *also()} - set(known) - _SURVIVORS,
        ((signal.SIGTERM, _POLITE), (signal.SIGKILL, _PATIENCE)),
        name,
    )
    # What survives SIGKILL (it waits for a device, or belongs to another user) is not waited for a second time.
    _SURVIVORS.update(living)
    return tuple(line for pid, line in names.items() if pid not in living)


def end_containers(program: str, run: str) -> None:
    """Remove every container of the run, running or not. `program` is docker or podman, or empty where there are none.
    A service that does not answer has none that we could reach."""
    if not program:
        return
    found = _output_of([program, "ps", "-aq", "--filter", f"label={CONTAINER_LABEL}={run}"]).split()
    if found:
        _output_of([program, "rm", "-f", *found])


def _output_of(argv: list[str]) -> str:
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CONTAINERS, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
