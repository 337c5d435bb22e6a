"""The settings as a table: by key, by every accepted spelling, and built from values."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from claude_iterate.core.records import Record
from claude_iterate.core.settings.declared import Declared, Group, Settings
from claude_iterate.core.settings.kinds import Kind


class Setting(Record):
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


def _walk(group: type[Group], prefix: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for name, said in vars(group).items():
        if isinstance(said, Group):
            found |= _walk(type(said), f"{prefix}{name}.")
        elif isinstance(said, Declared):
            key = prefix + name
            found[key] = Setting(key, said.kind, said.default, said.sentence, said.original)
    return found


@cache
def catalogue() -> dict[str, Setting]:
    """All settings by dotted key, in the order of their declaration."""
    return _walk(Settings, "")


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
        found = ((name, prefix + name, value) for name, value in vars(group).items())
        return type(group)(
            **{
                name: fill(value, key + ".") if isinstance(value, Group) else values.get(key, value)
                for name, key, value in found
            }
        )

    settings: Settings = fill(Settings(), "")
    return settings
