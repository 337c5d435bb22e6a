"""Layers of settings and their union: default < user < project < workspace < environment < flag.

A layer holds only what it sets, so a project file with one key never touches a user's other keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from claude_iterate.core.formats import shorten
from claude_iterate.core.names import nearest
from claude_iterate.core.settings.declared import Setting, Settings, build, canonical, catalogue, is_group, snake
from claude_iterate.errors import SettingsProblem

NOT_SETTINGS = frozenset(
    {
        *("RUN", "WORKSPACE", "MOCK_LOG", "CONFIG_DIR", "TEST_CLAUDE"),
        *("FAKE_SCRIPT", "FAKE_STATE", "FAKE_PACE", "FAKE_CASSETTE"),
    }
)
"""What may follow `CLAUDE_ITERATE_` in the environment without being a setting."""


class Layer(msgspec.Struct, frozen=True):
    """Where values come from (`kind`: default, user, project, workspace, environment, flag) and the values."""

    kind: str
    place: str
    values: dict[str, Any]


class Resolved(msgspec.Struct, frozen=True):
    """Effective settings, and the layer of each that is not a default."""

    settings: Settings
    origins: dict[str, Layer]

    def origin(self, key: str) -> Layer:
        """The layer that this key's value comes from."""
        return self.origins.get(key, Layer("default", "", {}))


def layer_from_document(kind: str, place: str, document: Mapping[str, Any]) -> Layer:
    """A layer from a parsed file. Unknown keys and bad values are SettingsProblems that name file and key."""
    values: dict[str, Any] = {}
    if type(document.get("verbose")) is bool:  # the original's: a level of output, which `outputLevel` says better
        values |= {"output": "verbose"} if document["verbose"] else {}
        document = {name: value for name, value in document.items() if name != "verbose"}
    for spelled, value in flatten(document):
        key = canonical(spelled)
        if key is None:
            raise unknown_key(spelled, place)
        setting = catalogue()[key]
        if value is None and setting.default is None:
            continue
        values[key] = _accept(setting.kind.accept, value, f"{place}: {spelled}")
    return Layer(kind, place, values)


def layer_from_environment(environ: Mapping[str, str]) -> Layer:
    """A layer from `CLAUDE_ITERATE_*` variables; a variable that is not a setting is ignored."""
    given = [setting for setting in catalogue().values() if setting.variable in environ]
    values = {it.key: accept_text(it, environ[it.variable], it.variable) for it in given}
    return Layer("environment", "environment", values)


def layer_from_texts(given: Mapping[str, str]) -> Layer:
    """A layer from texts on the command line, by dotted key."""
    values = {key: accept_text(catalogue()[key], text, f"`{key}`") for key, text in given.items()}
    return Layer("flag", "command line", values)


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings and are not, each with the variable that may have been meant. What a hook
    receives is in its environment, also when it calls us."""
    prefix, known, found = "CLAUDE_ITERATE_", {setting.variable for setting in catalogue().values()}, {}
    for name in environ:
        rest = name.removeprefix(prefix)
        if name.startswith(prefix) and name not in known and rest not in NOT_SETTINGS and not rest.startswith("HOOK_"):
            near = [key for key in nearest_keys(rest.lower().replace("__", ".")) if key in catalogue()]
            found[name] = catalogue()[near[0]].variable if near else ""
    return found


def resolve(layers: Iterable[Layer]) -> Resolved:
    """The union; a later layer wins key by key."""
    values: dict[str, Any] = {}
    origins: dict[str, Layer] = {}
    for layer in layers:
        values |= layer.values
        origins |= dict.fromkeys(layer.values, layer)
    return Resolved(build(values), origins)


def accept_text(setting: Setting, text: str, where: str) -> Any:
    """The value in a text that the user typed, or a SettingsProblem that names `where`."""
    more = f" Or set one entry: claude-iterate config {setting.key}.NAME VALUE" if setting.kind.form == "table" else ""
    return _accept(setting.kind.from_text, text, where, more)


def unknown_key(spelled: str, place: str) -> SettingsProblem:
    """The error for a key that does not exist, with the nearest ones that do."""
    meant = " or ".join(f"`{name}`" for name in nearest_keys(spelled))
    hint = f"Did you mean {meant}? " if meant else ""
    where = f"{place}: unknown" if place else "Unknown"
    return SettingsProblem(f"{where} setting `{spelled}`.", f"{hint}All settings: claude-iterate config --keys")


def nearest_keys(spelled: str) -> list[str]:
    """Settings that may have been meant, at most three: of the same name in another group (`model`), the group of that
    name (`timeout`), spelled alike, or with this word in their names (`tools`)."""
    last = snake(spelled).rpartition(".")[2]
    ends: dict[str, list[str]] = {}
    for key in catalogue():
        ends.setdefault(key.rpartition(".")[2], []).append(key)
    groups = dict.fromkeys(key.rpartition(".")[0] for key in catalogue() if "." in key)
    names = [*groups, *catalogue(), *(name for setting in catalogue().values() for name in setting.original)]
    words = [key for end, keys in ends.items() if last in end.split("_") for key in keys]
    same = ends.get(last, [])
    alike = [f"{last}s"] if same and f"{last}s" in groups else []
    found = [*same, *alike] or nearest(spelled, names) or words
    return (found or [key for end in nearest(last, ends) for key in ends[end]])[:3]


def _accept(accept: Callable[[Any], Any], value: Any, where: str, more: str = "") -> Any:
    try:
        return accept(value)
    except ValueError as refused:
        raise SettingsProblem(f"{where} cannot be {shorten(repr(value), 60)}.", f"Expected {refused}.{more}") from None


def flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Dotted keys and values. A table that is itself a value (such as `claude.env`) is not opened."""
    for name, value in document.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and is_group(key):
            yield from flatten(value, key + ".")
        else:
            yield key, value
