"""What an iteration changed in the project: the difference of two looks, by git where there is git, else by a scan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from claude_iterate.core.records import Record
from claude_iterate.progress import scanned_files
from claude_iterate.progress.git_commands import GitProblem
from claude_iterate.progress.scanned_files import Scan
from claude_iterate.progress.snapshots import Place, Snapshot, Snapshots

KEPT_RUNS = 5
"""Older runs lose their snapshots."""


class Look(Record):
    """What was found: `changes` is A, M or D by path since the look before, None where that is not known. `how` is git,
    store or files; `problem` says why nothing is known."""

    how: str = ""
    tree: str = ""
    ref: str = ""
    head: str = ""
    branch: str = ""
    commits: int = 0
    changes: dict[str, str] | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class Work:
    """Looks at one project again and again. `wanted` is auto, git, files or off."""

    def __init__(self, place: Place, environ: Mapping[str, str], wanted: str, store: Path) -> None:
        self._place = place
        self._environ = environ
        self._wanted = wanted
        self._store = store
        self._snapshots: Snapshots | None = None
        self._how = ""
        self._last: Snapshot | None = None
        self._scan: Scan | None = None

    def look(self, number: int, since: tuple[str, str] | None = None) -> Look:
        """The project now, against the look before; `since` is a tree and a HEAD that a killed run looked at last."""
        if not self._how:
            self._choose()
        if self._how == "files":
            return self._look_at_files()
        if self._how == "store":
            # Looking at the files is cheaper than asking git, and mostly nothing changed.
            scan = self._scanned()
            if self._last is not None and scan is not None and not scan:
                return self._found(self._last, self._last.tree, self._last.head)
        assert self._snapshots is not None
        try:
            now = self._snapshots.take(number)
            before = (self._last.tree, self._last.head) if self._last is not None else since
            found = self._found(now, *(before or ("", "")))
        except GitProblem as problem:
            return Look(self._how, problem=str(problem))
        self._last = now
        return found

    def forget_old_runs(self) -> None:
        """Keep the snapshots of the newest runs only."""
        if self._snapshots is None:
            return
        try:
            runs = self._snapshots.runs()
            if len(runs) > KEPT_RUNS:
                self._snapshots.forget(set(runs[:-KEPT_RUNS]))
        except GitProblem:
            pass  # they are kept a little longer

    def _choose(self) -> None:
        self._how = "files"
        if self._wanted == "files":
            return
        try:
            self._snapshots = Snapshots(self._place, self._environ)
            self._how = "git"
            return
        except (GitProblem, ValueError):  # no repository, or one without a work tree
            pass
        if self._wanted == "git":
            return
        try:
            self._snapshots = Snapshots(self._place, self._environ, self._store)
            self._how = "store"
        except (GitProblem, OSError):
            pass  # no git

    def _found(self, now: Snapshot, tree: str, head: str) -> Look:
        assert self._snapshots is not None
        changes = self._snapshots.differences(tree, now.tree) if tree else None
        if changes is not None and self._last is not None:
            changes |= _by_marks(self._last, now, len(self._snapshots.prefix))
        commits = self._snapshots.commits(head, now.head) if tree else 0
        left_out = tuple(sorted(now.left_out.items()))
        return Look(self._how, now.tree, now.ref, now.head, now.branch, commits, changes, left_out)

    def _look_at_files(self) -> Look:
        before = self._scan
        changes = self._scanned()
        if self._scan is None or not self._scan.whole:
            return Look("files", problem=f"there are more than {scanned_files.MOST_FILES:,} files")
        return Look("files", changes=None if before is None else changes)

    def _scanned(self) -> dict[str, str] | None:
        """What differs from the last scan; None for the first."""
        before = self._scan
        self._scan = now = scanned_files.scan(self._place.root, self._place.own, self._place.ignore, before)
        return None if before is None else scanned_files.differences(before, now)


def _by_marks(before: Snapshot, now: Snapshot, prefix: int) -> dict[str, str]:
    """Changes of files that are left out of snapshots: seen by their size, time and inode."""
    gone = {path[prefix:]: "D" for path in before.marks.keys() - now.marks.keys() if path not in now.left_out}
    moved = {path: mark for path, mark in now.marks.items() if before.marks.get(path) != mark}
    return gone | {path[prefix:]: "M" if path in before.marks else "A" for path in moved}
