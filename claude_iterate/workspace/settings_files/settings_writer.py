"""Changes one setting in a settings file: TOML keeps its comments, JSON stays JSON, a workspace keeps its other keys.

The value is checked before anything is written, and what was written reads back as meant, or nothing is written.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from claude_iterate.core.secrets.patterns import masked
from claude_iterate.core.settings.declared import Setting, canonical, catalogue, is_group, snake
from claude_iterate.core.settings.kinds import Kind
from claude_iterate.core.settings.layers import accepted_text, unknown_key
from claude_iterate.errors import SettingsProblem, UsageProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.layout import PROJECT_FILES
from claude_iterate.workspace.settings_files import folder_lock, settings_reader

Document = MutableMapping[str, Any]


def setting_named(spelled: str) -> Setting:
    """The setting behind any accepted spelling, or a SettingsProblem that names the nearest one."""
    key = canonical(spelled)
    if key is None:
        raise unknown_key(spelled, "")
    return catalogue()[key]


def user_target(environ: Mapping[str, str]) -> Path:
    """The user's settings file: the one there is, else a TOML file to be made."""
    return settings_reader.user_file(environ) or settings_reader.user_folder(environ) / settings_reader.USER_FILES[0]


def project_target(root: Path) -> Path:
    """The project's settings file: the one there is, else a TOML file to be made."""
    return settings_reader.project_file(root) or root / PROJECT_FILES[0]


def set_text(path: Path, spelled: str, text: str) -> Any:
    """Set a key to what a person typed; returns the value as stored."""
    setting = setting_named(spelled)
    accepted = accepted_text(setting, text, setting.key)
    return set_value(path, setting.key, _stored(setting.kind, text, accepted))


def set_value(path: Path, spelled: str, value: Any) -> Any:
    """Set a key to a typed value (tuples become lists); returns the value as stored."""
    setting = setting_named(spelled)
    _check(setting, value)
    plain = list(value) if isinstance(value, tuple) else value
    with _alone(path):
        _rewrite(path, setting, lambda document, style: _put(document, setting, plain, style))
    return plain


def unset(path: Path, spelled: str) -> bool:
    """Remove a key in all its spellings; False when it was not there."""
    setting = setting_named(spelled)
    if not _is_set(path, setting):
        return False  # looked at first: a folder that is not there is not made for nothing
    with _alone(path):
        if not _is_set(path, setting):
            return False
        _rewrite(path, setting, lambda document, _style: _drop(document, setting.key))
    return True


def add(path: Path, spelled: str, word: str) -> list[str]:
    """Append to a list setting; a word that is there already stays there once."""
    setting = _list_setting(spelled)
    _check(setting, [word])
    with _alone(path):
        now = _own_words(path, setting)
        if word not in now:
            now = [*now, word]
            _rewrite(path, setting, lambda document, style: _put(document, setting, now, style))
    return now


def remove(path: Path, spelled: str, word: str) -> list[str]:
    """Take a word out of a list setting; a SettingsProblem when it is not in this file's list."""
    setting = _list_setting(spelled)
    _check_holds(path, setting, word)  # before a folder is made for nothing
    with _alone(path):
        _check_holds(path, setting, word)
        now = [item for item in _own_words(path, setting) if item != word]
        _rewrite(path, setting, lambda document, style: _put(document, setting, now, style))
    return now


def _check_holds(path: Path, setting: Setting, word: str) -> None:
    now = _own_words(path, setting)
    if word not in now:
        raise SettingsProblem(
            f"{word!r} is not in `{setting.key}` in {path}.",
            f"It holds: {masked(', '.join(now))}"
            if now
            else "That file does not set it. See: claude-iterate config --keys",
        )


def _check(setting: Setting, value: Any) -> None:
    try:
        setting.kind.accept(value)
    except ValueError as refused:
        raise SettingsProblem(f"`{setting.key}` cannot be {value!r}.", f"Expected {refused}.") from None


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with folder_lock.alone_with(path):
            yield
    except OSError as error:
        raise SettingsProblem(
            f"{path} cannot be written: {error.strerror}.", f"Check the permissions and free space of {path.parent}"
        ) from None


def _is_set(path: Path, setting: Setting) -> bool:
    return any(_places(part, setting.key) for part in _parts(path))


def _list_setting(spelled: str) -> Setting:
    setting = setting_named(spelled)
    if setting.kind.form != "list":
        raise UsageProblem(f"`{setting.key}` is not a list.", f"Set it with: claude-iterate config {setting.key} VALUE")
    return setting


def _own_words(path: Path, setting: Setting) -> list[str]:
    words: list[str] = []
    for part in _parts(path):
        for group, name in _places(part, setting.key):
            words = [str(word) for word in setting.kind.accept(_plain(group[name]))]
    return words


def _stored(kind: Kind, text: str, accepted: Any) -> Any:
    """What goes into the file: the reader's words where they say more (`1h30m`), else the typed value."""
    if kind.form == "duration" and not re.fullmatch(r"[\d.]+", text.strip()):
        return text.strip()
    if kind.form == "program" and not text.strip().startswith("["):
        return text.strip()
    if isinstance(accepted, float) and accepted.is_integer():
        return int(accepted)
    return list(accepted) if isinstance(accepted, tuple) else accepted


# -- documents


def _rewrite(path: Path, setting: Setting, change: Callable[[Document, str], None]) -> None:
    if path.name == ".metadata.json":
        _rewrite_metadata(path, setting, change)
    elif path.suffix == ".json":
        document = settings_reader.read_document(path)
        change(document, "camel")
        atomic.write_json(path, document)
    else:
        _rewrite_toml(path, setting, change)


def _rewrite_metadata(path: Path, setting: Setting, change: Callable[[Document, str], None]) -> None:
    about = metadata.read(path)
    about.document["config"] = about.own_settings
    # The original kept these settings beside `config`; the new value must be the only one.
    _drop(about.document, setting.key)
    change(about.document["config"], "snake")
    metadata.write(path, about)


def _rewrite_toml(path: Path, setting: Setting, change: Callable[[Document, str], None]) -> None:
    import tomllib

    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = ""
    if path.exists():
        settings_reader.read_document(path)  # says what is wrong better than tomlkit does
        text = settings_reader.read_text(path)
    expected: dict[str, Any] = tomllib.loads(text)
    change(expected, "snake")
    try:
        document = tomlkit.parse(text)
        change(document, "snake")
        written = tomlkit.dumps(document)
        as_meant = tomllib.loads(written) == expected
    except (TOMLKitError, tomllib.TOMLDecodeError):
        as_meant = False
    if not as_meant:
        raise SettingsProblem(
            f"{path} is too unusual to be changed by this command.", f"Set `{setting.key}` with an editor."
        )
    atomic.write_text(path, written)


def _parts(path: Path) -> list[Document]:
    """The tables of a file in which settings may stand."""
    if path.name == ".metadata.json":
        about = metadata.read(path)
        return [about.document, about.own_settings]
    return [settings_reader.read_document(path)] if path.exists() else []


def _places(document: Document, key: str) -> list[tuple[Document, str]]:
    """Every place where the setting stands, in whatever spelling: the table and the name in it."""
    return list(_find(document, key, ""))


def _find(document: Document, key: str, prefix: str) -> Iterator[tuple[Document, str]]:
    for name, value in list(document.items()):
        if canonical(prefix + name) == key:
            yield document, name
        elif isinstance(value, MutableMapping) and is_group(prefix + name):
            yield from _find(value, key, f"{prefix}{name}.")


def _put(document: Document, setting: Setting, value: Any, style: str) -> None:
    places = _places(document, setting.key)
    if places:
        # Of two spellings in one file the last one counts, so that is the one to change.
        group, name = places[-1]
        there = group[name]
        if not (isinstance(value, list) and isinstance(there, list) and _amended(there, value)):
            group[name] = value
        return
    *groups, last = _spelled(setting, style).split(".")
    for name in groups:
        existing = next((there for there in document if snake(there) == snake(name)), name)
        if not isinstance(document.get(existing), MutableMapping):
            document[existing] = {}
        document = document[existing]
    document[last] = value


def _amended(there: list[Any], wanted: list[Any]) -> bool:
    """Change a list in place, so that in TOML the comments between its words stay; whether that was enough."""
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
    """A new key's name: ours in TOML and workspaces, the original's in its JSON files."""
    if style == "snake":
        return setting.key
    if setting.original:
        return setting.original[0]
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), setting.key)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else dict(value) if isinstance(value, Mapping) else value
