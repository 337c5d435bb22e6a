"""The settings as a table: by key, by every accepted spelling, and built from values."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_type_hints

import msgspec
from msgspec.structs import asdict

from claude_iterate.core.settings.declared import Group, Settings
from claude_iterate.core.settings.kinds import Kind


class Setting(msgspec.Struct, frozen=True):
    """One declared setting, as the tables see it."""

    key: str
    kind: Kind
    default: Any
    sentence: str
    original: tuple[str, ...]

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "CLAUDE_ITERATE_" + self.key.upper().replace(".", "__")


def _walk(group: Group, prefix: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    types = get_type_hints(type(group), include_extras=True)
    for name, value in asdict(group).items():
        if isinstance(value, Group):
            found |= _walk(value, f"{prefix}{name}.")
        else:
            kind, sentence, *original = types[name].__metadata__
            found[prefix + name] = Setting(prefix + name, kind, value, sentence, tuple(original))
    return found


@cache
def catalogue() -> dict[str, Setting]:
    """All settings by dotted key, in the order of their declaration."""
    return _walk(Settings(), "")


@cache
def _spellings() -> dict[str, str]:
    return {name: setting.key for setting in catalogue().values() for name in (*setting.original, setting.key)}


def snake(key: str) -> str:
    """`statusWatch.debounceMs` as `status_watch.debounce_ms`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match.group(1).lower(), key)


def canonical(key: str) -> str | None:
    """The declared key behind any accepted spelling (snake_case, camelCase, the original's names), or None."""
    if key in _spellings():
        return _spellings()[key]
    return _spellings().get(snake(key))


def is_group(key: str) -> bool:
    """True for `claude`, `timeouts`, `notification.status_watch` and the like."""
    return any(name.startswith(snake(key) + ".") for name in catalogue())


def build(values: dict[str, Any]) -> Settings:
    """Settings with these accepted values by dotted key, defaults elsewhere."""

    def fill(group: Any, prefix: str) -> Any:
        filled = {
            name: fill(value, f"{prefix}{name}.") if isinstance(value, Group) else values.get(prefix + name, value)
            for name, value in asdict(group).items()
        }
        return type(group)(**filled)

    settings: Settings = fill(Settings(), "")
    return settings
