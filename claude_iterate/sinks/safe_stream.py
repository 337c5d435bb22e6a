"""A text stream that is safe to write to: writing never raises, never waits long, and no foreign text moves the cursor.

A stream that fails once (a closed pipe, a dead terminal) is left alone for good. A terminal that was stopped (Ctrl-S),
or whose connection hangs, would hold up the run with its time-outs: a thread writes to it, and waits in our place.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from claude_iterate.core.formats import plural
from claude_iterate.core.sanitize import sanitize_terminal

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Parameters of the ANSI code that sets the look of what follows."""

_NEEDED = "✓❌⚠🔧█░·↳…"
_STAND_INS = str.maketrans(
    {
        "✓": "[ok]",
        "✅": "[ok]",
        "❌": "[error]",
        "✗": "[error]",
        "⚠": "[warn]",
        "\ufe0f": "",
        "🔧": "[tool]",
        "💭": "[thought]",
        "↳": "->",
        "→": "->",
        "←": "<-",
        "▶": ">",
        "■": "=",
        "↻": "[retry]",
        "█": "#",
        "░": ".",
        "·": "-",
        "…": "...",
    }
)
MOST = 512 * 1024
"""Bytes that are kept for a terminal that takes nothing."""
PATIENCE = 0.2
"""Seconds that one write may wait for a slow terminal. One that took nothing in that time is not waited for again."""
LAST_PATIENCE = 2.0
"""Seconds for what is still kept when the run ends."""
_AT_ONCE = 4096


def forces_color(environ: Mapping[str, str]) -> bool:
    """True when colour is wanted where there is no terminal, for example in CI logs."""
    return environ.get("FORCE_COLOR", "") not in {"", "0"}


def discard(stream: TextIO) -> None:
    """Drop what a broken stream still holds: Python would write it at exit, fail, and change the exit code."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class TerminalWriter:
    """Writes to a terminal in order, from a thread. What it does not take is kept; of too much the oldest lines are
    dropped. `gap` makes the line that stands for them."""

    def __init__(self, handle: int, gap: Callable[[str], bytes]) -> None:
        self._handle = handle
        self._gap = gap
        self._changed = threading.Condition()
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0
        self._writing = self._stalled = self._closed = False
        self._error: OSError | None = None
        threading.Thread(target=self._work, daemon=True, name="terminal").start()

    def write(self, data: bytes) -> None:
        """Show these lines, now or later. OSError: there is no terminal any more."""
        with self._changed:
            *lines, rest = data.split(b"\n")
            self._kept += [line + b"\n" for line in lines]
            self._kept += [rest] if rest else []
            self._size += len(data)
            while self._size > MOST:
                line = self._kept.popleft()
                self._size -= len(line)
                self._dropped += line.count(b"\n")
            self._changed.notify_all()
            if not self._stalled:
                self._stalled = not self._changed.wait_for(self._is_idle, PATIENCE)
            if self._error is not None:
                raise self._error

    def draw(self, data: bytes) -> bool:
        """Show this only if it can be shown now; False when the terminal is behind."""
        with self._changed:
            idle = self._is_idle()
        if idle:
            self.write(data)
        return idle

    def close(self) -> None:
        """Show what is kept, unless the terminal takes nothing for a while; that never hangs."""
        with self._changed:
            if not self._closed:
                self._changed.wait_for(self._is_idle, LAST_PATIENCE)
                self._closed = True
                self._changed.notify_all()

    def _is_idle(self) -> bool:
        return self._error is not None or not (self._kept or self._dropped or self._writing)

    def _work(self) -> None:
        while data := self._next():
            try:
                while data:
                    data = data[os.write(self._handle, data) :]
            except OSError as error:
                self._error = error
            with self._changed:
                self._writing = self._stalled = False
                self._changed.notify_all()

    def _next(self) -> bytes:
        """What is to be written next: several lines at once; empty when nothing comes any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._dropped or self._closed or self._error)
            if self._error is not None or not (self._kept or self._dropped):
                return b""
            self._writing = True
            if self._dropped:
                missing, self._dropped = self._dropped, 0
                return self._gap(f"… {plural(missing, 'line')} not shown")
            found = bytearray()
            while self._kept and len(found) < _AT_ONCE:
                found += self._kept.popleft()
            self._size -= len(found)
            return bytes(found)


class Output:
    """One stream, with what it can show: `color` on a terminal or if `forced`, emoji if its encoding has them."""

    def __init__(self, stream: TextIO, color: bool, forced: bool = False, beside: Output | None = None) -> None:
        """`beside` may be the same terminal: then what is said keeps its order."""
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._emoji = True
        try:
            _NEEDED.encode(self._encoding)
        except (UnicodeError, LookupError):
            self._emoji = False
        self._dead = False
        self._held: list[str] = []
        self.terminal = False
        self._device: int | None = None
        """The number of the terminal; None for what has no descriptor."""
        with suppress(OSError, ValueError):
            self.terminal = stream.isatty()
            stream.flush()
            self._device = os.fstat(stream.fileno()).st_rdev if self.terminal else None
        self.color = color and (self.terminal or forced)
        self._writer: TerminalWriter | None = None
        if self._device is not None:
            same = beside is not None and beside._device == self._device
            self._writer = beside._writer if beside and same else TerminalWriter(stream.fileno(), self._gap)

    def _gap(self, text: str) -> bytes:
        # The live line may still be there.
        return self._encode(f"\r{text}\x1b[K\n")

    def printable(self, text: str) -> str:
        """The text as this stream can show it."""
        text = sanitize_terminal(text)
        return text if self._emoji else text.translate(_STAND_INS)

    def say(self, block: Sequence[str], style: str = "") -> None:
        """Whole lines, in one look. They are held until `flush`: a flood must not cost a write per line."""
        if style and self.color:
            lines = [sanitize_terminal(line) for text in block for line in text.split("\n")]
            self._held += [f"\x1b[{style}m{line}\x1b[0m\n" if line else "\n" for line in lines]
        else:
            self._held += [f"{sanitize_terminal(text)}\n" for text in block]

    def control(self, text: str, now_or_never: bool = False) -> bool:
        """Text of our own making that may move the cursor; it is seen at once. With `now_or_never` it is left out when
        the terminal is behind: False."""
        if now_or_never and self._writer is not None and not self._dead:
            self.flush()
            with suppress(OSError):
                return self._writer.draw(self._encode(text))
        self._held.append(text)
        self.flush()
        return True

    def flush(self) -> None:
        """Hand on what is held, here and by the stream."""
        text, self._held = "".join(self._held), []
        if self._dead:
            return
        try:
            if self._writer is None:
                self._stream.write(self._encode(text).decode(self._encoding))
                self._stream.flush()
            elif text:
                self._writer.write(self._encode(text))
        except (OSError, ValueError):
            self._dead = True

    def close(self) -> None:
        """Hand on the rest, or discard it if that is impossible."""
        self.flush()
        if self._writer is not None:
            self._writer.close()
        if self._dead:
            discard(self._stream)

    def _encode(self, text: str) -> bytes:
        return (text if self._emoji else text.translate(_STAND_INS)).encode(self._encoding, "replace")
