"""Bytes in, lines out: any chunking of the same bytes gives the same lines. Memory use is bounded."""

from __future__ import annotations

LONGEST = 64 * 1024 * 1024
"""Bytes of a line. An event can carry a whole file twice; a line beyond this is cut to KEPT bytes."""
KEPT = 4096


class LineFramer:
    """Collects chunks and returns whole lines without their line feed."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._longest = longest
        self._kept = min(KEPT, longest)
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """Add a chunk; returns the lines that it completes."""
        lines = data.split(b"\n")
        tail = lines.pop()
        if lines:
            lines[0] = self._release(lines[0])
            if len(data) > self._longest:
                lines = [line if len(line) <= self._longest else line[: self._kept] for line in lines]
        self._hold(tail)
        return lines

    def finish(self) -> list[bytes]:
        """The stream is over; returns what came after the last line feed."""
        rest = self._release(b"")
        return [rest] if rest else []

    def _hold(self, data: bytes) -> None:
        if not data:
            return
        self._size += len(data)
        if self._size > self._longest and not self._skipping:
            self._parts = [b"".join([*self._parts, data])[: self._kept]]
            self._skipping = True
        elif not self._skipping:
            self._parts.append(data)

    def _release(self, last: bytes) -> bytes:
        """The line that was held, completed by `last`."""
        if self._skipping:
            line = self._parts[0]
        else:
            line = b"".join([*self._parts, last]) if self._parts else last
            line = line if len(line) <= self._longest else line[: self._kept]
        self._parts = []
        self._size = 0
        self._skipping = False
        return line
