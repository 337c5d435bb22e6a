"""Templates: instructions and settings for new workspaces, of the project or of the user.

A template is a folder with INSTRUCTIONS.md and `.template.json`. Those of the original are read as they are; using a
template never changes it. Secrets are left out when one is saved, and the user learns which.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core import formats, names
from claude_iterate.core.redact import is_secret_name, mask_secrets
from claude_iterate.core.settings.layers import Layer, layer_from_document
from claude_iterate.core.settings.modes import MODES
from claude_iterate.errors import TemplateProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_errors
from claude_iterate.system.untrusted_files import new_folder
from claude_iterate.workspace import creation, metadata, settings_reader
from claude_iterate.workspace.layout import Layout, named_folders
from claude_iterate.workspace.metadata import config_table, original_settings
from claude_iterate.workspace.project import Project

ABOUT = ".template.json"
INSTRUCTIONS = "INSTRUCTIONS.md"
_SECRET_SETTINGS = ("notify.url", "notify.secret", "notify.headers")
"""The path of an address is often its password: a topic of ntfy, a webhook of Slack."""
_KEPT = ("description", "version", "tags", "estimatedIterations", "author", "created")


class Template(msgspec.Struct, frozen=True):
    """One template. `scope` is project or global; `problem` says why it cannot be used, if so."""

    folder: Path
    scope: str
    document: dict[str, Any]
    problem: str = ""

    @property
    def name(self) -> str:
        """A template's name is its folder's name."""
        return self.folder.name

    @property
    def mode(self) -> str:
        """The mode of workspaces made from it."""
        mode = self.document.get("mode")
        return mode if isinstance(mode, str) else "loop"

    @property
    def description(self) -> str:
        """What it is for, on one line."""
        said = self.document.get("description")
        return " ".join(said.split()) if isinstance(said, str) else ""

    @property
    def tags(self) -> list[str]:
        """Words to find it by."""
        tags = self.document.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    @property
    def settings(self) -> Layer:
        """What it sets; an unknown key or a bad value is a SettingsProblem."""
        path = self.folder / ABOUT
        own = config_table(self.document, path, "Correct it in that file.")
        if "config" not in self.document:
            # The original kept two settings beside the rest, and wrote its defaults there, which set nothing.
            two = {"maxIterations", "delay"}
            own = original_settings({key: value for key, value in self.document.items() if key in two})
        return layer_from_document("template", str(path), own)

    def instructions(self) -> bytes:
        """The instructions, or a TemplateProblem."""
        path = self.folder / INSTRUCTIONS
        try:
            return untrusted_files.look(path, untrusted_files.LARGE).data
        except OSError as error:
            raise TemplateProblem(
                f"The template {self.name!r} has no instructions that can be read: {path}: {error.strerror}.",
                "Write that file, or save the template again: claude-iterate template save WORKSPACE "
                f"{self.name} --force{' --global' if self.scope == 'global' else ''}",
            ) from None


def list_templates(project: Project) -> list[Template]:
    """All templates: the project's, then the user's, each by name."""
    return [
        read(folder / name, scope)
        for scope, folder in template_folders(project).items()
        for name in _list_names(folder)
    ]


def list_names(project: Project) -> list[str]:
    """The names of all templates, without reading any."""
    return list(dict.fromkeys(name for folder in template_folders(project).values() for name in _list_names(folder)))


def template_folders(project: Project) -> dict[str, Path]:
    """The folders of templates by scope, in the order of the search."""
    both = {"project": project.templates_folder, "global": project.global_templates_folder}
    return both if both["project"] != both["global"] else {"project": both["project"]}


def find(project: Project, name: str, scope: str | None = None) -> Template:
    """The template of this name: the project's before the user's, or only that of one scope."""
    names.check_name(name, "template")
    places = template_folders(project)
    for here, folder in places.items():
        if scope in {None, here} and untrusted_files.exists(folder / name):
            return read(folder / name, here)
    there = next((here for here, folder in places.items() if untrusted_files.exists(folder / name)), None)
    if there is not None:
        raise TemplateProblem(
            f"There is no {scope} template {name}, only a {there} one.",
            "If you mean that one, add --global" if there == "global" else "If you mean that one, leave out --global",
        )
    known = [found for folder in places.values() for found in _list_names(folder)]
    raise TemplateProblem(
        f"Template not found: {name}", f"{names.did_you_mean(name, known)}See: claude-iterate template list"
    )


def use(project: Project, template: Template, workspace: str) -> Layout:
    """Make a workspace from the template; everything in it is checked before anything is made."""
    if template.problem:
        raise TemplateProblem(template.problem, f"Fix that file, or move it away: {template.folder / ABOUT}")
    if template.mode not in MODES:
        raise TemplateProblem(
            f"{template.folder / ABOUT}: there is no mode {template.mode!r}.", f"Use one of {', '.join(MODES)}."
        )
    values = template.settings.values
    return project.create(workspace, template.mode, values, instructions=template.instructions())


def read(folder: Path, scope: str) -> Template:
    """The template in this folder. Without `.template.json` it is nothing but its instructions."""
    path = folder / ABOUT
    with contextlib.suppress(OSError):
        document = untrusted_files.read_json(path) if untrusted_files.exists(path) else {}
        if document is not None:
            return Template(folder, scope, document)
    return Template(folder, scope, {}, f"{path} is damaged: it cannot be read, or is not valid JSON.")


def _list_names(folder: Path) -> list[str]:
    with explain_errors(TemplateProblem, "The templates cannot be listed", folder):
        return named_folders(folder)


def save(layout: Layout, folder: Path, given: dict[str, Any], force: bool = False) -> list[str]:
    """Make the template `folder`, whole or not at all, or replace each of its files; returns the names of the settings
    that were left out. `given` is what the user says about it, in the original's words."""
    instructions = untrusted_files.read(layout.instructions, untrusted_files.LARGE)
    if instructions is None:
        raise TemplateProblem(f"Instructions not found. Run setup first: claude-iterate setup {layout.name}")
    if untrusted_files.exists(folder) and not force:
        raise TemplateProblem(
            f"Template already exists: {folder.name}", "Choose another name, or replace it with --force"
        )
    found = metadata.read(layout.metadata)
    carried, left_out = without_secrets(settings_reader.workspace_layer(found).values)
    with explain_errors(TemplateProblem, f"The template {folder.name!r} cannot be written", folder.parent):
        document = _document(folder, found.mode, carried, given)
        if untrusted_files.is_folder(folder) is False:
            untrusted_files.unlink(folder)  # a link: what it leads to is not ours to change
        with contextlib.nullcontext(folder) if untrusted_files.is_folder(folder) else new_folder(folder) as made:
            untrusted_files.write_bytes(made / INSTRUCTIONS, instructions)
            untrusted_files.write_json(made / ABOUT, document)
            untrusted_files.unlink(made / "README.md", missing_ok=True)  # of the original, with the description before
    return left_out


def without_secrets(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings without secrets, and the names of what was left out."""
    carried: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in values.items():
        kept: Any = value
        if isinstance(value, dict) and key not in _SECRET_SETTINGS:
            kept = {name: text for name, text in value.items() if not (is_secret_name(name) or _holds_secret(text))}
        elif key in _SECRET_SETTINGS or _holds_secret(value):
            kept = None
        if kept != value:
            gone = f" ({', '.join(name for name in value if name not in kept)})" if kept else ""
            left_out.append(f"{key}{gone}")
        if kept or kept == value:
            carried[key] = kept
    return carried, left_out


def _holds_secret(value: Any) -> bool:
    text = json.dumps(value, default=str)
    return mask_secrets(text) != text


def _document(folder: Path, mode: str, carried: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The original's keys, and all settings. A replaced template keeps the descriptions that are not given again."""
    before = read(folder, "").document if untrusted_files.is_folder(folder) else {}
    usual = {"name": folder.name, "version": "1.0.0", "tags": [], "created": formats.moment(time.time())}
    kept = {key: before[key] for key in _KEPT if key in before}
    return usual | kept | given | {"mode": mode, "config": creation.as_tables(carried)}
