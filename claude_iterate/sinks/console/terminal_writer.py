"""Writes to a terminal without waiting for one that takes nothing.

A terminal that was stopped (Ctrl-S), or whose connection hangs, would hold up the run with its time-outs. What it does
not take at once is kept; when that becomes too much, the oldest lines are dropped and counted. A terminal that is only
slow is waited for a moment, so that nothing is lost.

The descriptor that we got is shared with other programs: one that is set to non-blocking would be so for all of them.
So the terminal is opened once more. Where that is not allowed, a thread writes and waits.
"""

from __future__ import annotations

import os
import queue
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from claude_iterate.core.formats import counted
from claude_iterate.system import terminals

MOST = 512 * 1024
"""Bytes that are kept for a terminal that takes nothing."""
PATIENCE = 0.2
"""Seconds that one write may wait for a slow terminal. One that took nothing in that time is not waited for again."""
LAST_PATIENCE = 2.0
"""Seconds for what is still kept when the run ends."""


_AT_ONCE = 4096


class Way(Protocol):
    """How bytes reach the terminal."""

    def write(self, data: bytes) -> int:
        """Hand over what the terminal takes now, perhaps nothing; its number of bytes. OSError: there is no terminal
        any more."""

    def wait(self, seconds: float) -> bool:
        """Wait until the terminal may take something; False when it did not in time."""

    def close(self) -> None:
        """Nothing comes after this."""


class TerminalWriter:
    """Keeps the order of what is written. `marked` makes the line that stands for those that were dropped."""

    def __init__(self, way: Way, marked: Callable[[str], bytes]) -> None:
        self._way = way
        self._marked = marked
        self._begun = b""  # the rest of what is half on the terminal: it must be completed
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0
        self._stalled = False
        self._closed = False

    def write(self, data: bytes) -> None:
        """Show these lines, now or later. OSError: there is no terminal any more."""
        if not self._is_behind:
            data = data[self._way.write(data) :]
            if not data:
                return
            end = data.find(b"\n") + 1 or len(data)
            self._begun, data = data[:end], data[end:]
        *lines, rest = data.split(b"\n")
        self._kept += [line + b"\n" for line in lines]
        self._kept += [rest] if rest else []
        self._size += len(data)
        self._catch_up(0.0 if self._stalled else PATIENCE)
        self._drop()

    def draw(self, data: bytes) -> bool:
        """Show this only if it can be shown now; False when the terminal is behind."""
        self.catch_up()
        if not self._is_behind:
            self._begun = data[self._way.write(data) :]
            return True
        return False

    def catch_up(self) -> None:
        """Show what is kept, as far as the terminal takes it without waiting."""
        if self._is_behind:
            self._catch_up(0.0)

    def close(self) -> None:
        """Show what is kept, unless the terminal takes nothing for a while; that never hangs."""
        if self._closed:
            return
        self._closed = True
        try:
            self._catch_up(LAST_PATIENCE)
        finally:
            self._way.close()

    @property
    def _is_behind(self) -> bool:
        return bool(self._begun or self._kept or self._dropped)

    def _catch_up(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        before = self._size + len(self._begun)
        while self._next():
            taken = self._way.write(self._begun)
            self._begun = self._begun[taken:]
            if taken:
                self._stalled = False
            elif not self._way.wait(max(0.0, deadline - time.monotonic())) or time.monotonic() > deadline:
                self._stalled = self._stalled or (patience > 0 and self._size + len(self._begun) == before)
                return

    def _next(self) -> bytes:
        """What is to be shown next; empty when all is shown."""
        if not self._begun and self._dropped:
            self._begun, self._dropped = self._marked(f"… {counted(self._dropped, 'line')} not shown"), 0
        elif not self._begun and self._kept:
            # Several lines at once: a write costs as much as many bytes.
            lines, size = [], 0
            while self._kept and size < _AT_ONCE:
                lines.append(self._kept.popleft())
                size += len(lines[-1])
            self._begun = b"".join(lines)
            self._size -= size
        return self._begun

    def _drop(self) -> None:
        while self._size > MOST:
            line = self._kept.popleft()
            self._size -= len(line)
            self._dropped += line.count(b"\n")


class OwnDescription:
    """The terminal, opened a second time, without waiting."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def write(self, data: bytes) -> int:
        """As `Way` says."""
        try:
            return os.write(self._handle, data)
        except BlockingIOError:
            return 0

    def wait(self, seconds: float) -> bool:
        """As `Way` says."""
        return bool(select.select([], [self._handle], [], seconds)[1])

    def close(self) -> None:
        """Close it."""
        os.close(self._handle)


class WritingThread:
    """A thread that writes, and waits in our place. One piece at a time."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._error: OSError | None = None
        threading.Thread(target=self._work, daemon=True, name="terminal").start()

    def write(self, data: bytes) -> int:
        """As `Way` says."""
        if self._error is not None:
            raise self._error
        if not self._idle.is_set():
            return 0
        self._idle.clear()
        self._pieces.put(data)
        return len(data)

    def wait(self, seconds: float) -> bool:
        """As `Way` says."""
        return self._idle.wait(seconds)

    def close(self) -> None:
        """Let the thread end. One that waits for the terminal ends with the process."""
        self._idle.wait(LAST_PATIENCE)
        self._pieces.put(b"")

    def _work(self) -> None:
        while data := self._pieces.get():
            try:
                while data:
                    data = data[os.write(self._handle, data) :]
            except OSError as error:
                self._error = error
                return
            finally:
                self._idle.set()


def way_to(handle: int) -> Way:
    """The best way to the terminal behind this descriptor."""
    again = terminals.reopen(handle)
    return OwnDescription(again) if again is not None else WritingThread(handle)
