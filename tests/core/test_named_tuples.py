"""Named tuples without the price of `typing`: the same classes."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from claude_iterate.core.named_tuples import NamedTuple


class Made(NamedTuple):
    """A pair and a word."""

    first: int
    second: str = "two"

    @property
    def both(self) -> str:
        """Both in one text."""
        return f"{self.first} {self.second}"


class Typed(typing.NamedTuple):
    """A pair and a word."""

    first: int
    second: str = "two"

    @property
    def both(self) -> str:
        """Both in one text."""
        return f"{self.first} {self.second}"


@pytest.mark.parametrize("word", ["_fields", "_field_defaults", "__doc__", "__module__", "__bases__", "__slots__"])
def test_it_is_what_typing_makes(word: str) -> None:
    """Fields, defaults and texts are those of `typing.NamedTuple`."""
    assert getattr(Made, word) == getattr(Typed, word)


def test_it_is_used_as_ever() -> None:
    """Values by name and by place, defaults, properties, `_replace`, equality, type hints."""
    made = Made(1)
    assert made == (1, "two")
    assert made._replace(first=3).both == "3 two"
    assert repr(made) == "Made(first=1, second='two')"
    assert typing.get_type_hints(Made) == typing.get_type_hints(Typed)
    with pytest.raises(AttributeError):
        made.first = 2  # type: ignore[misc]


def test_a_default_before_a_field_without_one_is_refused() -> None:
    """It would be given to another field."""
    maker: Any = type(NamedTuple)
    with pytest.raises(TypeError):
        maker("Bad", (NamedTuple,), {"__module__": "m", "__annotations__": {"a": "int", "b": "int"}, "a": 1})
