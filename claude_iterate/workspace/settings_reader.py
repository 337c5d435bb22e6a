"""Reads settings files into layers: the user's, the project's, the workspace's, the environment.

A file that cannot be understood is a SettingsProblem that names the file, the line where known, and the way out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claude_iterate.core.settings.layers import Layer, layer_from_document, layer_from_environment
from claude_iterate.errors import SettingsProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import unreadable
from claude_iterate.workspace.layout import PROJECT_FILES
from claude_iterate.workspace.metadata import Metadata

USER_FILES = ("config.toml", "config.json")


def layers(root: Path, environ: Mapping[str, str], metadata: Metadata | None = None) -> list[Layer]:
    """The existing layers, weakest first: user, project, workspace, environment."""
    found = [file_layer("user", user_file(environ)), file_layer("project", project_file(root))]
    if metadata is not None:
        found.append(workspace_layer(metadata))
    found.append(layer_from_environment(environ))
    return [layer for layer in found if layer is not None]


def file_layer(kind: str, path: Path | None) -> Layer | None:
    """The layer in one settings file; None for no file."""
    return None if path is None else layer_from_document(kind, str(path), read_document(path))


def workspace_layer(metadata: Metadata) -> Layer:
    """The workspace's own settings."""
    place = f".metadata.json of {metadata.name}" if metadata.name else ".metadata.json"
    return layer_from_document("workspace", place, metadata.settings)


def user_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where this user's settings and templates live."""
    if environ.get("CLAUDE_ITERATE_CONFIG_DIR"):
        return expand_path(environ["CLAUDE_ITERATE_CONFIG_DIR"], environ)
    if platform == "darwin":
        base = expand_path("~/Library/Application Support", environ)
    else:
        base = expand_path(environ.get("XDG_CONFIG_HOME") or "~/.config", environ)
    return base / "claude-iterate"


def user_file(environ: Mapping[str, str]) -> Path | None:
    """The user's settings file, if there is one."""
    found = _only_one(user_folder(environ), USER_FILES)
    return found.resolve() if found is not None else None


def project_file(root: Path) -> Path | None:
    """The project's settings file, if there is one."""
    return _only_one(root, PROJECT_FILES)


def expand_path(text: str, environ: Mapping[str, str]) -> Path:
    """A path with a leading `~` replaced by this environment's home."""
    home = environ.get("HOME")
    if home and (text == "~" or text.startswith("~/")):
        return Path(home + text[1:])
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises where there is no home


def read_document(path: Path) -> dict[str, Any]:
    """The parsed file, TOML or JSON by its ending."""
    import tomllib

    language = "JSON" if path.suffix == ".json" else "TOML"
    try:
        document = json.loads(read_text(path)) if language == "JSON" else tomllib.loads(read_text(path))
        if isinstance(document, dict):
            return document
        said = "an object `{...}` is expected"
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        said = str(error)
    except ValueError:  # Python raises a plain one for these
        said = "a number with thousands of digits"
    except RecursionError:
        said = "too deeply nested"
    raise SettingsProblem(
        f"{path} is not valid {language}: {said[:1].lower() + said[1:]}.",
        "Fix it, or move the file away and start again with: claude-iterate config KEY VALUE",
    )


def read_text(path: Path) -> str:
    """The file's text; a byte order mark is not part of it."""
    try:
        data = untrusted_files.look(path, untrusted_files.LARGE).data
    except OSError as error:
        hint = "Check its permissions, or move it away."
        raise unreadable(SettingsProblem, path, error, hint) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsProblem(f"{path}, line {line}: not UTF-8.", "Save the file as UTF-8.") from None


def _only_one(folder: Path, names: tuple[str, ...]) -> Path | None:
    there = [folder / name for name in names if os.path.lexists(folder / name)]
    if len(there) > 1:
        raise SettingsProblem(
            f"There are two settings files in {folder}: {there[0].name} and {there[1].name}.",
            "Keep one of them and move the other away.",
        )
    return there[0] if there else None
