"""Bytes in, lines out: any chunking of the same bytes gives the same lines. Memory use is bounded."""

from __future__ import annotations

LONGEST = 64 * 1024 * 1024
"""Bytes of a line. An event can carry a whole file twice; a line beyond this is cut to KEPT bytes."""
KEPT = 4096


class LineFramer:
    """Collects chunks and returns whole lines without their line feed."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._held = bytearray()
        self._size = 0
        self._longest = longest

    def feed(self, data: bytes) -> list[bytes]:
        """Add a chunk; returns the lines that it completes."""
        *ends, tail = data.split(b"\n")
        lines = [self._complete(end) for end in ends]
        self._hold(tail)
        return lines

    def finish(self) -> list[bytes]:
        """The stream is over; returns what came after the last line feed."""
        rest = self._complete(b"")
        return [rest] if rest else []

    def _complete(self, end: bytes) -> bytes:
        self._hold(end)
        line = bytes(self._held)
        self._held.clear()
        self._size = 0
        return line

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        self._held += data
        if self._size > self._longest:
            del self._held[min(KEPT, self._longest) :]
