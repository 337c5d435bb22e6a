"""Records: values under names, as a dataclass has them, without its price.

A dataclass writes and compiles code for each class, up to a millisecond at every start. For what has few instances.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """A subclass names its values by annotations, in order, those with a default last. Frozen unless it says not."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _names: ClassVar[dict[str, None]] = {}
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, frozen: bool = True) -> None:
        own = cls.__dict__
        names = [name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")]
        cls._names = cls._names | dict.fromkeys(names)
        cls.__match_args__ = tuple(cls._names)  # type: ignore[misc]
        cls._defaults = cls._defaults | {name: cls._default(own[name]) for name in names if name in own}
        if not frozen:
            cls.__setattr__ = object.__setattr__  # type: ignore[assignment, method-assign]

    @classmethod
    def _default(cls, given: Any) -> Any:
        """The default value behind what the class says."""
        return given

    def __init__(self, *given: Any, **named: Any) -> None:
        values = vars(self)
        values |= self._defaults
        placed = dict(zip(self._names, given, strict=False))
        values |= placed
        values |= named
        twice = placed.keys() & named.keys()
        if values.keys() != self._names.keys() or len(given) > len(self._names) or twice:
            wrong = ", ".join((values.keys() ^ self._names.keys()) | twice) or f"more than {len(self._names)} values"
            raise TypeError(f"{type(self).__name__} was given wrong values: {wrong}")

    def changed(self, **values: Any) -> Self:
        """A copy with other values."""
        return type(self)(**{**self._values(), **values})

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"
