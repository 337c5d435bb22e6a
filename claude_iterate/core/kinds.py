"""Kinds of setting values: what each accepts, from a file (typed) or from text (environment, command line).

A kind is asked once per value; what it refuses, it refuses with the words that the error message shows.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from claude_iterate.core import durations


@dataclass(frozen=True)
class Kind:
    """Accepts any string. The base of the others."""

    @property
    def expected(self) -> str:
        """The noun phrase of error messages and of the reference page."""
        return "a text"

    def accept(self, value: Any) -> Any:
        """The value as the program uses it; ValueError otherwise."""
        if not isinstance(value, str):
            raise ValueError(self.expected)
        return value

    def from_text(self, text: str) -> Any:
        """The same, from a string typed by a person."""
        return self.accept(text)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Words(Kind):
    """A list of strings. As text: a JSON array, or words separated by commas."""

    each: Kind | None = None

    @property
    def expected(self) -> str:
        return "a list of texts" if self.each is None else f"a list, each {self.each.expected}"

    def accept(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
            raise ValueError(self.expected)
        if self.each is not None:
            for word in value:
                self.each.accept(word)
        return tuple(value)

    def from_text(self, text: str) -> tuple[str, ...]:
        stripped = text.strip()
        if stripped.startswith("["):
            return self.accept(_json(stripped, self.expected))
        return self.accept([word.strip() for word in stripped.split(",") if word.strip()])


@dataclass(frozen=True)
class Table(Kind):
    """Names and texts. As text: a JSON object."""

    @property
    def expected(self) -> str:
        return "a table of names and texts"

    def accept(self, value: Any) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise ValueError(self.expected)
        return dict(value)

    def from_text(self, text: str) -> dict[str, str]:
        return self.accept(_json(text, self.expected))


@dataclass(frozen=True)
class Headers(Table):
    """Names and values of HTTP headers. A line break in one would smuggle in another."""

    @property
    def expected(self) -> str:
        return "a table of header names and texts on one line"

    def accept(self, value: Any) -> dict[str, str]:
        for name, text in super().accept(value).items():
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\x00-\x1f\x7f]", text):
                raise ValueError(self.expected)
        return dict(value)


@dataclass(frozen=True)
class WebAddress(Kind):
    """An http or https address with a host, or the empty text, which takes back what a weaker layer set."""

    @property
    def expected(self) -> str:
        return "an http or https address with a host, for example https://ntfy.sh/my-topic"

    def accept(self, value: Any) -> str:
        address = str(super().accept(value)).strip()
        if address and not self._is_complete(address):
            raise ValueError(self.expected)
        return address

    @staticmethod
    def _is_complete(address: str) -> bool:
        if re.search(r"[\x00-\x20\x7f]", address):
            return False
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0


@dataclass(frozen=True)
class Program(Kind):
    """A program: its name or path, or a list of the program and its first arguments."""

    @property
    def expected(self) -> str:
        return "a program, or a list of a program and its arguments"

    def accept(self, value: Any) -> tuple[str, ...]:
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list | tuple) or not words or not all(isinstance(w, str) and w for w in words):
            raise ValueError(self.expected)
        return tuple(words)

    def from_text(self, text: str) -> tuple[str, ...]:
        stripped = text.strip()
        return self.accept(_json(stripped, self.expected) if stripped.startswith("[") else stripped)


def _json(text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(expected) from None
