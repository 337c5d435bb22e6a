"""What is asked of a run: as the command line or a program says it, and as it comes out with all settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.permissions import Permissions
from claude_iterate.core.events import HeldBack
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.layers import Layer, layer_from_document
from claude_iterate.core.settings.modes import MODES, Mode
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the command line, or a program, says beyond the settings files. Every run starts from one: here, or as JSON
    in another process."""

    settings: dict[str, Any] = {}
    """Settings by dotted key; they win over all files and variables."""
    allow: tuple[str, ...] = ()
    skip_permissions: bool = False
    dry_run: bool = False
    cassette: str = ""
    """The recorded run that a dry run plays, as the user named it."""
    detailed: bool = False
    as_json: bool = False
    color: bool = True
    silent: bool = False
    """Nothing is printed while it runs: another program follows the journal."""
    again: bool = False
    """A completed task is run once more."""
    purpose: Purpose = Purpose.RUN
    mode: str = ""
    """The mode of this run, where it is not the workspace's own."""
    report: str = ""
    accept_changes: bool = False
    """What defines the proof is taken as it is, whatever earlier runs changed."""
    checks_only: bool = False
    """`verify` without a review."""
    reset: bool = False
    """What the breaker counted is forgotten."""
    command_line: CommandLine = CommandLine()
    held: HeldBack | None = None
    """Another run met a usage limit before this one began."""
    prompt_values: dict[str, str] = {}
    """Variables in the prompt of a one-off call."""

    @property
    def layer(self) -> Layer:
        """Its settings; a SettingsProblem when one has a bad value."""
        return layer_from_document("flag", "command line", self.settings)

    def with_settings(self, more: Mapping[str, Any]) -> RunRequest:
        """The same with these settings, too."""
        return replace(self, settings={**self.settings, **more})

    @property
    def is_real_run(self) -> bool:
        """It works on the task: no dry run, no review and no one-off call."""
        return self.purpose == Purpose.RUN and not self.dry_run

    def mode_for(self, layout: Layout) -> Mode:
        """Its mode, or else the workspace's own."""
        return MODES[self.mode or metadata.read(layout.metadata).mode]

    def settings_for(self, project: Project, layout: Layout) -> Settings:
        """The settings of the run: all layers, `--allow` added. A dry run has the built-in fake for Claude, and no
        checks and stop scripts, because it does no work that they could look at; with a cassette it has them, because
        they are what is to be tried."""
        return self.apply_to(project.settings_for(layout, self.layer).settings)

    def apply_to(self, settings: Settings) -> Settings:
        """These settings of the workspace and of the command line as the run has them."""
        claude = settings.claude
        if self.allow:
            claude = replace(claude, allowed_tools=(*claude.allowed_tools, *self.allow))
        if self.dry_run:
            fake = (sys.executable, "-P", "-m", "claude_iterate.fake_claude")
            claude = replace(claude, command=fake, args=())
        if self.dry_run and not self.cassette:
            settings = replace(
                settings,
                verification=replace(settings.verification, checks=()),
                stop=replace(settings.stop, scripts=()),
            )
        return replace(settings, claude=claude)


class PreparedRun(msgspec.Struct, frozen=True):
    """A run that is about to begin: what is asked of it, and what this comes to in its workspace."""

    project: Project
    layout: Layout
    request: RunRequest
    configured: Settings
    """All layers together; `settings` are these as the run has them."""
    settings: Settings
    mode: Mode
    permissions: Permissions = Permissions()

    @property
    def detailed_exit_code(self) -> bool:
        """Each group of reasons has an exit code of its own."""
        return self.request.detailed or self.settings.exit_codes == "detailed"

    @property
    def name(self) -> str:
        """The workspace."""
        return self.layout.name

    @property
    def command_line(self) -> CommandLine:
        """How it was started."""
        return self.request.command_line.of(self.request.purpose, self.name)

    def command(self, *words: str) -> str:
        """The command that was typed, as a next step, with these words added."""
        line = self.request.command_line
        return line.command(line.verb or "run", self.name, *words)
