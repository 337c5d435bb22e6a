"""Text that is not ours, made harmless: it cannot steer a terminal, and cannot look like something else.

Claude and the programs that it runs print what they like. Journal and raw output keep it; everything that is printed or
sent goes through here.
"""

from __future__ import annotations

import re

_DISGUISES = (*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_PICTURES |= {ord("\r"): "", 0x7F: "␡", **dict.fromkeys(_DISGUISES, "\ufffd")}
"""Control characters become their pictures; direction marks, which can disguise a text, a question mark."""
_CONTROLS = bytes(code for code in _PICTURES if code < 0x80)
_C1, _DIRECTIONS = (
    re.compile(rb"\xc2[\x80-\x9f]"),
    re.compile(rb"\xe2(?:\x80[\xa8-\xae]|\x81[\xa6-\xa9])"),
)
"""All others of them in UTF-8. Each begins with a fixed byte: such a search passes over the rest quickly."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""What programs print most: colours, and `erase the rest of the line`. They only get in the way of reading."""
_BEYOND_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text without colours, its other control characters as pictures; line ends and tabs stay."""
    if text.isprintable() or is_harmless(text.encode("utf-8", "replace")):
        return text
    return _COLOUR.sub("", text).translate(_PICTURES)


def is_harmless(data: bytes) -> bool:
    """True for a text in UTF-8 that needs no change, however long: most need none, and this costs no look at each
    line. Bytes are looked through in half the time that characters take."""
    clean = len(data.translate(None, _CONTROLS)) == len(data)
    # A search for one byte costs nothing, and finds out that most texts need no other.
    if clean and b"\xc2" in data:
        clean = _C1.search(data) is None
    return clean and (b"\xe2" not in data or _DIRECTIONS.search(data) is None)


def harmless_lines(lines: list[str]) -> bytes:
    """The lines as one text in UTF-8, each made harmless. A line may be a text of several."""
    try:
        # One by one: joined before, a single emoji would make all of them four times as large.
        data = b"\n".join(map(str.encode, lines))
        if is_harmless(data):
            return data
    except UnicodeEncodeError:
        pass
    return "\n".join(map(harmless, lines)).encode("utf-8", "replace")


def harmless_json(document: str) -> str:
    """A JSON document that means the same, with the characters escaped that JSON would let through."""
    return _BEYOND_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
