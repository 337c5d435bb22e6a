"""What every command knows of how it was called: the folder, the environment, whether colour is welcome."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_iterate.workspace.repository import Project


@dataclass(frozen=True)
class Invocation:
    """Handed to commands by `click.pass_obj`."""

    folder: Path
    environ: Mapping[str, str]
    colour: bool

    @cached_property
    def project(self) -> Project:
        """The project that the folder belongs to."""
        # Imported here: `--help` makes an Invocation too.
        from claude_iterate.workspace.repository import Project

        return Project.find(self.folder, self.environ)


def on_terminal() -> bool:
    """True when a person can be asked: both the question and the answer need a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
