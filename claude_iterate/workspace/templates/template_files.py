"""Templates: instructions and settings for new workspaces, of the project or of the user.

A template is a folder with INSTRUCTIONS.md and `.template.json`. Those of the original are read as they are; using a
template never changes it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.core.settings.layers import Layer, layer_from_document
from claude_iterate.core.settings.modes import MODES
from claude_iterate.errors import TemplateProblem
from claude_iterate.workspace.files.folders import explained
from claude_iterate.workspace.layout import Layout, named_folders
from claude_iterate.workspace.metadata import config_table, original_settings
from claude_iterate.workspace.project import Project

ABOUT = ".template.json"
INSTRUCTIONS = "INSTRUCTIONS.md"


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
            if path.is_file():  # not a pipe, which would keep us waiting
                return path.read_bytes()
            said = "No such file"
        except OSError as error:
            said = str(error.strerror)
        raise TemplateProblem(
            f"The template {self.name!r} has no instructions that can be read: {path}: {said}.",
            "Write that file, or save the template again: claude-iterate template save WORKSPACE "
            f"{self.name} --force{' --global' if self.scope == 'global' else ''}",
        )


def templates(project: Project) -> list[Template]:
    """All templates: the project's, then the user's, each by name."""
    return [read(folder / name, scope) for scope, folder in folders(project).items() for name in _names_in(folder)]


def names_in(project: Project) -> list[str]:
    """The names of all templates, without reading any."""
    return list(dict.fromkeys(name for folder in folders(project).values() for name in _names_in(folder)))


def folders(project: Project) -> dict[str, Path]:
    """The folders of templates by scope, in the order of the search."""
    both = {"project": project.templates_folder, "global": project.global_templates_folder}
    return both if both["project"] != both["global"] else {"project": both["project"]}


def find(project: Project, name: str, scope: str | None = None) -> Template:
    """The template of this name: the project's before the user's, or only that of one scope."""
    names.checked(name, "template")
    places = folders(project)
    for here, folder in places.items():
        if scope in {None, here} and os.path.lexists(folder / name):
            return read(folder / name, here)
    there = next((here for here, folder in places.items() if os.path.lexists(folder / name)), None)
    if there is not None:
        raise TemplateProblem(
            f"There is no {scope} template {name}, only a {there} one.",
            "If you mean that one, add --global" if there == "global" else "If you mean that one, leave out --global",
        )
    known = [found for folder in places.values() for found in _names_in(folder)]
    raise TemplateProblem(f"Template not found: {name}", f"{names.meant(name, known)}See: claude-iterate template list")


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
    try:
        document = json.loads(path.read_bytes()) if os.path.lexists(path) else {}
    except OSError as error:
        return Template(folder, scope, {}, f"{path} cannot be read: {error.strerror}.")
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return Template(folder, scope, {}, f"{path} is damaged: it is not valid JSON.")
    return Template(folder, scope, document)


def _names_in(folder: Path) -> list[str]:
    with explained(TemplateProblem, "The templates cannot be listed", folder):
        return named_folders(folder)
