"""Saves a workspace's instructions and settings as a template. Secrets are left out, and the user is told which."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.redact import Redactor, is_secret_name
from claude_iterate.errors import TemplateProblem
from claude_iterate.workspace import creation, metadata
from claude_iterate.workspace.files import atomic, folders
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.settings_files import settings_reader
from claude_iterate.workspace.templates import template_files

_SECRET_SETTINGS = ("notify.url", "notify.secret", "notify.headers")
"""The path of an address is often its password: a topic of ntfy, a webhook of Slack."""
_KEPT = ("description", "version", "tags", "estimatedIterations", "author", "created")


class About(msgspec.Struct, frozen=True):
    """What the user says about a template; None for what was not given."""

    description: str | None = None
    tags: list[str] | None = None
    estimated_iterations: int | None = None


def save(layout: Layout, folder: Path, about: About, force: bool = False) -> list[str]:
    """Make the template `folder`, whole or not at all; returns the names of the settings that were left out."""
    if not layout.instructions.is_file():
        raise TemplateProblem(f"Instructions not found. Run setup first: claude-iterate setup {layout.name}")
    if os.path.lexists(folder) and not force:
        raise TemplateProblem(
            f"Template already exists: {folder.name}", "Choose another name, or replace it with --force"
        )
    found = metadata.read(layout.metadata)
    carried, left_out = without_secrets(settings_reader.workspace_layer(found).values)
    with folders.explained(TemplateProblem, f"The template {folder.name!r} cannot be written", folder.parent):
        document = _document(folder, found.mode, carried, about)
        with folders.new_folder(folder, replace=force) as made:
            atomic.write_bytes(made / template_files.INSTRUCTIONS, layout.instructions.read_bytes())
            atomic.write_json(made / template_files.ABOUT, document)
            if document.get("description"):
                atomic.write_text(made / "README.md", _readme(document))
    return left_out


def without_secrets(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings without secrets, and the names of what was left out."""
    carried: dict[str, Any] = {}
    left_out: list[str] = []
    known = Redactor({})
    for key, value in values.items():
        kept: Any = value
        if key in _SECRET_SETTINGS:
            kept = None
        elif isinstance(value, dict):
            kept = {name: text for name, text in value.items() if not (is_secret_name(name) or _looks(known, text))}
        elif _looks(known, value):
            kept = None
        if kept != value:
            left_out.append(_described(key, value, kept))
        if kept or kept == value:
            carried[key] = kept
    return carried, left_out


def _described(key: str, value: Any, kept: Any) -> str:
    if kept and isinstance(value, dict):
        return f"{key} ({', '.join(name for name in value if name not in kept)})"
    return key


def _looks(known: Redactor, value: Any) -> bool:
    text = json.dumps(value, default=str)
    return known.clean(text) != text


def _document(folder: Path, mode: str, carried: dict[str, Any], about: About) -> dict[str, Any]:
    """The original's keys, and all settings. A replaced template keeps the descriptions that are not given again."""
    before = template_files.read(folder, "").document if folder.is_dir() else {}
    document: dict[str, Any] = {"name": folder.name, "version": "1.0.0", "tags": [], "created": creation.now()}
    document |= {key: before[key] for key in _KEPT if key in before}
    said = {
        "description": about.description,
        "tags": about.tags,
        "estimatedIterations": about.estimated_iterations,
    }
    document |= {key: value for key, value in said.items() if value is not None}
    document["mode"] = mode
    config = creation.nested(carried)
    # The original knows these two, as whole numbers.
    if isinstance(config.get("max_iterations"), int) and config["max_iterations"] > 0:
        document["maxIterations"] = config["max_iterations"]
    if isinstance(config.get("delay"), int):
        document["delay"] = config["delay"]
    return document | {"config": config}


def _readme(document: dict[str, Any]) -> str:
    lines = [f"# {document['name']}", "", str(document["description"]), ""]
    if document.get("tags"):
        lines += [f"Tags: {', '.join(str(tag) for tag in document['tags'])}", ""]
    if document.get("estimatedIterations"):
        lines += [f"Takes about {document['estimatedIterations']} iterations.", ""]
    lines += ["```sh", f"claude-iterate template use {document['name']} WORKSPACE", "```", ""]
    return "\n".join(lines)
