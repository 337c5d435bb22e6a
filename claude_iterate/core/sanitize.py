"""Makes foreign text safe to show: it cannot steer a terminal, and cannot look like something else.

Claude and the programs that it runs print what they like. Journal and raw output keep it; everything that is printed or
sent goes through here.
"""

from __future__ import annotations

import re

_DISGUISES = (*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_PICTURES |= {ord("\r"): "", 0x7F: "␡", **dict.fromkeys(_DISGUISES, "\ufffd")}
"""Control characters become their pictures; direction marks, which can disguise a text, a question mark."""
_CONTROL = re.compile(f"[{''.join(map(chr, _PICTURES))}]")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""What programs print most: colours, and `erase the rest of the line`. They only get in the way of reading."""
_BEYOND_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def sanitize_terminal(text: str) -> str:
    """The text without colours, its other control characters as pictures; line ends and tabs stay."""
    if _CONTROL.search(text) is None:
        return text
    return _COLOUR.sub("", text).translate(_PICTURES)


def sanitize_lines(lines: list[str]) -> bytes:
    """The lines as one sanitized text in UTF-8. A line may be a text of several."""
    return sanitize_terminal("\n".join(lines)).encode("utf-8", "replace")


def sanitize_json(document: str) -> str:
    """A JSON document that means the same, with the characters escaped that JSON would let through."""
    return _BEYOND_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
