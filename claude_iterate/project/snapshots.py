"""Snapshots of a work tree as git trees: one id for all that is in the project.

The user's index, HEAD, branches, stash and settings stay as they are. New content goes into the repository's objects,
and a ref of ours holds it. An index of our own, seeded with a copy of the user's, knows what is unchanged. Nothing huge
or secret goes into a snapshot; what is left out is named, and still seen by its size and time.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from claude_iterate.core.formats import size
from claude_iterate.project.git import Git, GitProblem, IndexCopy, Mark, mark
from claude_iterate.project.ignored import ToolOutput, ignore_rules, ignores
from claude_iterate.system import untrusted_files

REFS = "refs/claude-iterate"
LARGEST_NEW = 10 << 20
LARGEST_CHANGED = 100 << 20
MOST_NEW = 20_000
MOST_BYTES = 500 << 20
SECRETS = (".env", ".env.*", "*.pem", "*.key", "*.p12", "id_rsa*", "id_ed25519*", ".npmrc", ".netrc")
"""Names of files that are not put into the repository unless they are there already."""
_SAMPLES = (".example", ".sample", ".template", ".dist")
_MOST_REFUSED = 50
MIN_FREE = 20_000_000
"""Bytes of the disk that a snapshot leaves free: the last ones are for Claude's work and for our own records."""


class Place(msgspec.Struct, frozen=True):
    """The project, for which workspace and run. `own` are files and, with a slash at their end, folders of ours, `kept`
    those of our files that are captured all the same; both relative to the project. `ignore` are patterns of the user's
    for what does not count."""

    root: Path
    workspace: str
    run: str
    own: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def is_own(self, path: str) -> bool:
        """True for a file of ours, and for what is in a folder of ours."""
        return path in self.own or path.startswith(tuple(name for name in self.own if name.endswith("/")))


class Snapshot(msgspec.Struct, frozen=True):
    """The work tree at one moment. `head` and `branch` are empty where there is none; `left_out` says why, by path."""

    tree: str
    ref: str
    head: str
    branch: str
    left_out: dict[str, str]
    marks: dict[str, Mark]


class Snapshots:
    """Takes snapshots of one project, in the repository that it is in, or in a store of our own. All paths are relative
    to the project."""

    def __init__(
        self, place: Place, environ: Mapping[str, str], store: Path | None = None, filters: bool = True
    ) -> None:
        self._place = place
        self._root = str(place.root)
        self._git = git = Git(self._root, environ, str(store) if store else "", filters)
        if store is not None:
            _make_store(Git(self._root, environ), store)
            self._top, self._prefix, self._folder, self._users = self._root, "", str(store), ""
        else:
            said = git.line(
                "rev-parse", "--absolute-git-dir", "--show-toplevel", "--show-prefix", "--git-path", "index"
            )
            self._folder, self._top, self._prefix, users = said.split("\n")
            self._users = os.path.join(self._root, users)
            if self._prefix and git.ignores_folder():
                raise GitProblem("the repository around the project ignores it")
        # Workspaces of the same name can be in two projects of one repository.
        project = f"{hashlib.blake2b(os.fsencode(self._prefix), digest_size=4).hexdigest()}-" if self._prefix else ""
        path = os.path.join(self._folder, "claude-iterate", f"{project}{place.workspace}.index")
        self._index = IndexCopy(git, path, self._users)
        self._ignored = ignore_rules(place.ignore)
        self._gone: set[str] = set()
        self._tree = ""
        self._ref = ""

    def take(self, name: str) -> Snapshot:
        """The work tree as it is now; a new one gets a ref of this name. A GitProblem when there is no saying."""
        gone = set(self._gone)
        try:
            return self._take(name)
        except (GitProblem, OSError) as problem:
            self._gone = gone  # our index may not have what was found
            if isinstance(problem, OSError):
                raise GitProblem(f"{problem.filename or 'the repository'}: {problem.strerror}") from None
            raise

    def _take(self, name: str) -> Snapshot:
        self._git.allow()
        if self._index.renew():
            self._gone.clear()
        found = self._choose(self._index.list_new(), self._index.list_changed())
        if not self._users:  # what was captured in a store of our own and is ignored by now
            ignored = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
            found.gone.extend(self._git.names(*ignored, index=self._index.path))
        self._refuse_full_disk(found.paths)
        self._index.update("--force-remove", paths=found.gone)
        found.left_out.update(self._add(found.paths))
        self._write(name)
        return Snapshot(self._tree, self._ref, *self._head(), found.left_out, found.marks)

    def give_up(self) -> None:
        """From another thread: end git's processes; no further one is started."""
        self._git.give_up()

    def _refuse_full_disk(self, paths: Iterable[str]) -> None:
        """A GitProblem when these files, as they are, would fill the disk that snapshots are kept on."""
        about = os.statvfs(self._folder)
        free = about.f_bavail * about.f_frsize
        free -= sum(found.st_size for path in paths if (found := _look(self._root, path)) is not None)
        if free < MIN_FREE:
            raise GitProblem(f"a snapshot would leave less than {size(MIN_FREE)} of the disk free")

    def count_commits(self, before: str, after: str, moment: int = 0) -> int:
        """How many commits were made on the way from one HEAD to the other, since that moment (epoch seconds): a branch
        that was only switched to was made earlier. One of our own files alone, such as a summary, does not count."""
        if not after or before == after:
            return 0
        words = [f"^{before}"] if before else []
        words += [f"--since=@{moment}"] if moment else []
        made = self._git.ask("rev-list", after, *words)
        commits = set(made.decode().split())
        listing = ["diff-tree", "--stdin", "-r", "-z", "-m", "--root", "--no-renames", "--name-only", "--relative"]
        with_files, with_work = set(), set()
        commit = ""
        for name in self._git.names(*listing, given=made):
            if name in commits:  # a merge is listed once for each of its parents
                commit = name
                with_files.add(commit)
            elif not self._is_ours(name):
                with_work.add(commit)
        return len(commits - (with_files - with_work))

    def repositories_inside(self, now: Snapshot) -> list[str]:
        """The folders of other repositories within the project, submodules among them."""
        found = [path for path in now.left_out if path.endswith("/")]
        try:
            said = untrusted_files.look(os.path.join(self._top, ".gitmodules")).data.decode("utf-8", "replace")
            named = [line.partition("=")[2].strip() for line in said.split("\n") if line.strip().startswith("path")]
        except OSError:
            return found
        inside = [f"{path.rstrip('/')}/" for path in named if path.startswith(self._prefix)]
        return found + [path[len(self._prefix) :] for path in inside]

    def differences(self, before: str, after: str) -> dict[str, str]:
        """What differs between two trees, in the project and without our own files: A, M or D by path."""
        if before == after:
            return {}
        words = ("diff-tree", "-r", "-z", "--no-renames", "--name-status", "--relative", before, after)
        listed = self._git.names(*words)
        found = zip(listed[1::2], listed[::2], strict=True)
        return {path: how if how in "AD" else "M" for path, how in found if not self._is_ours(path)}

    def _is_ours(self, path: str) -> bool:
        """True for what is no work: our own files, and what the user does not want to count."""
        return self._place.is_own(path) or ignores(self._ignored, path)

    def forget_old_runs(self, kept: int) -> None:
        """Let go of the snapshots of all runs but the newest; the repository's own collection removes them one day."""
        prefix = f"{REFS}/{ref_name(self._place.workspace)}"
        refs = [ref for ref in self._git.line("for-each-ref", "--format=%(refname)", prefix).split("\n") if ref]
        # By their time: the workspace of another checkout of the repository counts its runs for itself.
        runs = sorted({ref.split("/")[3] for ref in refs}, key=lambda run: run.partition("-")[2])
        old = set(runs[:-kept]) - {self._place.run}
        if lines := [f"delete {ref}\n" for ref in refs if ref.split("/")[3] in old]:
            self._git.ask("update-ref", "--stdin", given="".join(lines).encode())

    def _choose(self, new: list[str], changed: list[str]) -> Choice:
        tools = ToolOutput(self._root)
        wanted = [path for path in new if not self._is_ours(path) and not tools.covers(path)]
        # What is gone from our index and not from the user's is in neither list when it comes back.
        changed = [*changed, *self._gone]
        found = choose(self._root, wanted, [path for path in changed if not self._place.is_own(path)])
        found.gone[:] = [path for path in found.gone if path not in self._gone]
        self._gone = (self._gone | set(found.gone)) - set(found.paths)
        found.paths.extend(self._place.kept)
        return found

    def _add(self, paths: list[str], most: int = _MOST_REFUSED) -> dict[str, str]:
        """Put the content of these files into the repository and our index. What git refuses, and why."""
        try:
            self._index.update("--add", "--remove", "--replace", paths=paths)
        except GitProblem as problem:
            if len(paths) == 1 and most > 0:
                return {paths[0]: str(problem)}
            if len(paths) == 1:
                raise
            half = len(paths) // 2
            refused = self._add(paths[:half], most)
            return refused | self._add(paths[half:], most - len(refused))
        return {}

    def _write(self, name: str) -> None:
        tree = self._index.write_tree()
        if tree != self._tree:
            self._tree = tree
            self._ref = f"{REFS}/{ref_name(self._place.workspace)}/{self._place.run}/{name}"
            self._git.ask("update-ref", self._ref, tree)

    def _head(self) -> tuple[str, str]:
        """The commit and the branch; empty where there is none."""
        tip = ""
        with contextlib.suppress(GitProblem):
            tip = self._git.line("rev-parse", "-q", "--verify", "HEAD")
        with open(os.path.join(self._folder, "HEAD"), encoding="utf-8", errors="replace") as file:
            said = file.read(4096).strip()
        return tip, said.removeprefix("ref: refs/heads/") if said.startswith("ref: refs/heads/") else ""


def ref_name(workspace: str) -> str:
    """A workspace's name as part of a ref: `a..b` and `x.lock` are names of workspaces, but not of refs."""
    return workspace.replace(".", "%2E")


def _make_store(git: Git, store: Path) -> None:
    """A repository of our own, for a project without one. It hides itself from a repository that comes later."""
    if not untrusted_files.exists(store / "HEAD"):
        untrusted_files.make_folder(store, parents=True)
        git.ask("init", "-q", "--bare", "--template=", str(store))
    with contextlib.suppress(FileExistsError):
        untrusted_files.write_new(store / ".gitignore", "*\n")


class Choice(msgspec.Struct, frozen=True):
    """What to hash, what is gone, and what is left out: with the reason, and with a mark that shows whether it
    changed."""

    paths: list[str]
    gone: list[str]
    left_out: dict[str, str]
    marks: dict[str, Mark]


def choose(root: str, new: list[str], changed: list[str]) -> Choice:
    """Judge paths in the project: new ones, and those that differ from what is known."""
    paths: list[str] = []
    gone: list[str] = []
    left_out: dict[str, str] = {}
    marks: dict[str, Mark] = {}
    sizes: dict[str, int] = {}
    for path in new:
        if path.endswith("/"):
            left_out[path] = "a repository of its own"
            continue
        about = _look(root, path)
        if about is None or not (stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)):
            continue
        if about.st_size > LARGEST_NEW:
            left_out[path], marks[path] = "over 10 MB", mark(about)
        elif is_secret(path):
            left_out[path], marks[path] = "looks secret", mark(about)
        else:
            sizes[path] = about.st_size
    for path in changed:
        about = _look(root, path)
        if about is None or (stat.S_ISDIR(about.st_mode) and not os.path.lexists(os.path.join(root, path, ".git"))):
            gone.append(path)
        elif about.st_size > LARGEST_CHANGED:
            left_out[path], marks[path] = "over 100 MB", mark(about)
        else:
            paths.append(path)
    _bound(sizes, left_out)
    return Choice(paths + list(sizes), gone, left_out, marks)


def is_secret(path: str) -> bool:
    """True for the name of a file that people keep to themselves."""
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRETS) and not name.endswith(_SAMPLES)


def _look(root: str, path: str) -> os.stat_result | None:
    try:
        return os.lstat(os.path.join(root, path))
    except OSError:
        return None


def _bound(sizes: dict[str, int], left_out: dict[str, str]) -> None:
    """Leave out the fullest folders until the number and the sum of the new files are within their bounds."""
    while len(sizes) > MOST_NEW or sum(sizes.values()) > MOST_BYTES:
        folder = _fullest(sizes, len(sizes) > MOST_NEW)
        inside = (
            [path for path in sizes if path.startswith(folder)]
            if folder
            else sorted(sizes, key=sizes.__getitem__)[-100:]
        )
        for path in inside:
            del sizes[path]
        left_out[folder or "the largest new files"] = f"{len(inside)} new files"


def _fullest(sizes: dict[str, int], by_number: bool) -> str:
    """The deepest folder that still has most of what is too much; empty when files stand at the top."""
    found = ""
    while True:
        inside: Counter[str] = Counter()
        for path, much in sizes.items():
            if path.startswith(found) and "/" in path[len(found) :]:
                inside[found + path[len(found) :].split("/", 1)[0] + "/"] += 1 if by_number else much
        if not inside:
            return found
        best, most = inside.most_common(1)[0]
        if found and most < 0.9 * sum(inside.values()):
            return found
        found = best
