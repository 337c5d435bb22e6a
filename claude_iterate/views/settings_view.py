"""Settings as `config --json` prints them: effective values with their sources, and all that is declared of each."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from claude_iterate.core.formats import plain, typed_duration
from claude_iterate.core.redact import mask_setting, mask_value
from claude_iterate.core.settings.declared import Setting, catalogue, value_of
from claude_iterate.core.settings.layers import Resolved


class EffectiveView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An effective value; what looks secret is masked."""

    value: Any
    """Durations are seconds."""
    source: str
    """default, user, project, workspace, environment or flag."""
    place: str | None
    """The file, or what else sets it; null for a default."""


class EntryView(EffectiveView, frozen=True, rename="camel"):
    """One setting and its effective value."""

    key: str


class SettingReadView(EntryView, frozen=True, rename="camel"):
    """The value of one setting, or of an entry such as `claude.env.NAME`."""


class SettingsView(msgspec.Struct, frozen=True, rename="camel"):
    """Every setting, or those of a group."""

    settings: tuple[EntryView, ...]


class DeclaredView(msgspec.Struct, frozen=True, rename="camel"):
    """Everything about one setting."""

    key: str
    kind: str
    """What it accepts, in words."""
    default: Any
    current: EffectiveView
    description: str
    variable: str
    """Its environment variable."""
    other_names: tuple[str, ...]


class KeysView(msgspec.Struct, frozen=True, rename="camel"):
    """Every setting, explained."""

    keys: tuple[DeclaredView, ...]


class SettingView(msgspec.Struct, frozen=True, rename="camel"):
    """A setting that differs from its default, secrets masked."""

    key: str
    value: Any
    origin: str


def changed_settings(resolved: Resolved) -> tuple[SettingView, ...]:
    """What differs from the defaults, and where it comes from."""
    return tuple(
        SettingView(key, plain(mask_setting(key, value_of(resolved.settings, key))), _origin(resolved, key))
        for key in catalogue()
        if value_of(resolved.settings, key) != catalogue()[key].default
    )


def _origin(resolved: Resolved, key: str) -> str:
    origin = resolved.origin(key)
    return f"{origin.kind}: {origin.place}" if origin.kind in {"user", "project"} else origin.kind


def entry(resolved: Resolved, setting: Setting, cover: bool = True) -> EntryView:
    """One effective value and its source. With `cover` secrets are masked by their key, always by their form."""
    value = value_of(resolved.settings, setting.key)
    origin = resolved.origin(setting.key)
    shown = mask_setting(setting.key, value) if cover else mask_value(value)
    return EntryView(setting.key, value=plain(shown), source=origin.kind, place=origin.place or None)


def describe_setting(resolved: Resolved, setting: Setting) -> DeclaredView:
    """Everything about one setting."""
    now = entry(resolved, setting)
    return DeclaredView(
        setting.key,
        setting.kind.expected,
        plain(setting.default),
        EffectiveView(value=now.value, source=now.source, place=now.place),
        setting.sentence,
        setting.variable,
        setting.original,
    )


def as_text(value: Any) -> str:
    """The value as the user would type it."""
    value = plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_words(key: str, value: Any) -> str:
    """The value of a setting in a list: a duration as people write it, and words for nothing."""
    if value is None:
        return "not set"
    is_duration = catalogue()[key].kind.form == "duration" and isinstance(value, int | float)
    return typed_duration(value) if is_duration else as_text(value) or '""'


def short_count(number: int) -> str:
    """A count for a narrow column: `9876`, `12.3k`, `4.5M`."""
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"
