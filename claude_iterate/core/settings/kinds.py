"""Kinds of setting values, one row each: what is expected, what is accepted, how typed text is read.

A row accepts what a file holds (typed) or what `read` makes of a text (environment, command line).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from claude_iterate.core import hours


class Kind(msgspec.Struct, frozen=True):
    """`take` returns the value as the program uses it, or raises; `form` is list, table, duration or program where
    that matters to a file, to `config` or to the documentation."""

    expected: str
    take: Callable[[Any], Any]
    read: Callable[[str], Any] = str
    form: str = ""
    words: tuple[str, ...] = ()
    """The values, where there are only a few; of a list its items."""

    def accept(self, value: Any) -> Any:
        """The value as the program uses it; otherwise a ValueError with what was expected."""
        try:
            return self.take(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise ValueError(self.expected) from None

    def from_text(self, text: str) -> Any:
        """The same, from a text that the user typed."""
        try:
            value = self.read(text)
        except (ValueError, RecursionError):
            raise ValueError(self.expected) from None
        return self.accept(value)


def whole(at_least: int = 0, at_most: int | None = None) -> Kind:
    """A whole number within bounds."""

    def take(value: Any) -> int:
        number = _number(value)
        _require(number == int(number) and number >= at_least and (at_most is None or number <= at_most))
        return int(number)

    bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    return Kind(f"a whole number {bounds}", take, int)


def duration(above_zero: bool = False) -> Kind:
    """Seconds, or text with units."""

    def take(value: Any) -> float:
        seconds = _seconds(value) if isinstance(value, str) else _number(value)
        _require(0 <= seconds < 1e10 and not (above_zero and seconds == 0))
        return float(seconds)

    above = " above 0" if above_zero else ""
    return Kind(f"a duration{above}, such as 90, 90s, 5m or 1h30m", take, form="duration")


def choice(*words: str) -> Kind:
    """One of a few words."""

    def take(value: Any) -> str:
        _require(value in words)
        return str(value)

    return Kind("one of " + ", ".join(words), take, words=words)


def each(kind: Kind, commas: bool = True) -> Kind:
    """A list. As text: a JSON array, or items separated by commas, or one item where a comma can be a part of it."""

    def take(value: Any) -> tuple[Any, ...]:
        _require(isinstance(value, list | tuple))
        return tuple(kind.take(item) for item in value)

    def read(text: str) -> Any:
        if text.strip().startswith("["):
            return json.loads(text)
        items = text.split(",") if commas else [text]
        return [item.strip() for item in items if item.strip()]

    expected = "a list of texts" if kind is TEXT else f"a list, each {kind.expected}"
    return Kind(expected, take, read, "list", kind.words)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _text(value: Any) -> str:
    """No program takes a NUL, and no file a character that UTF-8 does not have."""
    _require(isinstance(value, str))
    _require(not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value))
    return str(value)


def _number(value: Any) -> int | float:
    _require(isinstance(value, int | float) and not isinstance(value, bool))
    return value  # type: ignore[no-any-return]


def _flag(value: Any) -> bool:
    _require(isinstance(value, bool))
    return bool(value)


_FLAG_WORDS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)


def _amount(value: Any) -> float:
    _require(0 < _number(value) < math.inf)
    return float(value)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def _seconds(text: str) -> float:
    """`90`, `90s`, `1h30m` or `1.5h` in seconds."""
    compact = text.strip().lower().replace(" ", "")
    try:
        return float(compact)
    except ValueError:
        _require(re.fullmatch(rf"(?:{_PART.pattern})+", compact) is not None)
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))


def _table(value: Any) -> dict[str, str]:
    _require(isinstance(value, dict))
    for name, text in value.items():
        _require(bool(_text(name)) and "=" not in name)
        _text(text)
    return dict(value)


def _shares(value: Any) -> dict[str, float]:
    _require(isinstance(value, dict))
    for name, share in value.items():
        # How Claude Code spells the windows it has today; new ones will look like them.
        _require(re.fullmatch(r"[a-z0-9_]+", name) is not None and 0 <= _number(share) <= 100)
    return {name: float(share) for name, share in value.items()}


def _headers(value: Any) -> dict[str, str]:
    """A line break in a header would add another header."""
    for name, text in _table(value).items():
        _require(re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None)
        _require(re.search(r"[\x00-\x1f\x7f]", text) is None)
    return dict(value)


def _program(value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    _require(isinstance(words, list | tuple) and bool(words) and all(words))
    return tuple(_text(word) for word in words)


def _command(value: Any) -> str:
    """A command without a word in it would succeed and prove nothing."""
    _require(bool(_text(value).strip()))
    return str(value)


def _pattern(value: Any) -> str:
    """For the library whose searches can be given a time-out."""
    import regex

    try:
        _require(regex.compile(value).search("", timeout=1.0) is None)
    except (regex.error, TimeoutError) as error:
        raise ValueError from error
    return str(value)


def _web_address(value: Any) -> str:
    """An empty text takes back what a weaker layer set."""
    address = _text(value).strip()
    if address:
        parts = urlsplit(address)
        _require(re.search(r"[\x00-\x20\x7f]", address) is None and parts.port != 0)
        _require(parts.scheme in {"http", "https"} and bool(parts.hostname))
    return address


def _report_address(value: Any) -> str:
    """An address in which the names of a run are filled in; nothing else may stand in braces."""
    address = _text(value).strip()
    for name in PLACES_IN_ADDRESS:
        address = address.replace(f"{{{name}}}", "x")
    _require("{" not in address and "}" not in address)
    _web_address(address)
    return _text(value).strip()


def _timetable(part: str) -> Callable[[Any], str]:
    """A text that means hours or days, kept as it was written. `part` is what judges it in `core.hours`."""

    def take(value: Any) -> str:
        getattr(hours, part)(_text(value))
        return str(value)

    return take


OWN_FILES = frozenset(
    {"instructions.md", "todo.md", ".status.json", ".metadata.json", ".status-instructions.md", ".lock"}
    | {"runs", "control", "notes", "hooks", "prompts", "working", "validation-report.md"}
)
"""Names in a workspace that mean something else; compared without regard to case, as some disks do."""


def _report_name(value: Any) -> str:
    name = _text(value)
    _require(bool(name.strip()) and not set(name) & {"/", "\\"})
    _require(name not in {".", ".."} and name.lower() not in OWN_FILES)
    return name


def _window(value: Any) -> str:
    """As Claude Code reads it, but no shorthand that a reader would take for something else."""
    if value == "auto":
        return "auto"
    text = str(_number(value)) if not isinstance(value, str) else value.strip().lower()
    _require(re.fullmatch(r"[1-9]\d*k?", text) is not None)
    _require(int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1) >= 100_000)
    return text


TEXT = Kind("a text", _text)
WINDOW = Kind("auto, or a number of tokens from 100k on, such as 150k", _window)
DURATION, TIME_LIMIT = duration(), duration(above_zero=True)
FLAG = Kind("true or false", _flag, lambda text: _FLAG_WORDS.get(text.strip().lower()), words=("true", "false"))
AMOUNT = Kind("an amount in US dollars above 0", _amount, lambda text: float(text.strip().lstrip("$")))
TEXTS = each(TEXT)
TABLE = Kind('a table of names and texts, for example {"NAME": "text"}', _table, json.loads, "table")
SHARES = Kind(
    "a table of windows (five_hour, seven_day, seven_day_opus, ...) and percentages from 0 to 100",
    _shares,
    json.loads,
    "table",
)
HEADERS = Kind("a table of header names and texts on one line", _headers, json.loads, "table")
PROGRAM = Kind(
    "a program, or a list of a program and its arguments",
    _program,
    lambda text: json.loads(text) if text.strip().startswith("[") else text.strip(),
    "program",
)
HOURS = each(
    Kind("a span of the day such as 22:00-06:00, of two different times from 00:00 to 24:00", _timetable("span"))
)
WEEKDAYS = each(Kind("a day or a range of days, such as sat or mon-fri", _timetable("days")))
COMMANDS = each(Kind("a command that is not empty", _command))
PATTERNS = each(Kind("a regular expression that does not match everything", _pattern), commas=False)
WEB_ADDRESS = Kind("an http or https address with a host, for example https://ntfy.sh/my-topic", _web_address)
PLACES_IN_ADDRESS = ("project", "workspace", "run")
REPORT_ADDRESS = Kind(
    "an http or https address in which {project}, {workspace} and {run} may stand, for example"
    " https://example.org/{workspace}/report-{run}.html",
    _report_address,
)
REPORT_NAME = Kind(
    "the name of a file in the workspace that is not used for anything else, such as review.md", _report_name
)
