"""What is said between a program that starts a run and the process of that run: one JSON object per line.

The order is the first line on the process's standard input. The input then stays open: its end means that the program
is gone. The process answers on its standard output.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.events import HeldBack
from claude_iterate.core.formats import plain
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.layers import Layer, layer_from_document
from claude_iterate.operations.run_options import Options
from claude_iterate.workspace.project import Project


class RunOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which workspace is run, and how. `project_flags` are settings of the whole command, `flags` those of the run.
    `outlives`: the run goes on when the program that started it is gone."""

    root: str
    workspace: str
    project_flags: dict[str, Any] = {}
    flags: dict[str, Any] = {}
    allow: tuple[str, ...] = ()
    skip_permissions: bool = False
    dry_run: bool = False
    cassette: str = ""
    detailed: bool = False
    again: bool = False
    accept_changes: bool = False
    reset: bool = False
    mode: str = ""
    program: tuple[str, ...] = CommandLine().program
    options: tuple[tuple[str, ...], ...] = ()
    verb: str = ""
    outlives: bool = False
    held: HeldBack | None = None

    def project(self, environ: Mapping[str, str]) -> Project:
        """The project as the program sees it."""
        return Project(Path(os.fsdecode(os.fsencode(self.root))), environ, _layer(self.project_flags))

    def asked(self) -> Options:
        """What the run is asked for. It has no terminal, so nothing is printed."""
        return Options(
            flags=_layer(self.flags),
            allow=self.allow,
            skip_permissions=self.skip_permissions,
            dry_run=self.dry_run,
            cassette=self.cassette,
            detailed=self.detailed,
            silent=True,
            again=self.again,
            accept_changes=self.accept_changes,
            reset=self.reset,
            mode=self.mode,
            command_line=CommandLine(self.program, self.options, self.verb),
            held=self.held,
        )


def order(project: Project, workspace: str, options: Options, outlives: bool = False) -> RunOrder:
    """The order for a run of this workspace with these options."""
    return RunOrder(
        root=str(project.root),
        workspace=workspace,
        project_flags=_values(project.flags),
        flags=_values(options.flags),
        allow=options.allow,
        skip_permissions=options.skip_permissions,
        dry_run=options.dry_run,
        cassette=options.cassette,
        detailed=options.detailed,
        again=options.again,
        accept_changes=options.accept_changes,
        reset=options.reset,
        mode=options.mode,
        program=options.command_line.program,
        options=options.command_line.options,
        verb=options.command_line.verb,
        outlives=outlives,
        held=options.held,
    )


class Began(msgspec.Struct, frozen=True, tag=True):
    """The run has its id and the lock of its workspace."""

    run: str


class Noted(msgspec.Struct, frozen=True, tag=True):
    """Something beside the result, for the user."""

    text: str
    warning: bool = False


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The run is over. Without a run: the task was completed, and was left as it is."""

    exit_code: int
    run: str = ""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """There was no run, or it broke off: an expected error, or a bug with its crash report."""

    message: str
    hint: str = ""
    exit_code: int = 1


Answer = Began | Noted | Ended | Refused


def _values(layer: Layer | None) -> dict[str, Any]:
    return {} if layer is None else {key: plain(value) for key, value in layer.values.items()}


def _layer(values: dict[str, Any]) -> Layer | None:
    return layer_from_document("flag", "command line", values) if values else None
