"""How a command was called: the folder, the environment, whether colour is wanted."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import click
import msgspec

from claude_iterate.cli import output
from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.core.settings.layers import layer_from_texts, unknown_variables
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.workspace.layout import project_root
from claude_iterate.workspace.project import Project


class Invocation(msgspec.Struct, frozen=True, dict=True):
    """Handed to commands by `click.pass_obj`."""

    folder: Path
    environ: Mapping[str, str]
    color: bool
    flags: Mapping[str, str] = {}
    """Settings given before the command, by dotted key."""
    warns: bool = True
    """Variables that look like settings and are none are worth a warning."""

    @cached_property
    def project(self) -> Project:
        """The project that the folder belongs to."""
        flags = layer_from_texts(self.flags) if self.flags else None
        project = Project(project_root(self.folder), self.environ, flags)
        if sys.stdout.isatty() or sys.stderr.isatty():
            _apply_colors(project)
        if self.warns:
            _warn_of_unknown(self.environ)
        return project

    @property
    def program(self) -> tuple[str, ...]:
        """What has to stand before a command so that it finds this project from the current folder."""
        root = project_root(self.folder)
        try:
            elsewhere = () if project_root(Path.cwd()) == root else ("-C", str(root))
        except FileNotFoundError:  # the current folder was deleted
            elsewhere = ("-C", str(root))
        given = {key: text for key, text in self.flags.items() if key.startswith("paths.")}
        options = [word for key, text in given.items() for word in (f"--{key[6:].replace('_', '-')}", text)]
        return ("claude-iterate", *elsewhere, *options)

    def make_pasteable(self, advice: str) -> str:
        """Advice whose commands find this project from the current folder. Messages are written as for the project's
        own folder; what has to stand before a command is put there here, for all of them."""
        if "claude-iterate " not in advice:
            return advice
        begin = f"{shlex.join(self.program)} "
        names = "|".join(row.name for row in COMMANDS)
        return re.sub(rf"(?<![\w/-])claude-iterate (?=(?:{names})\b)", lambda _found: begin, advice)


def own_program() -> tuple[str, ...]:
    """How this program can be called in a shell: by its name where that finds it, else by its path."""
    script = Path(sys.argv[0])
    if script.name != "claude-iterate":  # python -m claude_iterate
        return (sys.executable, "-m", "claude_iterate")
    found = shutil.which(script.name)
    with contextlib.suppress(OSError):
        if found is not None and script.samefile(found):
            return (script.name,)
    return (str(script.absolute()),)


def places(folder: Path, **given: str | None) -> dict[str, str]:
    """Folders that were given before the command, as settings. A relative path is one from the folder that we work in,
    as people who type it expect."""
    if "" in given.values():
        raise UsageProblem("The name of a folder is empty.", "See: claude-iterate --help")
    typed = {f"paths.{name}": text for name, text in given.items() if text is not None}
    return {key: text if text.startswith("~") else str(folder / text) for key, text in typed.items()}


def on_terminal() -> bool:
    """True when the user can be asked: both the question and the answer need a terminal."""
    return output.is_terminal(sys.stdin) and output.is_terminal(sys.stderr)


def has_whole_terminal() -> bool:
    """True when another program, such as Claude, can take over the terminal."""
    return on_terminal() and output.is_terminal(sys.stdout)


def _warn_of_unknown(environ: Mapping[str, str]) -> None:
    """A misspelt variable would be ignored in silence. It is no error: another version may know it."""
    for name, meant in unknown_variables(environ).items():
        advice = f"Did you mean {meant}?" if meant else "See the settings: claude-iterate config --keys"
        output.warn(f"{name} is not a setting, so it has no effect. {advice}")


def _apply_colors(project: Project) -> None:
    """The setting `colors` can turn colour off; it cannot turn it on where there is no terminal."""
    with contextlib.suppress(ExpectedError):  # the command itself reports bad settings, unless it fixes them
        context = click.get_current_context(silent=True)
        if context is not None and not project.resolved.settings.colors:
            context.color = False
