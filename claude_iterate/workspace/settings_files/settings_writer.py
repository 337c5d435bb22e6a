"""Changes one setting in a settings file: set, unset, add to a list, remove from a list.

The value is checked before anything is written, and no other command changes the file meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_iterate.core.formats import plain
from claude_iterate.core.redact import mask_secrets
from claude_iterate.core.settings.catalogue import Setting, canonical, catalogue, snake
from claude_iterate.core.settings.kinds import Kind
from claude_iterate.core.settings.layers import accepted_text, unknown_key
from claude_iterate.errors import SettingsProblem, UsageProblem
from claude_iterate.system.files import try_lock
from claude_iterate.workspace.files import folders
from claude_iterate.workspace.layout import PROJECT_FILES
from claude_iterate.workspace.settings_files import settings_documents, settings_reader

_PATIENCE = 5.0
"""Seconds to wait; others need milliseconds. Where folders cannot be locked (some network disks), we then go on."""


def setting_named(spelled: str) -> Setting:
    """The setting behind any accepted spelling, or a SettingsProblem that names the nearest one."""
    key = canonical(spelled)
    if key is None:
        raise unknown_key(spelled, "")
    return catalogue()[key]


def entry_named(spelled: str) -> tuple[str, str]:
    """The key of a table and the name of an entry in it, for `claude.env.NAME`; else the key and nothing."""
    for setting in catalogue().values() if canonical(spelled) is None else ():
        for known in (setting.key, *setting.original) if setting.kind.form == "table" else ():
            if snake(spelled).startswith(f"{known}.") and len(spelled) > len(known) + 1:
                return setting.key, spelled[len(known) + 1 :]
    return spelled, ""


def user_target(environ: Mapping[str, str]) -> Path:
    """The user's settings file: the one there is, else a TOML file to be made."""
    return settings_reader.user_file(environ) or settings_reader.user_folder(environ) / settings_reader.USER_FILES[0]


def project_target(root: Path) -> Path:
    """The project's settings file: the one there is, else a TOML file to be made."""
    return settings_reader.project_file(root) or root / PROJECT_FILES[0]


def set_text(path: Path, spelled: str, text: str) -> Any:
    """Set a key to what the user typed; returns the value as stored."""
    setting = setting_named(spelled)
    accepted = accepted_text(setting, text, setting.key)
    return set_value(path, setting.key, _stored(setting.kind, text, accepted))


def set_value(path: Path, spelled: str, value: Any) -> Any:
    """Set a key to a typed value (tuples become lists); returns the value as stored."""
    setting = setting_named(spelled)
    _check(setting, value)
    stored = list(value) if isinstance(value, tuple) else value
    with _locked(path):
        settings_documents.put(path, setting, stored)
    return stored


def unset(path: Path, spelled: str) -> bool:
    """Remove a key in all its spellings; False when it was not there."""
    setting = setting_named(spelled)
    if not settings_documents.is_set(path, setting.key):
        return False  # checked before locking, which makes the folder
    with _locked(path):
        if not settings_documents.is_set(path, setting.key):
            return False
        settings_documents.drop(path, setting)
    return True


def set_entry(path: Path, key: str, name: str, text: str) -> Any:
    """Set one entry of a table, as the user typed it; returns the whole table of this file."""
    setting = setting_named(key)
    value: Any = text
    with contextlib.suppress(ValueError):
        setting.kind.accept({name: float(text)})  # a table of numbers
        value = plain(float(text))
    _check(setting, {name: value})
    with _locked(path):
        now = {**(settings_documents.value_in(path, key) or {}), name: value}
        settings_documents.put(path, setting, now)
    return now


def unset_entry(path: Path, key: str, name: str) -> bool:
    """Remove one entry of a table, and the table with its last one; False when it was not there."""
    setting = setting_named(key)
    if name not in (settings_documents.value_in(path, key) or {}):
        return False  # checked before locking, which makes the folder
    with _locked(path):
        now = {other: it for other, it in (settings_documents.value_in(path, key) or {}).items() if other != name}
        if now:
            settings_documents.put(path, setting, now)
        else:
            settings_documents.drop(path, setting)
    return True


def add(path: Path, spelled: str, *words: str, inherited: Iterable[str] = ()) -> list[str]:
    """Append to a list setting; a word that is there already stays there once. A file that does not set the list begins
    with `inherited`: what it would override."""
    setting = _list_setting(spelled)
    _check(setting, list(words))
    with _locked(path):
        own = settings_documents.is_set(path, setting.key)
        before = _own_words(path, setting) if own else list(inherited)
        now = [*before, *(word for word in dict.fromkeys(words) if word not in before)]
        if not own or now != before:
            settings_documents.put(path, setting, now)
    return now


def remove(path: Path, spelled: str, *words: str) -> list[str]:
    """Take words out of a list setting; a SettingsProblem when one is not in this file's list."""
    setting = _list_setting(spelled)
    _check_holds(path, setting, words)  # before locking, which makes the folder
    with _locked(path):
        _check_holds(path, setting, words)
        now = [item for item in _own_words(path, setting) if item not in words]
        settings_documents.put(path, setting, now)
    return now


def _check_holds(path: Path, setting: Setting, words: Iterable[str]) -> None:
    now = _own_words(path, setting)
    for word in words:
        if word in now:
            continue
        raise SettingsProblem(
            f"{word!r} is not in `{setting.key}` in {path}.",
            f"It holds: {mask_secrets(', '.join(now))}"
            if now
            else "That file does not set it. See: claude-iterate config --keys",
        )


def _check(setting: Setting, value: Any) -> None:
    try:
        setting.kind.accept(value)
    except ValueError as refused:
        raise SettingsProblem(f"`{setting.key}` cannot be {value!r}.", f"Expected {refused}.") from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one command at a time changes the file, from reading it to writing it back.

    The kernel locks the folder of the file that a link leads to: there is no lock file that a killed command leaves.
    For a workspace's own file the caller holds the lock of the workspace, which is a lock of the same folder.
    """
    if path.name == ".metadata.json":
        yield
        return
    with folders.explained(SettingsProblem, f"{path} cannot be written", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
        try:
            deadline = time.monotonic() + _PATIENCE
            while not try_lock(handle) and time.monotonic() < deadline:
                time.sleep(0.01)
            yield
        finally:
            os.close(handle)


def _list_setting(spelled: str) -> Setting:
    setting = setting_named(spelled)
    if setting.kind.form != "list":
        raise UsageProblem(f"`{setting.key}` is not a list.", f"Set it with: claude-iterate config {setting.key} VALUE")
    return setting


def _own_words(path: Path, setting: Setting) -> list[str]:
    found = settings_documents.value_in(path, setting.key)
    return [str(word) for word in setting.kind.accept(found)] if found is not None else []


def _stored(kind: Kind, text: str, accepted: Any) -> Any:
    """What goes into the file: the user's own words where they say more (`1h30m`), else the typed value."""
    text = text.strip()
    if kind.form == "duration" and not re.fullmatch(r"[\d.]+", text):
        return text
    if kind.form == "program" and not text.startswith("["):
        return text
    return plain(accepted)
