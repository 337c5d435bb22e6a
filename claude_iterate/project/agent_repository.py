"""The repository that a Claude in a sandbox works with: a folder of git of its own, in place of the user's.

Inside it stands where the user's folder of git stands, so every git finds it; the user's objects are read where they
are. Outside, no git ever runs in it. What Claude commits comes back as a pack, checked as one from a stranger is, and
moves the user's branches, HEAD and index only where the user has not moved them meanwhile. Hooks, settings, filters and
attributes of Claude's stay behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

import msgspec

from claude_iterate.project.git import Git, GitProblem
from claude_iterate.project.snapshots import REFS, ref_name
from claude_iterate.system import untrusted_files
from claude_iterate.system.files import nameless_file

Inside = Callable[[str, list[str], bytes, IO[bytes]], None]
"""Runs a program in the sandbox, in a folder, with an input, and its output into a file; a GitProblem when it fails."""
LARGEST_PACK = 2 << 30
_OF_EVERYBODY = {Path("/tmp"), Path("/var/tmp")}  # noqa: S108
_FOLDERS = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
_STATE = "start.json"
_BORROWED = "borrowed-objects"
"""Where the user's objects stand inside."""
_SHARED = ("hooks", "lfs")
"""Folders of the user's git that are read inside."""
_GITLINK = "160000"
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPORT = """\
git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags refs/stash || exit 1
echo; git symbolic-ref -q HEAD || git rev-parse HEAD; git write-tree; true"""
_LARGEST_REPORT = 16 << 20
_MOST = 100
"""Submodules that have a repository of their own inside."""


class Refs(msgspec.Struct, frozen=True):
    """Where a repository stands: its branches and tags, HEAD (a branch's ref or a commit), and the tree of its index.
    `index` is empty for an index in the middle of a merge."""

    refs: dict[str, str]
    head: str
    index: str


class Taken(msgspec.Struct, frozen=True):
    """What came of Claude's commits: branches that moved, and branches that were put aside, each with its new name
    and the reason."""

    moved: tuple[str, ...] = ()
    aside: dict[str, str] = {}
    reason: str = ""


class AgentRepository:
    """The repository of one work tree for one run. `place` is the user's folder of git, which it covers inside."""

    def __init__(self, top: Path, folder: Path, workspace: str, environ: Mapping[str, str]) -> None:
        self.top = top
        self.folder = folder
        self._workspace = workspace
        self._git = Git(str(top), environ, filters=False)
        _, own, common = self._git.line("rev-parse", "--path-format=absolute", *_FOLDERS).split("\n")
        self.place, self._common = Path(own), Path(common)

    @property
    def repository(self) -> Path:
        """The folder of git that Claude gets."""
        return self.folder / "repository"

    @property
    def is_left(self) -> bool:
        """A run that was killed worked in it: what it committed is not taken in yet."""
        return (self.folder / _STATE).is_file()

    def remove(self) -> None:
        """Everything in it was taken in. Whatever cannot be deleted of it has another name then."""
        if untrusted_files.exists(self.folder):
            aside = untrusted_files.temporary_name(self.folder)
            untrusted_files.rename(self.folder, aside)
            untrusted_files.remove_folder(aside, ignore_errors=True)

    def mounts(self) -> Iterator[tuple[str, str, str]]:
        """What stands where inside: its path here, its path there, and `read` or `write`."""
        for path, is_checked_out in _submodules(self._git):  # what is mounted cannot be renamed
            around = [str(folder) for folder in path.parents if self.top in folder.parents]
            yield from ((folder, folder, "write") for folder in around)
            yield str(path), str(path), "write" if is_checked_out else "read"
        yield str(self.repository), str(self.place), "write"
        yield str(self._common / "objects"), str(self.place / _BORROWED), "read"
        yield from ((path, path, "read") for path in self._borrowed_by_user())
        for name in _SHARED:
            if (self._common / name).is_dir():
                yield str(self._common / name), str(self.place / name), "read"
        if self.place != self.top / ".git":  # a file names it
            yield str(self.top / ".git"), str(self.top / ".git"), "read"

    def make(self, is_hidden: Callable[[str], bool] = lambda _path: False) -> None:
        """Make it as the user's is now. Nothing of Claude's is in it yet. Files that are hidden inside do not count as
        deleted there."""
        target = self.repository
        self.remove()
        for name in ("objects/info", "refs", "info", _BORROWED, *_SHARED):
            untrusted_files.make_folder(target / name, parents=True)
        untrusted_files.write_text(target / "objects" / "info" / "alternates", f"../{_BORROWED}\n")
        for name in ("index", "HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "info/exclude", "info/attributes"):
            self._copy(name)
        for name in ("shallow", "config.worktree", "info/sparse-checkout"):
            self._copy(name)
        now = self.look()
        packed = "".join(f"{value} {ref}\n" for ref, value in sorted(now.refs.items()))
        untrusted_files.write_bytes(target / "packed-refs", os.fsencode(packed))
        shutil.copyfile(self._common / "config", target / "config")
        for key, value in (("core.bare", "false"), ("gc.auto", "0")):
            self._git.ask("config", "--file", str(target / "config"), key, value)
        index = str(target / "index")
        if hidden := [
            name for name in self._git.names("ls-files", "-z", index=index) if is_hidden(f"{self.top}/{name}")
        ]:
            given = b"".join(os.fsencode(name) + b"\0" for name in hidden)
            self._git.ask("update-index", "-z", "--skip-worktree", "--stdin", index=index, given=given)
        self._remember(now)

    def look(self) -> Refs:
        """Where the user's repository stands now."""
        git = self._git
        listed = git.line(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"
        )
        refs = {ref: value for value, _, ref in (line.partition(" ") for line in listed.splitlines())}
        head = index = ""
        with contextlib.suppress(GitProblem):
            head = git.line("symbolic-ref", "-q", "HEAD")
        if not head:
            head = git.line("rev-parse", "HEAD")
        with contextlib.suppress(GitProblem):
            index = git.line("write-tree")
        return Refs(refs, head, index)

    def take_in(self, inside: Inside) -> Taken:
        """Bring what Claude committed since the last time into the user's repository."""
        before, now = self._last(), self._ask(inside)
        changed = {ref: value for ref, value in now.refs.items() if before.refs.get(ref) != value}
        head_moved, index_moved = now.head != before.head, bool(now.index) and now.index != before.index
        if not (changed or head_moved or index_moved):
            return Taken()
        wanted = {*changed.values(), *([now.index] if now.index else []), *_commit(now.head)}
        self._fetch(inside, wanted, [*before.refs.values(), *_commit(before.head)])
        user = self.look()
        reason = self._refuse(changed, now, before, user)
        taken = self._put_aside(changed, reason) if reason else self._move_or_put_aside(changed, now, before, user)
        self._remember(Refs({**before.refs, **now.refs}, now.head, now.index))
        return taken

    def _ask(self, inside: Inside) -> Refs:
        """Where Claude's repository stands: the words of a stranger, of which only well-formed ones count."""
        with nameless_file() as answer:
            inside(str(self.top), ["/bin/sh", "-c", _REPORT], b"", answer)
            answer.seek(0)
            text = answer.read(_LARGEST_REPORT).decode("utf-8", "replace")
        listed, _, rest = text.partition("\n\n") if not text.startswith("\n") else ("", "", text[1:])
        head, _, index = rest.strip("\n").partition("\n")
        pairs = (line.partition(" ") for line in listed.splitlines())
        refs = {ref: value for value, _, ref in pairs if _OBJECT.fullmatch(value) and self._is_name(ref)}
        if not (_OBJECT.fullmatch(head) or self._is_name(head)):
            raise GitProblem("the repository inside the sandbox has no HEAD")
        return Refs(refs, head, index if _OBJECT.fullmatch(index) else "")

    def _is_name(self, ref: str) -> bool:
        if not ref.startswith(("refs/heads/", "refs/tags/")) and ref != "refs/stash":
            return False
        with contextlib.suppress(GitProblem):
            self._git.ask("check-ref-format", ref)
            return True
        return False

    def _fetch(self, inside: Inside, wanted: set[str], known: list[str]) -> None:
        """The objects, packed inside and checked here, as git does with those of a stranger."""
        words = "".join([*(f"{name}\n" for name in sorted(wanted)), *(f"^{name}\n" for name in dict.fromkeys(known))])
        argv = ["git", "pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q"]
        with nameless_file() as pack:
            inside(str(self.top), argv, words.encode(), pack)
            pack.seek(0)
            self._git.allow()
            self._git.ask(
                "index-pack", "--stdin", "--fix-thin", "--strict", f"--max-input-size={LARGEST_PACK}", given=pack
            )
        tips = "".join(f"{name}\n" for name in sorted(wanted)).encode()
        self._git.ask("rev-list", "--objects", "--stdin", "--quiet", "--not", "--all", given=tips)

    def _refuse(self, changed: Mapping[str, str], now: Refs, before: Refs, user: Refs) -> str:
        """Why the user's branches, HEAD and index stay as they are; empty: nothing stands against it."""
        if path := self._new_gitlink(before, [*changed.values(), now.index, now.head]):
            return f"Claude committed {path} as a repository inside the project"
        if user.head != before.head or user.index != before.index:
            return "you have committed, staged or switched meanwhile"
        moved = [ref for ref in changed if user.refs.get(ref) != before.refs.get(ref)]
        if moved:
            return f"{moved[0].removeprefix('refs/heads/')} has moved meanwhile"
        elsewhere = self._checked_out_elsewhere()
        return next(
            (f"{ref.removeprefix('refs/heads/')} is checked out elsewhere" for ref in changed if ref in elsewhere), ""
        )

    def _new_gitlink(self, before: Refs, trees: list[str]) -> str:
        """A repository that became a part of this one: git outside would follow the settings in it."""
        base = before.index or self._git.line("hash-object", "-t", "tree", "/dev/null")
        for tree in dict.fromkeys(value for value in trees if _OBJECT.fullmatch(value)):
            found = self._git.names("diff-tree", "-r", "-z", "--raw", "--no-renames", base, tree)
            for about, path in zip(found[::2], found[1::2], strict=True):
                old, new = about.removeprefix(":").split()[:2]
                if new == _GITLINK != old:
                    return path
        return ""

    def _checked_out_elsewhere(self) -> set[str]:
        here = {os.path.realpath(path) for path in (self.top, self.place)}  # git calls a submodule by its folder of git
        found, place = set(), ""
        for line in self._git.names("worktree", "list", "--porcelain", "-z"):
            word, _, value = line.partition(" ")
            place = value if word == "worktree" else place
            if word == "branch" and os.path.realpath(place) not in here:
                found.add(value)
        return found

    def _move_or_put_aside(self, changed: Mapping[str, str], now: Refs, before: Refs, user: Refs) -> Taken:
        try:
            return self._move(changed, now, before, user)
        except GitProblem as problem:
            return self._put_aside(changed, str(problem))

    def _move(self, changed: Mapping[str, str], now: Refs, before: Refs, user: Refs) -> Taken:
        git, zero = self._git, "0" * 40
        branches = {ref: value for ref, value in changed.items() if ref != "refs/stash"}
        lines = [f"update {ref} {value} {user.refs.get(ref, zero)}\n" for ref, value in branches.items()]
        lines += (
            [f"update {self._aside('refs/stash', stash)} {stash}\n"] if (stash := changed.get("refs/stash")) else []
        )
        if lines:
            git.ask("update-ref", "--stdin", given="".join(lines).encode())
        if now.head != before.head:
            detached = _OBJECT.fullmatch(now.head)
            git.ask(*(("update-ref", "--no-deref", "HEAD") if detached else ("symbolic-ref", "HEAD")), now.head)
        if now.index and now.index != user.index:
            git.ask("read-tree", "--reset", now.index)
        return Taken(tuple(sorted(ref.removeprefix("refs/heads/") for ref in branches)))

    def _put_aside(self, changed: Mapping[str, str], reason: str) -> Taken:
        """Nothing is lost: each branch of Claude's gets a name that is free."""
        aside = {ref: self._aside(ref, value) for ref, value in changed.items()}
        lines = [f"update {aside[ref]} {value}\n" for ref, value in changed.items()]
        if lines:
            self._git.ask("update-ref", "--stdin", given="".join(lines).encode())
        return Taken((), {ref.removeprefix("refs/heads/"): name for ref, name in aside.items()}, reason)

    def _aside(self, ref: str, value: str) -> str:
        name = ref.removeprefix("refs/").removeprefix("heads/")
        return f"{REFS}/{ref_name(self._workspace)}/aside/{value[:12]}/{name}"

    def _remember(self, now: Refs) -> None:
        # As JSON in ASCII: the name of a branch need not be UTF-8.
        untrusted_files.write_bytes(self.folder / _STATE, json.dumps(msgspec.to_builtins(now)).encode())

    def _last(self) -> Refs:
        return msgspec.convert(json.loads(untrusted_files.look(self.folder / _STATE, untrusted_files.LARGE).data), Refs)

    def _copy(self, name: str) -> None:
        """A file of the user's folder of git, wherever a linked work tree has it."""
        with contextlib.suppress(FileNotFoundError, GitProblem):
            source = self.top / self._git.line("rev-parse", "--git-path", name)
            shutil.copyfile(source, self.repository / name)

    def _borrowed_by_user(self) -> list[str]:
        """Folders of objects that the user's repository reads from another one."""
        try:
            lines = (self._common / "objects" / "info" / "alternates").read_text("utf-8", "replace").splitlines()
        except OSError:
            return []
        paths = (os.path.normpath(self._common / "objects" / line) for line in lines if line and line[0] != "#")
        return [path for path in paths if os.path.isdir(path)]


def git_folders(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """What git reads for the project: the work tree, if the project is a part of it, and its folders of git."""
    with contextlib.suppress(GitProblem):
        git = Git(str(root), environ, filters=False)
        top, own, common = map(Path, git.line("rev-parse", "--path-format=absolute", *_FOLDERS).split("\n"))
        if _belongs(top, own, root, environ):
            yield from dict.fromkeys((top, own, common))


def _belongs(top: Path, own: Path, root: Path, environ: Mapping[str, str]) -> bool:
    """This folder of git is that of the work tree: a file that Claude wrote into it, and that leads elsewhere, is not
    enough. And nothing that holds the user's home, or everybody's temporary files, is shown as a work tree."""
    home = Path(environ.get("HOME", os.sep)).resolve()
    if top != root and (home.is_relative_to(top) or top in _OF_EVERYBODY):
        return False
    if own == top / ".git":
        return not own.is_symlink()
    named = [own / line.strip() for line in _lines(own / "gitdir")]
    settings = (line.partition("=") for line in _lines(own / "config"))
    named += [own / value.strip().strip('"') / ".git" for key, _, value in settings if key.strip() == "worktree"]
    return any(os.path.realpath(path) == os.path.realpath(top / ".git") for path in named)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def find_repositories(root: Path, folder: Path, workspace: str, environ: Mapping[str, str]) -> list[AgentRepository]:
    """The repository that the project is in, and those of its submodules, outer ones first; none without git."""
    found: list[AgentRepository] = []
    with contextlib.suppress(GitProblem):
        waiting = [Path(Git(str(root), environ, filters=False).line("rev-parse", "--show-toplevel"))]
        for top in waiting:  # grows while it is read
            repository = AgentRepository(top, folder / str(len(found)), workspace, environ)
            if _belongs(top, repository.place, root if top == waiting[0] else top, environ):
                found.append(repository)
                inner = _submodules(Git(str(top), environ, filters=False))
                waiting += [path for path, is_there in inner if is_there][: _MOST - len(waiting)]
    return found


def _submodules(git: Git) -> Iterator[tuple[Path, bool]]:
    """The folders of submodules, and whether each is checked out. The index of the user says which there are, and
    Claude cannot write it."""
    for line in git.names("ls-files", "--stage", "-z"):
        path = Path(git.folder, line.partition("\t")[2])
        if line.startswith(_GITLINK) and untrusted_files.is_folder(path):
            yield path, untrusted_files.is_file(path / ".git")


def _commit(head: str) -> list[str]:
    return [head] if _OBJECT.fullmatch(head) else []
