"""Named tuples as `typing.NamedTuple` makes them, at a third of its price.

`typing` compiles the text of each annotation to check that it is a type. mypy does that, too, and not at every start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - this is where others take it from
else:
    from collections import namedtuple

    class _Maker(type):
        """Makes the tuple's class from the body of a class that names its fields by annotations."""

        def __new__(cls, name, bases, body):
            if not bases:  # the base below: no tuple
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = {field: body[field] for field in fields if field in body}
            made = namedtuple(name, fields, defaults=defaults.values(), module=body["__module__"])  # noqa: PYI024
            if made._field_defaults.keys() != defaults.keys():
                raise TypeError(f"{name}: fields with a default stand last")
            made.__annotations__ = dict(fields)
            for word, value in body.items():
                if word not in fields and word not in ("__annotations__", "__module__"):
                    setattr(made, word, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """The base that a class names; no class has it in its order of bases."""
