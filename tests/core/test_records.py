"""Records behave as dataclasses do, and waiting expressions as compiled ones."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from claude_iterate.core.expressions import expression
from claude_iterate.core.records import Record
from claude_iterate.core.settings.declared import Settings


class Point(Record):
    x: int
    y: int = 2


class Place(Point):
    name: str = ""


class Counter(Record, frozen=False):
    count: int = 0


def test_values_are_given_by_place_by_name_or_by_default() -> None:
    """In the order of the annotations, those of the base class first."""
    assert (Point(1).x, Point(1).y) == (1, 2)
    assert (Point(1, 3).y, Point(y=4, x=1).y) == (3, 4)
    assert vars(Place(1, 2, "here")) == {"x": 1, "y": 2, "name": "here"}
    match Place(1, name="there"):
        case Place(x, _, name):
            assert (x, name) == (1, "there")


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((), {"y": 1, "z": 1})])
def test_wrong_values_are_refused(given: tuple[int, ...], named: dict[str, int]) -> None:
    """Too few, too many, or under a name that there is not."""
    with pytest.raises(TypeError, match="Point was given wrong values"):
        Point(*given, **named)


def test_a_record_is_frozen_unless_its_class_says_not() -> None:
    """An assignment is an error; a changed copy leaves the first as it is."""
    point = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x is frozen"):
        point.x = 5  # type: ignore[misc]
    assert (point.changed(x=5), point) == (Point(5), Point(1))
    with pytest.raises(TypeError):
        point.changed(z=5)
    counter = Counter()
    counter.count += 1
    assert (counter.count, Counter().count) == (1, 0)


def test_equal_values_make_equal_records_of_one_class() -> None:
    """They have one hash, and say what they hold."""
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1) != Place(1)
    assert len({Point(1), Point(1, 2), Point(2)}) == 2
    assert repr(Place(1, name="here")) == "Place(x=1, y=2, name='here')"


def test_settings_differ_from_their_declaration_only_where_they_are_set() -> None:
    """A group gives values, not what was declared about them."""
    settings = Settings(delay=5.0)
    assert settings == replace(Settings(), delay=5.0)
    assert settings.claude.command == ("claude",)
    assert replace(settings, claude=replace(settings.claude, model="x")).claude.model == "x"


def test_an_expression_waits_and_then_does_what_a_compiled_one_does() -> None:
    """Its methods, flags and pattern are those of `re.compile`; a mistake shows at the first use."""
    found, compiled = expression(r"(?P<word>b+)", re.IGNORECASE), re.compile(r"(?P<word>b+)", re.IGNORECASE)
    assert found.sub("x", "aBb") == compiled.sub("x", "aBb") == "ax"
    assert found.findall("abB b") == ["bB", "b"]
    assert (found.pattern, found.flags) == (compiled.pattern, compiled.flags)
    broken = expression("(")
    with pytest.raises(re.error):
        broken.search("x")


def test_a_value_is_given_once_and_stays() -> None:
    """By place or by name, not both; and it cannot be deleted."""
    with pytest.raises(TypeError, match="wrong values: x"):
        Point(1, x=2)  # type: ignore[misc]
    point = Point(1)
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
