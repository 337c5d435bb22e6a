"""JSON without the module `json`, which imports `re` and `enum`: they would take as long as all the rest of a call.

These are the C functions that `json` itself calls, with the same results; the same in Python 3.11 to 3.14.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Strict:
    """How `json` reads: as the standard has it, and its three constants besides."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _refuse(value: object) -> None:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _encoder(string: Callable[[str], str], colon: str, comma: str) -> Callable[[object, int], Any]:
    return make_encoder(None, _refuse, string, None, colon, comma, False, False, True)


_SPACE = " \t\n\r"
_scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Strict)  # type: ignore[arg-type]
_ascii = _encoder(encode_basestring_ascii, ": ", ", ")
_compact = _encoder(encode_basestring, ":", ",")


def loads(data: bytes | str) -> Any:
    """As `json.loads`, which is asked where this is no JSON in UTF-8: it knows other encodings, and what is wrong."""
    try:
        text = (data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")).strip(_SPACE)
        value, end = _scan(text, 0)
        if end == len(text):
            return value
    except (ValueError, StopIteration, SystemError):  # the last by Python 3.11, which has no error without `json`
        pass
    import json

    return json.loads(data)


def dumps(value: object) -> str:
    """As `json.dumps`."""
    return "".join(_ascii(value, 0))


def compact(value: object) -> str:
    """As short as it can be, in Unicode."""
    return "".join(_compact(value, 0))


def indented(value: object, by: str, string: Callable[[object], str] = dumps, line: str = "\n") -> str:
    """One line for each value; `string` writes what has nothing in it. Keys are strings."""
    deeper = line + by
    if isinstance(value, dict) and value:
        held = [f"{string(key)}: {indented(each, by, string, deeper)}" for key, each in value.items()]
        return "{" + deeper + f",{deeper}".join(held) + line + "}"
    if isinstance(value, list) and value:
        held = [indented(each, by, string, deeper) for each in value]
        return "[" + deeper + f",{deeper}".join(held) + line + "]"
    return string(value)
