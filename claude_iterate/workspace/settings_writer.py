"""Changes one setting in a settings file: set, unset, add to a list, remove from a list.

TOML keeps its comments, JSON stays JSON, a workspace's metadata keeps its other keys. The value is checked before
anything is written, what was written reads back as meant, and no other command changes the file meanwhile.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from claude_iterate.core.formats import plain
from claude_iterate.core.redact import mask_secrets
from claude_iterate.core.settings.declared import Setting, canonical, catalogue, is_group, snake
from claude_iterate.core.settings.kinds import Kind
from claude_iterate.core.settings.layers import accept_text, flatten, unknown_key
from claude_iterate.errors import SettingsProblem, UsageProblem
from claude_iterate.system import file_errors, files, untrusted_files
from claude_iterate.workspace import metadata, settings_reader
from claude_iterate.workspace.layout import PROJECT_FILES

Document = MutableMapping[str, Any]


def find_setting(spelled: str) -> Setting:
    """The setting behind any accepted spelling, or a SettingsProblem that names the nearest one."""
    key = canonical(spelled)
    if key is None:
        raise unknown_key(spelled, "")
    return catalogue()[key]


def split_entry(spelled: str) -> tuple[str, str]:
    """The key of a table and the name of an entry in it, for `claude.env.NAME`; else the key and nothing."""
    for setting in catalogue().values() if canonical(spelled) is None else ():
        for known in (setting.key, *setting.original) if setting.kind.form == "table" else ():
            if snake(spelled).startswith(f"{known}.") and len(spelled) > len(known) + 1:
                return setting.key, spelled[len(known) + 1 :]
    return spelled, ""


def user_target(environ: Mapping[str, str]) -> Path:
    """The user's settings file: the one there is, else a TOML file to be made."""
    folder = settings_reader.user_folder(environ).resolve()
    return settings_reader.user_file(environ) or folder / settings_reader.USER_FILES[0]


def project_target(root: Path) -> Path:
    """The project's settings file: the one there is, else a TOML file to be made."""
    return settings_reader.project_file(root) or root / PROJECT_FILES[0]


def set_text(path: Path, spelled: str, text: str) -> Any:
    """Set a key to what the user typed; returns the value as stored."""
    setting = find_setting(spelled)
    accepted = accept_text(setting, text, setting.key)
    return set_value(path, setting.key, _as_stored(setting.kind, text, accepted))


def set_value(path: Path, spelled: str, value: Any) -> Any:
    """Set a key to a typed value (tuples become lists); returns the value as stored."""
    setting = find_setting(spelled)
    _check(setting, value)
    return _change(path, setting, lambda _own: list(value) if isinstance(value, tuple) else value)


def unset(path: Path, spelled: str) -> bool:
    """Remove a key in all its spellings; False when it was not there."""
    setting = find_setting(spelled)
    was_set = _own_value(path, setting) is not UNSET
    if was_set:
        _change(path, setting, lambda _own: UNSET)
    return was_set


def set_entry(path: Path, key: str, name: str, text: str) -> Any:
    """Set one entry of a table, as the user typed it; returns the whole table of this file."""
    setting = find_setting(key)
    value: Any = text
    with contextlib.suppress(ValueError):
        setting.kind.accept({name: float(text)})  # a table of numbers
        value = plain(float(text))
    _check(setting, {name: value})
    return _change(path, setting, lambda own: {**(own or {}), name: value})


def unset_entry(path: Path, key: str, name: str) -> bool:
    """Remove one entry of a table, and the table with its last one; False when it was not there."""
    setting = find_setting(key)
    was_set = name in (_own_value(path, setting) or {})
    if was_set:
        _change(path, setting, lambda own: {it: own[it] for it in own or {} if it != name} or UNSET)
    return was_set


def add(path: Path, spelled: str, *words: str, inherited: Iterable[str] = ()) -> list[str]:
    """Append to a list setting; a word that is there already stays there once. A file that does not set the list begins
    with `inherited`: what it would override."""
    setting = _list_setting(spelled)
    _check(setting, list(words))

    def longer(own: Any) -> list[str]:
        before = list(inherited) if own is UNSET else _words(setting, own)
        return [*before, *(word for word in dict.fromkeys(words) if word not in before)]

    return list(_change(path, setting, longer))


def remove(path: Path, spelled: str, *words: str) -> list[str]:
    """Take words out of a list setting; a SettingsProblem when one is not in this file's list."""
    setting = _list_setting(spelled)

    def shorter(own: Any) -> list[str]:
        now = _words(setting, own)
        for word in words:
            if word not in now:
                raise SettingsProblem(
                    f"{word!r} is not in `{setting.key}` in {path}.",
                    f"It holds: {mask_secrets(', '.join(now))}"
                    if now
                    else "That file does not set it. See: claude-iterate config --keys",
                )
        return [item for item in now if item not in words]

    return list(_change(path, setting, shorter))


def _change(path: Path, setting: Setting, update: Callable[[Any], Any]) -> Any:
    """Replace the file's own value by what `update` makes of it; UNSET stands for none. Returns the new value."""
    with file_errors.explain_errors(SettingsProblem, f"{path} cannot be written", path.parent):
        untrusted_files.make_folder(path.parent, parents=True)
        # For a workspace's own file the caller holds the lock of the workspace.
        free = path.name == ".metadata.json"
        with contextlib.nullcontext() if free else files.locked_folder(path.parent):
            now = update(_own_value(path, setting))
            _rewrite(path, setting, now)
    return now


def _own_value(path: Path, setting: Setting) -> Any:
    """The value that the file sets, in any spelling; UNSET when it does not. The last spelling counts."""
    if path.name == ".metadata.json":
        about = metadata.read(path)
        documents: list[Document] = [about.document, about.own_settings]
    else:
        documents = [settings_reader.read_document(path)] if untrusted_files.exists(path) else []
    places = [place for document in documents for place in _places(document, setting.key)]
    return places[-1][0][places[-1][1]] if places else UNSET


def _words(setting: Setting, own: Any) -> list[str]:
    return [str(word) for word in setting.kind.accept(own)] if own not in (None, UNSET) else []


def _check(setting: Setting, value: Any) -> None:
    try:
        setting.kind.accept(value)
    except ValueError as refused:
        raise SettingsProblem(f"`{setting.key}` cannot be {value!r}.", f"Expected {refused}.") from None


def _list_setting(spelled: str) -> Setting:
    setting = find_setting(spelled)
    if setting.kind.form != "list":
        raise UsageProblem(f"`{setting.key}` is not a list.", f"Set it with: claude-iterate config {setting.key} VALUE")
    return setting


def _as_stored(kind: Kind, text: str, accepted: Any) -> Any:
    """What goes into the file: the user's own words where they say more (`1h30m`), else the typed value."""
    text = text.strip()
    if kind.form == "duration" and not re.fullmatch(r"[\d.]+", text):
        return text
    if kind.form == "program" and not text.startswith("["):
        return text
    return plain(accepted)


def _rewrite(path: Path, setting: Setting, value: Any) -> None:
    if path.name == ".metadata.json":
        about = metadata.read(path)
        document = about.document | {"config": about.own_settings}
        # The original kept these settings beside `config`; the new value must be the only one.
        _put(document, setting, UNSET, "snake")
        _put(document["config"], setting, value, "snake")
        untrusted_files.write_json(path, document)
    elif path.suffix == ".json":
        document = settings_reader.read_document(path)
        _put(document, setting, value, "camel")
        untrusted_files.write_json(path, document)
    else:
        _rewrite_toml(path, setting, value)


def _rewrite_toml(path: Path, setting: Setting, value: Any) -> None:
    import tomllib

    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = ""
    if untrusted_files.exists(path):
        settings_reader.read_document(path)  # its error messages are better than those of tomlkit
        text = settings_reader.read_text(path)
    expected: dict[str, Any] = tomllib.loads(text)
    _put(expected, setting, value, "snake")
    try:
        document = tomlkit.parse(text)
        _put(document, setting, value, "snake")
        written = tomlkit.dumps(document)
        # Without groups that hold nothing: TOML may leave out the header of an empty one.
        as_meant = dict(flatten(tomllib.loads(written))) == dict(flatten(expected))
    except (TOMLKitError, tomllib.TOMLDecodeError):
        as_meant = False
    if not as_meant:
        raise SettingsProblem(
            f"{path} is too unusual to be changed by this command.", f"Set `{setting.key}` with an editor."
        )
    untrusted_files.write_text(path, written)


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
    """Give the setting this value; UNSET removes it in every spelling."""
    places = _places(document, setting.key)
    if value is UNSET:
        for group, name in places:
            del group[name]
        return
    if places:
        # Of two spellings in one file the last one counts, so that is the one to change.
        group, name = places[-1]
        there = group[name]
        if isinstance(value, dict) and isinstance(there, MutableMapping):
            _change_table(there, value)
        elif not (isinstance(value, list) and isinstance(there, list) and _change_list(there, value)):
            group[name] = value
        return
    *groups, last = _spelling(setting, style).split(".")
    for name in groups:
        existing = next((there for there in document if snake(there) == snake(name)), name)
        if not isinstance(document.get(existing), MutableMapping):
            document[existing] = {}
        document = document[existing]
    document[last] = value


def _change_table(there: Document, wanted: dict[str, Any]) -> None:
    """Change a table in place, so that TOML comments between its rows stay."""
    for name in [name for name in there if name not in wanted]:
        del there[name]
    for name, value in wanted.items():
        if name not in there or there[name] != value:
            there[name] = value


def _change_list(there: list[Any], wanted: list[Any]) -> bool:
    """Change a list in place, so that TOML comments between its words stay; False when that did not give the list."""
    for word in [word for word in there if word not in wanted]:
        there.remove(word)
    for word in wanted:
        if word not in there:
            there.append(word)
    return list(there) == wanted


def _spelling(setting: Setting, style: str) -> str:
    """The name of a new key: ours in TOML and workspaces, the original's in its JSON files."""
    if style == "snake":
        return setting.key
    if setting.original:
        return setting.original[0]
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), setting.key)
