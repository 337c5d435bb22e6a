"""The hooks of a project and a workspace: executable files with the names of the points. There is no other registry."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from claude_iterate.core.events.enums import Point
from claude_iterate.core.names import nearest
from claude_iterate.system import untrusted_files

PROJECT, WORKSPACE = "project", "workspace"
POINTS = (Point.STARTED, Point.NEXT_ITERATION, Point.ITERATION_FINISHED, Point.FINISHED)
_OF_PROGRAMS = frozenset({"", ".sh", ".bash", ".py", ".js"})


class HookFile(msgspec.Struct, frozen=True):
    """A file with the name of a point. `problem` says why it cannot run; `digest` names its content."""

    point: Point
    scope: str
    path: Path
    shown: str
    problem: str = ""
    fix: str = ""
    digest: str = ""


def folders(root: Path, workspace: Path | None) -> list[tuple[str, Path]]:
    """The folders of hooks, in the order in which they run."""
    usual = [(PROJECT, root / "claude-iterate" / "hooks")]
    return [*usual, (WORKSPACE, workspace / "hooks")] if workspace is not None else usual


def find(root: Path, workspace: Path | None) -> list[HookFile]:
    """All files that are hooks or look like one, by point, the project's first. A missing file is no hook."""
    places = folders(root, workspace)
    found = [
        _examine(point, scope, folder / point, root)
        for point in POINTS
        for scope, folder in places
        if untrusted_files.exists(folder / point)
    ]
    return [*found, *(file for scope, folder in places for file in _misnamed(scope, folder, root))]


def _misnamed(scope: str, folder: Path, root: Path) -> Iterator[HookFile]:
    """Programs with nearly the name of a point that has no hook here: `iteration_finish`, `finished.sh`."""
    if untrusted_files.is_folder(folder) is False:
        shown = _display_path(folder, root)
        yield HookFile(POINTS[0], scope, folder, shown, f"it is {untrusted_files.NOT_A_FOLDER}", f"rm {shown}")
    for path in untrusted_files.find(folder, "*"):
        point = next(iter(nearest(path.stem, POINTS)), "")
        if point and path.suffix in _OF_PROGRAMS and not untrusted_files.exists(folder / point):
            shown, right = _display_path(path, root), _display_path(folder / point, root)
            yield HookFile(Point(point), scope, path, shown, f"its name is not {point}", f"mv {shown} {right}")


def digest(path: Path) -> str:
    """Names what the file holds; empty when it cannot be read."""
    try:
        with untrusted_files.open_file(path) as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    except OSError:
        return ""


def _display_path(path: Path, root: Path) -> str:
    return os.path.relpath(path, root) if path.is_relative_to(root) else str(path)


def _examine(point: Point, scope: str, path: Path, root: Path) -> HookFile:
    shown = _display_path(path, root)
    problem, fix = _problem(path, shown)
    return HookFile(point, scope, path, shown, problem, fix, "" if problem else digest(path))


def _problem(path: Path, shown: str) -> tuple[str, str]:
    about = untrusted_files.status(path)
    if about is not None and stat.S_ISLNK(about.st_mode):
        return "it is a link", "Copy the program there, or write a script that calls it."
    if about is None or not stat.S_ISREG(about.st_mode):
        return "it is not a file", "A hook is one executable file."
    if not os.access(path, os.X_OK):
        return "it is not executable", f"chmod +x {shown}"
    return "", ""
