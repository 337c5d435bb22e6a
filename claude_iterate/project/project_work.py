"""What an iteration changed in the project: the difference of two looks, by git where there is git, else by a scan."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from claude_iterate.project import scan
from claude_iterate.project.git import GitProblem
from claude_iterate.project.scan import Scan
from claude_iterate.project.snapshots import Place, Snapshot, Snapshots

KEPT_RUNS = 5
"""Older runs lose their snapshots."""
MOST_STORED = 5_000
MOST_STORED_BYTES = 100 << 20
"""A larger project outside git gets no store: it would hold all of it a second time."""
_UNSURE = 2
"""Seconds by which git's times may be older than ours."""


class Look(msgspec.Struct, frozen=True):
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
    """Looks at one project again and again. `wanted` is auto, git or files. Git is asked only where there is something
    to ask it for: an empty folder outside git costs no process. `filters`: those of git may run."""

    def __init__(
        self, place: Place, environ: Mapping[str, str], wanted: str, store: Path, filters: bool = True
    ) -> None:
        self._place = place
        self._environ = environ
        self._wanted = wanted
        self._store = store
        self._filters = filters
        self._snapshots: Snapshots | None = None
        self._how = ""
        self._last: Snapshot | None = None
        self._scan: Scan | None = None
        self._nested: dict[str, Scan] = {}
        self._looked_at = 0.0

    def begin(self, number: int, since: tuple[str, str] | None) -> Look | None:
        """The first look; None where the next one can be compared with what a killed run looked at last."""
        self._choose()
        found = None if since is not None and self._how != "files" else self.look(number)
        if self._snapshots is not None:
            with contextlib.suppress(GitProblem):  # they are kept a little longer
                self._snapshots.forget_old_runs(KEPT_RUNS)
        return found

    def look(self, number: int, since: tuple[str, str] | None = None, again: bool = False) -> Look:
        """The project now, against the look before; `since` is a tree and a HEAD that a killed run looked at last.
        `again`: something else than an iteration may have changed it meanwhile, so this is another snapshot."""
        self._choose()
        before, self._looked_at = self._looked_at, time.time()
        name = f"{number:04d}-next" if again else f"{number:04d}"
        if self._snapshots is not None and self._how == "git":
            return self._look_by_git(self._snapshots, name, since, before)
        return self._look_at_files(name, since)

    def give_up(self) -> None:
        """From another thread: the look under way is not wanted any more, and there will be no other."""
        if self._snapshots is not None:
            self._snapshots.give_up()

    def _choose(self) -> None:
        if self._how:
            return
        self._how = "files" if self._wanted != "auto" else "store"
        if self._wanted == "files" or not _is_in_repository(self._place.root):
            return
        # There may be no work tree, or the repository ignores the project.
        with contextlib.suppress(GitProblem, ValueError):
            self._snapshots = Snapshots(self._place, self._environ, filters=self._filters)
            self._how = "git"

    def _look_by_git(self, snapshots: Snapshots, name: str, since: tuple[str, str] | None, looked_at: float) -> Look:
        last = self._last
        try:
            now = snapshots.take(name)
            tree, head = (last.tree, last.head) if last is not None else since or ("", "")
            changes = snapshots.differences(tree, now.tree) if tree else None
            commits = snapshots.count_commits(head, now.head, max(0, int(looked_at) - _UNSURE)) if tree else 0
        except GitProblem as problem:
            return Look("git", problem=str(problem))
        inside = self._changes_inside(snapshots.repositories_inside(now))
        self._last = now
        if changes is not None:
            changes |= (_by_marks(last, now) if last is not None else {}) | inside
        left_out = tuple(sorted(now.left_out.items()))
        return Look("git", now.tree, now.ref, now.head, now.branch, commits, changes, left_out)

    def _changes_inside(self, folders: list[str]) -> dict[str, str]:
        """What changed in repositories inside of this one. Git does not look into them, but an agent may work there."""
        found: dict[str, str] = {}
        for folder in folders:
            before = self._nested.get(folder)
            root, ignore = self._place.root / folder, self._place.ignore
            self._nested[folder] = now = scan.scan(root, lambda _path: True, ignore, before)
            changed = scan.differences(before, now) if before is not None else {}
            found |= {folder + path: how for path, how in changed.items()}
        return found

    def _look_at_files(self, name: str, since: tuple[str, str] | None) -> Look:
        before, place = self._scan, self._place
        self._scan = now = scan.scan(place.root, lambda path: not place.is_own(path), place.ignore, before)
        if not now.whole:
            return Look("files", problem=f"there are more than {scan.MOST_FILES:,} files")
        changes = scan.differences(before, now) if before is not None and before.whole else None
        kept = self._keep(name, now, changes, since) if self._how == "store" else None
        if kept is None:
            return Look(self._how, changes=changes)
        if changes is None and since is not None and self._snapshots is not None:
            changes = self._snapshots.differences(since[0], kept.tree)
        return Look("store", kept.tree, kept.ref, changes=changes, left_out=tuple(sorted(kept.left_out.items())))

    def _keep(
        self, name: str, now: Scan, changes: dict[str, str] | None, since: tuple[str, str] | None
    ) -> Snapshot | None:
        """The snapshot in a store of our own; None while there is nothing to keep, and where there is no git."""
        if self._last is not None and not changes:
            return self._last
        if not now.files and self._snapshots is None and since is None:
            return None
        is_large = len(now.files) > MOST_STORED or sum(seen.mark[0] for seen in now.files.values()) > MOST_STORED_BYTES
        if is_large or self._store.is_symlink():  # what is written there would go elsewhere
            self._how = "files"
            return None
        try:
            if self._snapshots is None:
                self._snapshots = Snapshots(self._place, self._environ, self._store, self._filters)
            self._last = self._snapshots.take(name)
        except (GitProblem, OSError):
            self._how, self._last = "files", None
        return self._last


def _is_in_repository(root: Path) -> bool:
    """Git's folder is there, or above; or a file that names it."""
    return any(os.path.exists(f"{folder}/.git") for folder in (root, *root.parents))


def _by_marks(before: Snapshot, now: Snapshot) -> dict[str, str]:
    """Changes of files that are left out of snapshots: seen by their size, time and inode."""
    gone = {path: "D" for path in before.marks.keys() - now.marks.keys() if path not in now.left_out}
    moved = {path: mark for path, mark in now.marks.items() if before.marks.get(path) != mark}
    return gone | {path: "M" if path in before.marks else "A" for path in moved}
