"""A text stream that is safe to write to: writing never raises, and no foreign text can move the cursor.

A stream that fails once (a closed pipe, a dead terminal) is left alone for good.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Parameters of the ANSI code that sets the look of what follows."""

_NEEDED = "✓✗⚠🔧█░·↳…"
_STAND_INS = str.maketrans(
    {
        "✓": "[ok]",
        "✅": "[ok]",
        "✗": "[error]",
        "❌": "[error]",
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


_DISGUISES = (*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMLESS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_HARMLESS |= {ord("\r"): "", 0x7F: "␡", **dict.fromkeys(_DISGUISES, "\ufffd")}
"""Control characters become their pictures; direction marks, which can disguise a text, a question mark."""


def harmless(text: str) -> str:
    """Text that is not ours, without what would steer a terminal."""
    return text if text.isprintable() else text.translate(_HARMLESS)


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

    def __init__(self, stream: TextIO, color: bool, forced: bool = False) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._emoji = _can_show(self._encoding)
        self._dead = False
        self._held: list[str] = []
        self.terminal = _is_terminal(stream)
        self.color = color and (self.terminal or forced)
        self._shows_all = self._emoji and not self.terminal

    def shown(self, text: str) -> str:
        """The text as this stream can show it."""
        if self._shows_all or (text.isascii() and text.isprintable()):
            return text
        if self.terminal:
            text = harmless(text)
        return text if self._emoji else text.translate(_STAND_INS)

    def say(self, lines: Sequence[str], style: str = "") -> None:
        """Whole lines, in one look. They are held until `flush`: a flood must not cost a write per line."""
        if style and self.color:
            self._held += [f"\x1b[{style}m{self.shown(line)}\x1b[0m\n" if line else "\n" for line in lines]
        elif lines:
            self._held += ("\n".join(lines if self._shows_all else map(self.shown, lines)), "\n")

    def control(self, text: str) -> None:
        """Text of our own making that may move the cursor; it is seen at once."""
        self._held.append(text)
        self.flush()

    def flush(self) -> None:
        """Hand on what is held, here and by the stream."""
        text, self._held = "".join(self._held), []
        if self._dead:
            return
        try:
            if text:
                self._put(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._dead = True

    def close(self) -> None:
        """Hand on the rest, or discard it if that is impossible."""
        self.flush()
        if self._dead:
            discard(self._stream)

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))


def _can_show(encoding: str) -> bool:
    try:
        _NEEDED.encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (OSError, ValueError):
        return False
