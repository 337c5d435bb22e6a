"""Kinds of setting values: what each accepts, from a file (typed) or from text (environment, command line).

Kinds are compared by nobody, so their dataclasses are plain ones: every start-up pays for what is generated.
A kind is asked once per value; what it refuses, it refuses with the words that the error message shows.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from claude_iterate.core.settings import durations


@dataclass(repr=False, eq=False)
class Kind:
    """Accepts any string. The base of the others."""

    @property
    def expected(self) -> str:
        """The noun phrase of error messages and of the reference page."""
        return "a text"

    def accept(self, value: Any) -> Any:
        """The value as the program uses it; ValueError otherwise."""
        if not isinstance(value, str) or not _can_be_given(value):
            raise ValueError(self.expected)
        return value

    def from_text(self, text: str) -> Any:
        """The same, from a string typed by a person."""
        return self.accept(text)


@dataclass(repr=False, eq=False)
class Flag(Kind):
    """true or false."""

    @property
    def expected(self) -> str:
        return "true or false"

    def accept(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(self.expected)
        return value

    def from_text(self, text: str) -> bool:
        word = text.strip().lower()
        if word in {"true", "yes", "on", "1"}:
            return True
        if word in {"false", "no", "off", "0"}:
            return False
        raise ValueError(self.expected)


@dataclass(repr=False, eq=False)
class Whole(Kind):
    """A whole number within bounds."""

    at_least: int = 0
    at_most: int | None = None

    @property
    def expected(self) -> str:
        if self.at_most is not None:
            return f"a whole number from {self.at_least} to {self.at_most}"
        return f"a whole number of at least {self.at_least}"

    def accept(self, value: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < self.at_least:
            raise ValueError(self.expected)
        if self.at_most is not None and value > self.at_most:
            raise ValueError(self.expected)
        return value

    def from_text(self, text: str) -> int:
        try:
            return self.accept(int(text.strip()))
        except ValueError:
            raise ValueError(self.expected) from None


@dataclass(repr=False, eq=False)
class Amount(Kind):
    """A sum of money in US dollars."""

    @property
    def expected(self) -> str:
        return "an amount in US dollars above 0"

    def accept(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(self.expected)
        return float(value)

    def from_text(self, text: str) -> float:
        try:
            return self.accept(float(text.strip().lstrip("$")))
        except ValueError:
            raise ValueError(self.expected) from None


@dataclass(repr=False, eq=False)
class Duration(Kind):
    """Seconds, or text with units."""

    above_zero: bool = False

    @property
    def expected(self) -> str:
        return f"a duration{' above 0' if self.above_zero else ''}, such as 90, 90s, 5m or 1h30m"

    def accept(self, value: Any) -> float:
        if isinstance(value, str):
            return self.from_text(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(self.expected)
        if not 0 <= value < 1e10 or (self.above_zero and value == 0):
            raise ValueError(self.expected)
        return float(value)

    def from_text(self, text: str) -> float:
        try:
            return self.accept(durations.parse(text))
        except ValueError:
            raise ValueError(self.expected) from None


@dataclass(repr=False, eq=False)
class Choice(Kind):
    """One of a few words."""

    words: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        return "one of " + ", ".join(self.words)

    def accept(self, value: Any) -> str:
        if value not in self.words:
            raise ValueError(self.expected)
        return str(value)


@dataclass(repr=False, eq=False)
class Words(Kind):
    """A list of strings. As text: a JSON array, or words separated by commas."""

    each: Kind | None = None

    @property
    def expected(self) -> str:
        return "a list of texts" if self.each is None else f"a list, each {self.each.expected}"

    def accept(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(self.expected)
        if not all(isinstance(word, str) and _can_be_given(word) for word in value):
            raise ValueError(self.expected)
        if self.each is not None:
            for word in value:
                self.each.accept(word)
        return tuple(value)

    def from_text(self, text: str) -> tuple[str, ...]:
        stripped = text.strip()
        if stripped.startswith("["):
            return self.accept(_json(stripped, self.expected))
        if isinstance(self.each, Pattern):
            return self.accept([stripped] if stripped else [])  # a comma is a part of it: `x{1,3}`
        return self.accept([word.strip() for word in stripped.split(",") if word.strip()])


@dataclass(repr=False, eq=False)
class Table(Kind):
    """Names and texts. As text: a JSON object."""

    @property
    def expected(self) -> str:
        return "a table of names and texts"

    def accept(self, value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise ValueError(self.expected)
        for name, item in value.items():
            if not isinstance(item, str) or not _can_be_given(name + item) or "=" in name or not name:
                raise ValueError(self.expected)
        return dict(value)

    def from_text(self, text: str) -> dict[str, str]:
        return self.accept(_json(text, self.expected))


_WINDOW = re.compile(r"[a-z0-9_]+")
"""How Claude Code spells the windows it has today; new ones will look like them."""


@dataclass(repr=False, eq=False)
class Shares(Kind):
    """Usage windows and percentages. As text: a JSON object."""

    @property
    def expected(self) -> str:
        return "a table of windows (five_hour, seven_day, seven_day_opus, ...) and percentages from 0 to 100"

    def accept(self, value: Any) -> dict[str, float]:
        if not isinstance(value, dict):
            raise ValueError(self.expected)
        for name, share in value.items():
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 100:
                raise ValueError(self.expected)
            if not _WINDOW.fullmatch(name):
                raise ValueError(self.expected)
        return {name: float(share) for name, share in value.items()}

    def from_text(self, text: str) -> dict[str, float]:
        return self.accept(_json(text, self.expected))


OWN_FILES = frozenset(
    {"instructions.md", "todo.md", ".status.json", ".metadata.json", ".status-instructions.md", ".lock"}
    | {"runs", "control", "notes", "hooks", "prompts", "working", "validation-report.md"}
)
"""Names in a workspace that mean something else; compared without regard to case, as some disks do."""


@dataclass(repr=False, eq=False)
class ReportName(Kind):
    """The name of a file in the workspace that is none of ours."""

    @property
    def expected(self) -> str:
        return "the name of a file in the workspace that is not used for anything else, such as review.md"

    def accept(self, value: Any) -> str:
        name = super().accept(value)
        if not name.strip() or set(name) & {"/", "\\"} or name in {".", ".."} or name.lower() in OWN_FILES:
            raise ValueError(self.expected)
        return str(name)


@dataclass(repr=False, eq=False)
class Pattern(Kind):
    """A regular expression, for the library that can be told to give up (see `core.limits`)."""

    @property
    def expected(self) -> str:
        return "a regular expression that does not fit everything"

    def accept(self, value: Any) -> str:
        import regex

        try:
            fits_everything = regex.compile(value).search("", timeout=1.0) is not None
        except (regex.error, TypeError, ValueError, OverflowError, RecursionError, TimeoutError):
            raise ValueError(self.expected) from None
        if fits_everything:
            raise ValueError(self.expected)
        return str(value)


@dataclass(repr=False, eq=False)
class Program(Kind):
    """A program: its name or path, or a list of the program and its first arguments."""

    @property
    def expected(self) -> str:
        return "a program, or a list of a program and its arguments"

    def accept(self, value: Any) -> tuple[str, ...]:
        words = [value] if isinstance(value, str) else value
        if (
            not isinstance(words, list | tuple)
            or not words
            or not all(isinstance(w, str) and w and _can_be_given(w) for w in words)
        ):
            raise ValueError(self.expected)
        return tuple(words)

    def from_text(self, text: str) -> tuple[str, ...]:
        stripped = text.strip()
        return self.accept(_json(stripped, self.expected) if stripped.startswith("[") else stripped)


def _can_be_given(text: str) -> bool:
    """No program takes a NUL, and no file a character that UTF-8 does not have."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def _json(text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(expected) from None
