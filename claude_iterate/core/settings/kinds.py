"""Kinds of setting values, one row each: what is expected, what is accepted, how typed text is read.

A row accepts what a file holds (typed) or what `read` makes of a text (environment, command line).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from claude_iterate.core import hours


class Kind(msgspec.Struct, frozen=True):
    """`shape` is the type that msgspec makes of a value; `refine` judges what a type cannot say, and returns the value
    as the program uses it. `form` is list, table, duration or program where that matters to a file, to `config` or to
    the documentation."""

    expected: str
    shape: Any
    refine: Callable[[Any], Any] = lambda value: value
    read: Callable[[str], Any] = str
    form: str = ""
    words: tuple[str, ...] = ()
    """The values, where there are only a few; of a list its items."""

    def accept(self, value: Any) -> Any:
        """The value as the program uses it; otherwise a ValueError with what was expected."""
        try:
            return self.refine(msgspec.convert(value, self.shape))
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise ValueError(self.expected) from None

    def from_text(self, text: str) -> Any:
        """The same, from a text that the user typed."""
        try:
            return self.accept(self.read(text))
        except (ValueError, RecursionError):
            raise ValueError(self.expected) from None


def whole(at_least: int = 0, at_most: int | None = None) -> Kind:
    """A whole number within bounds."""

    def refine(value: float) -> int:
        _require(value == int(value) and value >= at_least and (at_most is None or value <= at_most))
        return int(value)

    bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    return Kind(f"a whole number {bounds}", int | float, refine, int)


def choice(*words: str) -> Kind:
    """One of a few words."""
    return Kind("one of " + ", ".join(words), Literal[words], words=words)


def each(kind: Kind, commas: bool = True) -> Kind:
    """A list. As text: a JSON array, or items separated by commas, or one item where a comma can be a part of it."""

    def read(text: str) -> Any:
        if text.strip().startswith("["):
            return json.loads(text)
        items = text.split(",") if commas else [text]
        return [item.strip() for item in items if item.strip()]

    def refine(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(kind.refine, items))

    expected = "a list of texts" if kind is TEXT else f"a list, each {kind.expected}"
    shape: Any = tuple[kind.shape, ...]  # type: ignore[name-defined]
    return Kind(expected, shape, refine, read, "list", kind.words)


def _valid(parse: Callable[[str], Any]) -> Callable[[str], str]:
    """A text that can be parsed, kept as it was written."""

    def refine(value: str) -> str:
        parse(value)
        return value

    return refine


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _text_type(pattern: str) -> Any:
    """The type of texts that match as a whole."""
    return Annotated[str, Meta(pattern=rf"\A(?:{pattern})\Z")]


def _table(names: str, values: Any) -> Any:
    return dict[_text_type(names), values]  # type: ignore[misc]


_CHARACTER = r"[^\0\ud800-\udfff]"
"""No program takes a NUL, and no file a character that UTF-8 does not have."""
_TEXT = _text_type(f"{_CHARACTER}*")
_FLAG_WORDS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def _duration(value: float | str) -> float:
    """Seconds, or `90`, `90s`, `1h30m` or `1.5h`."""
    compact = str(value).strip().lower().replace(" ", "")
    if re.fullmatch(rf"(?:{_PART.pattern})+", compact):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))
    else:
        seconds = float(compact)
    _require(0 <= seconds < 1e10)
    return seconds


def _time_limit(value: float | str) -> float:
    seconds = _duration(value)
    _require(seconds > 0)
    return seconds


def _program(value: Any) -> tuple[str, ...]:
    words: tuple[str, ...] = TEXTS.accept([value] if isinstance(value, str) else value)
    _require(bool(words) and all(words))
    return words


def _pattern(value: str) -> str:
    """For the library whose searches can be given a time-out."""
    import regex

    try:
        _require(regex.compile(value).search("", timeout=1.0) is None)
    except (regex.error, TimeoutError) as error:
        raise ValueError from error
    return value


_WEB_ADDRESS = re.compile(
    r"(?i:https?)://([^\x00-\x20\x7f/?#@]*@)?(\[[0-9a-fA-F:.]+\]|[^\x00-\x20\x7f/?#@:\[\]]+)(:(?P<port>\d{0,5}))?"
    r"([/?#][^\x00-\x20\x7f]*)?"
)


def _web_address(value: str) -> str:
    """An empty text takes back what a weaker layer set."""
    address = value.strip()
    found = _WEB_ADDRESS.fullmatch(address)
    _require(not address or (found is not None and 0 < int(found["port"] or 443) < 65536))
    return address


def _report_address(value: str) -> str:
    """An address in which the names of a run are filled in; nothing else may stand in braces."""
    address = value
    for name in PLACES_IN_ADDRESS:
        address = address.replace(f"{{{name}}}", "x")
    _require("{" not in address and "}" not in address)
    _web_address(address)
    return value.strip()


OWN_FILES = frozenset(
    {"instructions.md", "todo.md", ".status.json", ".metadata.json", ".status-instructions.md", ".lock"}
    | {"runs", "control", "notes", "hooks", "prompts", "working", "validation-report.md"}
)
"""Names in a workspace that mean something else; compared without regard to case, as some disks do."""


def _report_name(value: str) -> str:
    _require(bool(value.strip()) and not set(value) & {"/", "\\"})
    _require(value not in {".", ".."} and value.lower() not in OWN_FILES)
    return value


def _window(value: str | float) -> str:
    """As Claude Code reads it, but no shorthand that a reader would take for something else."""
    text = str(value).strip().lower()
    if value == "auto":
        return "auto"
    _require(re.fullmatch(r"[1-9]\d*k?", text) is not None)
    _require(int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1) >= 100_000)
    return text


TEXT = Kind("a text", _TEXT)
TEXTS = each(TEXT)
FLAG = Kind("true or false", bool, read=lambda text: _FLAG_WORDS.get(text.strip().lower()), words=("true", "false"))
AMOUNT = Kind(
    "an amount in US dollars above 0",
    Annotated[float, Meta(gt=0, lt=1e12)],
    read=lambda text: float(text.strip().lstrip("$")),
)
DURATION = Kind("a duration, such as 90, 90s, 5m or 1h30m", float | str, _duration, form="duration")
TIME_LIMIT = Kind("a duration above 0, such as 90, 90s, 5m or 1h30m", float | str, _time_limit, form="duration")
WINDOW = Kind("auto, or a number of tokens from 100k on, such as 150k", str | int | float, _window)
TABLE = Kind(
    'a table of names and texts, for example {"NAME": "text"}',
    _table(r"[^\0\ud800-\udfff=]+", _TEXT),
    read=json.loads,
    form="table",
)
# How Claude Code spells the windows it has today; new ones will look like them.
SHARES = Kind(
    "a table of windows (five_hour, seven_day, seven_day_opus, ...) and percentages from 0 to 100",
    _table("[a-z0-9_]+", Annotated[float, Meta(ge=0, le=100)]),
    read=json.loads,
    form="table",
)
# A line break in a header would add another header.
HEADERS = Kind(
    "a table of header names and texts on one line",
    _table(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", _text_type(r"[^\x00-\x1f\x7f\ud800-\udfff]*")),
    read=json.loads,
    form="table",
)
PROGRAM = Kind(
    "a program, or a list of a program and its arguments",
    Any,
    _program,
    lambda text: json.loads(text) if text.strip().startswith("[") else text.strip(),
    "program",
)
HOURS = each(
    Kind("a span of the day such as 22:00-06:00, of two different times from 00:00 to 24:00", _TEXT, _valid(hours.span))
)
WEEKDAYS = each(Kind("a day or a range of days, such as sat or mon-fri", _TEXT, _valid(hours.days)))
# A command without a word in it would succeed and prove nothing.
COMMANDS = each(Kind("a non-empty shell command", _text_type(rf"{_CHARACTER}*[^\s\0\ud800-\udfff]{_CHARACTER}*")))
PATTERNS = each(Kind("a regular expression that does not match everything", str, _pattern), commas=False)
WEB_ADDRESS = Kind("an http or https address with a host, for example https://ntfy.sh/my-topic", _TEXT, _web_address)
PLACES_IN_ADDRESS = ("project", "workspace", "run")
REPORT_ADDRESS = Kind(
    "an http or https address in which {project}, {workspace} and {run} may stand, for example"
    " https://example.org/{workspace}/report-{run}.html",
    _TEXT,
    _report_address,
)
REPORT_NAME = Kind(
    "the name of a file in the workspace that is not used for anything else, such as review.md", _TEXT, _report_name
)
MEMORY = Kind("a size with its unit, such as 512m or 4g", _text_type("[1-9][0-9]*[bkmgBKMG]"), str.lower)
PROCESSORS = Kind("a number of processors above 0, such as 2 or 0.5", Annotated[float, Meta(gt=0, le=1024)], read=float)
# A comma, a colon and a link upwards would mean something else to docker.
PLACES = each(
    Kind(
        "an absolute path or one from ~/, with `:rw` at its end if it may be written",
        _text_type(r"(?!.*/\.\.(/|:rw|\Z))(/|~/)[^\0:,\n]+(:rw)?"),
    )
)
VARIABLES = each(Kind("the name of an environment variable", _text_type("[A-Za-z_][A-Za-z0-9_]*")))
IMAGE = Kind("the name of an image, such as my-image:latest", _text_type("[A-Za-z0-9][A-Za-z0-9._/:@-]*"))
