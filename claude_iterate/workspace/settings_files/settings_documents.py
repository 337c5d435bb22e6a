"""The forms of a settings file: finds, sets and removes one key in TOML, in JSON or in a workspace's metadata.

TOML keeps its comments, JSON stays JSON, metadata keeps its other keys. What was written reads back as meant, or
nothing is written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from claude_iterate.core.settings.catalogue import Setting, canonical, is_group, snake
from claude_iterate.errors import SettingsProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.settings_files import settings_reader

Document = MutableMapping[str, Any]


def is_set(path: Path, key: str) -> bool:
    """True when the file sets the key, in any spelling."""
    return any(_places(part, key) for part in _parts(path))


def value_in(path: Path, key: str) -> Any:
    """The value that the file sets; None when it does not. The last spelling counts."""
    found = None
    for part in _parts(path):
        for group, name in _places(part, key):
            found = group[name]
    return found


def put(path: Path, setting: Setting, value: Any) -> None:
    """Set the key in the file."""
    _rewrite(path, setting, lambda document, style: _put(document, setting, value, style))


def drop(path: Path, setting: Setting) -> None:
    """Remove the key from the file, in all its spellings."""
    _rewrite(path, setting, lambda document, _style: _drop(document, setting.key))


def _rewrite(path: Path, setting: Setting, change: Callable[[Document, str], None]) -> None:
    if path.name == ".metadata.json":
        about = metadata.read(path)
        document = about.document | {"config": about.own_settings}
        # The original kept these settings beside `config`; the new value must be the only one.
        _drop(document, setting.key)
        change(document["config"], "snake")
        atomic.write_json(path, document)
    elif path.suffix == ".json":
        document = settings_reader.read_document(path)
        change(document, "camel")
        atomic.write_json(path, document)
    else:
        _rewrite_toml(path, setting, change)


def _rewrite_toml(path: Path, setting: Setting, change: Callable[[Document, str], None]) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = ""
    if path.exists():
        settings_reader.read_document(path)  # its error messages are better than those of tomlkit
        text = settings_reader.read_text(path)
    expected: dict[str, Any] = tomllib.loads(text)
    change(expected, "snake")
    try:
        document = tomlkit.parse(text)
        change(document, "snake")
        written = tomlkit.dumps(document)
        as_meant = _meaning(tomllib.loads(written)) == _meaning(expected)
    except (TOMLKitError, tomllib.TOMLDecodeError):
        as_meant = False
    if not as_meant:
        raise SettingsProblem(
            f"{path} is too unusual to be changed by this command.", f"Set `{setting.key}` with an editor."
        )
    atomic.write_text(path, written)


def _meaning(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The document without groups that hold nothing: TOML may leave out the header of an empty one."""
    found = {}
    for name, value in document.items():
        group = isinstance(value, Mapping) and is_group(prefix + name)
        inner = _meaning(value, f"{prefix}{name}.") if group else value
        if inner or not group:
            found[name] = inner
    return found


def _parts(path: Path) -> list[Document]:
    """The tables of a file that may hold settings."""
    if path.name == ".metadata.json":
        about = metadata.read(path)
        return [about.document, about.own_settings]
    return [settings_reader.read_document(path)] if path.exists() else []


def _places(document: Document, key: str, prefix: str = "") -> list[tuple[Document, str]]:
    """Every place of the setting, in any spelling: the table and the name in it."""
    found = []
    for name, value in document.items():
        if canonical(prefix + name) == key:
            found.append((document, name))
        elif isinstance(value, MutableMapping) and is_group(prefix + name):
            found += _places(value, key, f"{prefix}{name}.")
    return found


def _put(document: Document, setting: Setting, value: Any, style: str) -> None:
    places = _places(document, setting.key)
    if places:
        # Of two spellings in one file the last one counts, so that is the one to change.
        group, name = places[-1]
        there = group[name]
        if isinstance(value, dict) and isinstance(there, MutableMapping):
            _adjusted(there, value)
        elif not (isinstance(value, list) and isinstance(there, list) and _amended(there, value)):
            group[name] = value
        return
    *groups, last = _spelled(setting, style).split(".")
    for name in groups:
        existing = next((there for there in document if snake(there) == snake(name)), name)
        if not isinstance(document.get(existing), MutableMapping):
            document[existing] = {}
        document = document[existing]
    document[last] = value


def _adjusted(there: Document, wanted: dict[str, Any]) -> None:
    """Change a table in place, so that TOML comments between its rows stay."""
    for name in [name for name in there if name not in wanted]:
        del there[name]
    for name, value in wanted.items():
        if name not in there or there[name] != value:
            there[name] = value


def _amended(there: list[Any], wanted: list[Any]) -> bool:
    """Change a list in place, so that TOML comments between its words stay; False when that did not give the list."""
    for word in [word for word in there if word not in wanted]:
        there.remove(word)
    for word in wanted:
        if word not in there:
            there.append(word)
    return list(there) == wanted


def _drop(document: Document, key: str) -> None:
    for group, name in _places(document, key):
        del group[name]


def _spelled(setting: Setting, style: str) -> str:
    """The name of a new key: ours in TOML and workspaces, the original's in its JSON files."""
    if style == "snake":
        return setting.key
    if setting.original:
        return setting.original[0]
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), setting.key)
