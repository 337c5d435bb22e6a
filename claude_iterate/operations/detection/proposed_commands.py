"""Proposes `commands.*` for a project that has none: what its files say is written into the project's settings file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from claude_iterate.errors import ExpectedError
from claude_iterate.operations.detection.project_commands import WORDS, detect
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.settings_files import settings_writer


class Proposal(msgspec.Struct, frozen=True):
    """What was written, and where; `problem` says why it could not be."""

    kind: str = ""
    commands: Mapping[str, str] = MappingProxyType({})
    file: str = ""
    problem: str = ""

    def text(self) -> str:
        """What to tell the user."""
        if self.problem:
            return f"The commands of this {self.kind} project were not saved: {self.problem}"
        if not self.commands:
            return ""
        known = ", ".join(f"commands.{word} = `{command}`" for word, command in self.commands.items())
        return (
            f"This is a {self.kind} project: {known}. Claude's prompts name this; checks are set apart.\n"
            f"  Saved in {self.file}. Change one: claude-iterate config commands.test 'COMMAND'"
        )


def propose(project: Project) -> Proposal:
    """Write what the files of the project say, unless any of these settings is set anywhere. Nothing is overwritten,
    and no failure here undoes what the command did before."""
    if any(f"commands.{word}" in project.resolved.origins for word in WORDS):
        return Proposal()
    found = detect(project.root)
    if not found.commands:
        return Proposal(found.kind)
    target = settings_writer.project_target(project.root)
    try:
        for word, command in found.commands.items():
            settings_writer.set_value(target, f"commands.{word}", command)
    except (ExpectedError, OSError) as error:
        said = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
        return Proposal(found.kind, problem=said)
    return Proposal(found.kind, found.commands, str(target))
