"""A text stream that is safe to write to: writing never raises, and no foreign text can move the cursor.

A stream that fails once (a closed pipe, a dead terminal) is left alone for good. A terminal that takes nothing is not
waited for.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, TextIO

from claude_iterate.core.sanitize import sanitize_lines, sanitize_terminal
from claude_iterate.sinks.console.terminal_writer import TerminalWriter, way_to

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Parameters of the ANSI code that sets the look of what follows."""

_UTF8 = frozenset({"utf-8", "UTF-8", "utf8"})
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


def forces_color(environ: Mapping[str, str]) -> bool:
    """True when colour is wanted where there is no terminal, for example in CI logs."""
    return environ.get("FORCE_COLOR", "") not in {"", "0"}


def discard(stream: TextIO) -> None:
    """Drop what a broken stream still holds: Python would write it at exit, fail, and change the exit code."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Output:
    """One stream, with what it can show: `color` on a terminal or if `forced`, emoji if its encoding has them."""

    def __init__(self, stream: TextIO, color: bool, forced: bool = False, beside: Output | None = None) -> None:
        """`beside` may be the same terminal: then what is said keeps its order."""
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._emoji = _can_show(self._encoding)
        self._dead = False
        self._bytes = _takes_bytes(stream)
        self._held: list[bytes] = []
        """In UTF-8."""
        self._lines: list[str] = []
        """Lines in no special look that come after what is held."""
        self.terminal = _is_terminal(stream)
        self.color = color and (self.terminal or forced)
        self._device = _device(stream) if self.terminal else None
        self._writer: TerminalWriter | None = None
        if self._device is not None:
            same = beside is not None and beside._device == self._device
            self._writer = beside._writer if beside and same else self._terminal_writer()

    def _terminal_writer(self) -> TerminalWriter:
        # The live line may still be there.
        clear = "\x1b[K" if self.color else ""
        return TerminalWriter(way_to(self._stream.fileno()), lambda text: self._encoded(f"\r{text}{clear}\n".encode()))

    def shown(self, text: str) -> str:
        """The text as this stream can show it."""
        if text.isprintable() and (self._emoji or text.isascii()):
            return text
        text = sanitize_terminal(text)
        return text if self._emoji else text.translate(_STAND_INS)

    def say(self, block: Sequence[str], style: str = "") -> None:
        """Whole lines, in one look. They are held until `flush`: a flood must not cost a write per line."""
        if style and self.color:
            self._join()
            lines = [line for text in block for line in text.split("\n")]
            shown = "".join([f"\x1b[{style}m{sanitize_terminal(line)}\x1b[0m\n" if line else "\n" for line in lines])
            self._held.append(shown.encode("utf-8", "replace"))
        else:
            self._lines += block

    def _join(self) -> None:
        """Most lines can be shown as they are, which one look at all of them together finds."""
        if self._lines:
            self._held += (sanitize_lines(self._lines), b"\n")
            self._lines = []

    def control(self, text: str, now_or_never: bool = False) -> bool:
        """Text of our own making that may move the cursor; it is seen at once. With `now_or_never` it is left out when
        the terminal is behind: False."""
        if now_or_never and self._writer is not None and not self._dead:
            self.flush()
            with suppress(OSError, ValueError):
                return self._writer.draw(self._encoded(text.encode("utf-8", "replace")))
        self._join()
        self._held.append(text.encode("utf-8", "replace"))
        self.flush()
        return True

    def flush(self) -> None:
        """Hand on what is held, here and by the stream."""
        self._join()
        data, self._held = b"".join(self._held), []
        if self._dead:
            return
        try:
            if self._writer is not None:
                self._writer.write(self._encoded(data)) if data else self._writer.catch_up()
                return
            self._put(data)
        except (OSError, ValueError):
            self._dead = True

    def catch_up(self) -> None:
        """Show what a terminal did not take before, if it does now."""
        if self._writer is not None:
            self.flush()

    def close(self) -> None:
        """Hand on the rest, or discard it if that is impossible."""
        self.flush()
        try:
            if self._writer is not None:
                self._writer.close()
        except (OSError, ValueError):
            self._dead = True
        if self._dead:
            discard(self._stream)

    def _encoded(self, data: bytes) -> bytes:
        return data if self._encoding in _UTF8 else self._text(data).encode(self._encoding, "replace")

    def _text(self, data: bytes) -> str:
        text = data.decode("utf-8", "replace")
        return text if self._emoji else text.translate(_STAND_INS)

    def _put(self, data: bytes) -> None:
        self._stream.flush()  # what others said before
        if not data:
            return
        if self._bytes is not None:
            self._bytes.write(data)
            self._bytes.flush()
            return
        text = self._text(data)
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
        self._stream.flush()


def _takes_bytes(stream: TextIO) -> BinaryIO | None:
    """Where bytes in UTF-8 can be written as they are; None where text has to be encoded or its line ends changed, or
    where a stream of another sort wants to see it."""
    if type(stream) is not io.TextIOWrapper or stream.encoding not in _UTF8 or os.linesep != "\n":
        return None
    found: BinaryIO = stream.buffer
    return found


def _can_show(encoding: str) -> bool:
    try:
        _NEEDED.encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _device(stream: TextIO) -> int | None:
    """The number of the terminal; None for what has no descriptor."""
    try:
        stream.flush()
        return os.fstat(stream.fileno()).st_rdev
    except (OSError, ValueError):
        return None


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (OSError, ValueError):
        return False
