"""Links that lead out of the project: what is read for a Claude in a sandbox must not come from outside."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from claude_iterate.errors import WorkspaceProblem


class Confinement:
    """The folders that a sandbox shows, as they were before Claude could change anything."""

    def __init__(self, *folders: Path) -> None:
        self._folders = [folder.resolve() for folder in folders]

    def refuse_links_out(self, paths: Iterable[Path]) -> None:
        """A WorkspaceProblem for the first path, or anything in it if it is a folder, that really lies outside."""
        for path in paths:
            for found in (path, *_in(path)):
                if found.is_symlink() or found.exists():
                    self._judge(found)

    def _judge(self, path: Path) -> None:
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # a link to itself
            real = Path(os.sep)
        if not any(real.is_relative_to(folder) for folder in self._folders):
            raise WorkspaceProblem(
                f"{path} leads out of the project, and this run is in a sandbox: it is not read for Claude.",
                f"Put a copy in its place: cp --remove-destination {real} {path}",
            )


def _in(folder: Path) -> Iterable[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))
