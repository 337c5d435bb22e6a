"""Bad input by chance: mutations of bytes, of text and of JSON documents. All from one `random.Random`."""

from __future__ import annotations

import json
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**63,
    2**64,
    -(2**70),
    10**30,
    1e308,
    -0.0,
    float("nan"),
    float("inf"),
    0.1,
    "",
    " ",
    "\x00",
    "\ud83d",
    "\u2028",
    "é" * 300,
    "\x1b[31m",
    "1",
    "NaN",
    "9" * 5000,
    "x" * 20_000,
    [],
    {},
    [[]],
    {"": ""},
    [None],
    {"type": "text"},
    {"text": {"text": 1}},
)
PIECES = (
    b"\n", b"\r\n", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"{", b"}", b"[", b"]", b"\\u0000",
    b"\\ud800", b"null", b"NaN", b"1e999", b"9" * 400, b"-", b":", b",", b"=", b"\t", b"#", b"'", b'"""',
    b"\xe2\x80\xa8", b"{" * 200,
)  # fmt: skip


def document(chance: Random, value: Any, changes: int = 3) -> Any:
    """The document with some values replaced, removed, doubled or moved."""
    for _ in range(chance.randint(1, changes)):
        value = _changed(chance, value, chance.randint(0, 6))
    return value


def _changed(chance: Random, value: Any, depth: int) -> Any:
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return _odd(chance, value)
    if isinstance(value, list):
        place = chance.randrange(len(value))
        changed = list(value)
        changed[place] = _changed(chance, value[place], depth - 1)
        return changed if chance.random() < 0.9 else changed * 2
    key = chance.choice(list(value))
    changed_table = dict(value)
    if chance.random() < 0.1:
        changed_table[str(_odd(chance, key))] = changed_table.pop(key)
    else:
        changed_table[key] = _changed(chance, value[key], depth - 1)
    return changed_table


def _odd(chance: Random, value: Any) -> Any:
    kind = chance.random()
    if kind < 0.1:
        deep: Any = value
        for _ in range(chance.choice((3, 70, 400))):
            deep = [deep] if chance.random() < 0.5 else {"a": deep}
        return deep
    if kind < 0.2 and isinstance(value, str):
        return value.encode("utf-8", "replace").decode("latin-1")
    return chance.choice(ODD)


def encoded(chance: Random, value: Any) -> bytes:
    """JSON as some writer might write it."""
    try:
        return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b"[" * 2000


def data(chance: Random, value: bytes, changes: int = 4) -> bytes:
    """The bytes with pieces flipped, cut, doubled or put in."""
    for _ in range(chance.randint(0, changes)):
        place = chance.randrange(len(value) + 1)
        kind = chance.randrange(6)
        if kind == 0 and value:
            place = min(place, len(value) - 1)
            value = value[:place] + bytes([chance.randrange(256)]) + value[place + 1 :]
        elif kind == 1:
            value = value[:place] + chance.choice(PIECES) + value[place:]
        elif kind == 2:
            value = value[:place] + value[place + chance.randrange(1, 200) :]
        elif kind == 3:
            value = value[:place] + value[place : place + 100] * chance.choice((2, 3, 300)) + value[place:]
        elif kind == 4:
            value = value[:place]
        else:
            value = value[place:] + value[:place]
    return value


def text(chance: Random, value: str, changes: int = 4) -> str:
    """The same for text; odd bytes become replacement characters or lone surrogates."""
    errors = chance.choice(("replace", "surrogateescape"))
    return data(chance, value.encode("utf-8", "surrogatepass"), changes).decode("utf-8", errors)


def chunks(chance: Random, value: bytes) -> list[bytes]:
    """The bytes in pieces of any size."""
    size = chance.choice((1, 7, 100, 4096)) if len(value) < 3000 else chance.choice((100, 4096, 65536))
    return [value[place : place + size] for place in range(0, len(value), size)]
