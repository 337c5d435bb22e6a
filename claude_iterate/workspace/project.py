"""A project and its workspaces: find, make, look up, reset. A workspace is made whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.core.settings.layers import Layer, Resolved, resolve
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import file_errors, untrusted_files
from claude_iterate.workspace import creation, metadata, settings_reader
from claude_iterate.workspace.layout import Layout, is_project, named_folders
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.run_folder import run_lock


class Project(msgspec.Struct, frozen=True, dict=True):
    """A project root and its settings. Settings are read on first use, so that `config` can fix them."""

    root: Path
    environ: Mapping[str, str]
    flags: Layer | None = None
    """The global flags of the command line; a command's own flags are stronger."""

    @cached_property
    def resolved(self) -> Resolved:
        """Settings without any workspace's own."""
        layers = settings_reader.layers(self.root, self.environ)
        return resolve([*layers, self.flags] if self.flags else layers)

    @cached_property
    def workspaces_folder(self) -> Path:
        """Where workspaces live."""
        return self._within(self.resolved.settings.paths.workspaces_dir)

    @cached_property
    def archive_folder(self) -> Path:
        """Where archives live."""
        return self._within(self.resolved.settings.paths.archive_dir)

    @cached_property
    def templates_folder(self) -> Path:
        """Where this project's templates live."""
        return self._within(self.resolved.settings.paths.templates_dir)

    @cached_property
    def global_templates_folder(self) -> Path:
        """Where the user's own templates live."""
        said = self.resolved.settings.paths.global_templates_dir
        usual = settings_reader.user_folder(self.environ) / "templates"
        return self._within(said) if said else untrusted_files.settle(usual, self.root)

    def workspaces(self) -> list[str]:
        """The names of all workspaces, sorted. A folder with a name that no command accepts is left out."""
        with file_errors.explain_errors(WorkspaceProblem, "The workspaces cannot be listed", self.workspaces_folder):
            return named_folders(self.workspaces_folder)

    def exists(self, name: str) -> bool:
        """True when there is a workspace of this name, damaged or not."""
        return bool(untrusted_files.is_folder(self.workspaces_folder / names.check_name(name)))

    def layout(self, name: str) -> Layout:
        """The paths of a workspace that exists."""
        folder = self.workspaces_folder / names.check_name(name)
        if not self.exists(name):
            explain = file_errors.explain_errors(WorkspaceProblem, f"The workspace {name!r} cannot be used", folder)
            with explain, contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.close(untrusted_files.open_folder(folder))
            known = self.workspaces()
            meant = names.did_you_mean(name, known)
            hint = f"{meant}{'Or make' if meant else 'Make'} {name}: claude-iterate setup {name}"
            if not known:
                what = "has no workspaces" if is_project(self.root) else "is not a project"
                hint = f"{self.root} {what}. If it is in another folder: claude-iterate -C DIR ... {hint}"
            raise WorkspaceProblem(f"Workspace not found: {name}", hint)
        return Layout(self.root, folder)

    def create(
        self,
        name: str,
        mode: str | None = None,
        settings: Mapping[str, Any] | None = None,
        force: bool = False,
        instructions: bytes | None = None,
    ) -> Layout:
        """Make a workspace. `settings` are accepted values by dotted key; `force` repairs one that is there."""
        layout = Layout(self.root, self.workspaces_folder / names.check_name(name))
        if not untrusted_files.exists(layout.folder):
            if not force:
                self._refuse_whole_disk(name)
            creation.make(layout, mode or "loop", settings or {}, instructions)
        elif force and untrusted_files.is_folder(layout.folder):
            with run_lock.hold(layout.lock, name, "init"):
                creation.repair(layout, mode, settings or {})
        elif untrusted_files.exists(layout.metadata):
            raise WorkspaceProblem(
                f"Workspace already exists: {name}",
                f"Use it: claude-iterate show {name}, or choose another name.",
            )
        else:
            raise WorkspaceProblem(
                f"{layout.folder} exists but is not a workspace.",
                f"Make it one, keeping what is in it: claude-iterate init {name} --force"
                if untrusted_files.is_folder(layout.folder)
                else "Move it away, or choose another name.",
            )
        return layout

    def _refuse_whole_disk(self, name: str) -> None:
        """Claude may change everything in a project. A home folder or one above it is one only if the user says so;
        `init --force` does, once."""
        root, home = Path(os.path.realpath(self.root)), Path(os.path.realpath(self.environ.get("HOME") or "/"))
        if home.is_relative_to(root) and not is_project(self.root):
            around = "your home folder" if root == home else "around your home folder"
            what = "the root of the file system" if root.parent == root else around
            raise WorkspaceProblem(
                f"{self.root} is {what}, and Claude could change everything in it.",
                f"Go to the folder of your project first, or name it: claude-iterate -C DIR ..."
                f" To use this folder all the same: claude-iterate init {name} --force",
            )

    def settings_for(self, layout: Layout, flags: Layer | None = None, about: Metadata | None = None) -> Resolved:
        """Effective settings of one workspace, flags on top; `about` is its metadata, if that was read."""
        layers = settings_reader.layers(self.root, self.environ, about or metadata.read(layout.metadata))
        return resolve([*layers, *(layer for layer in (self.flags, flags) if layer is not None)])

    def _within(self, text: str) -> Path:
        return untrusted_files.settle(self.root / settings_reader.expand_path(text, self.environ), self.root)
