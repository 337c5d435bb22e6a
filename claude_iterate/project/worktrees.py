"""The git worktree of a run: a checkout of its own, on a branch of its own, inside the project.

Git starts no hook and no filter of the repository or of a submodule for us. A worktree is removed only when it has
nothing that is not committed; its branch is never removed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from claude_iterate.core.events import WorktreeLeft, WorktreeMade
from claude_iterate.core.formats import join_names, plural
from claude_iterate.core.rules import next_steps
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.project.git import Git, GitProblem
from claude_iterate.system import untrusted_files

FOLDER = "worktrees"
_IGNORE = "# Written by claude-iterate: worktrees of runs, which the project's own git leaves alone.\n*\n"
_SUBMODULE = b"160000 "
_CHECKOUT = 600.0
"""Seconds for a checkout of a large repository."""


class Worktree(msgspec.Struct, frozen=True):
    """Where a run is to work. `top` is the worktree, `place` the project in it, `main` the project itself; `base` is
    the commit that its branch begins at, `found` whether the branch is there, `registered` whether git knows `top`.
    `behind`: what the branch should begin at, where it is there already and does not have all commits of that."""

    main: Path
    top: Path
    place: Path
    branch: str
    base: str
    found: bool
    registered: bool
    environ: Mapping[str, str]
    behind: str = ""

    def make(self) -> WorktreeMade:
        """Check the branch out, unless it is. A WorkspaceProblem when git cannot."""
        if not (self.registered and self.top.is_dir()):
            _make_folder(self.top.parent)
            git = _git(self.main, self.environ)
            git.allow(_CHECKOUT)
            what = [str(self.top), self.branch] if self.found else ["-b", self.branch, str(self.top), self.base]
            force = ["--force"] if self.registered else []  # its folder was deleted by hand
            try:
                git.ask("worktree", "add", *force, *what)
            except GitProblem as problem:
                raise WorkspaceProblem(
                    f"The worktree {self.top} cannot be made: {problem}.", "git worktree list"
                ) from None
        untrusted_files.make_folder(self.place, parents=True)
        return WorktreeMade(str(self.top), self.branch, self.base, str(self.main), again=self.found)

    def describe_rest(self) -> WorktreeLeft:
        """What is in it now."""
        try:
            git = _git(self.top, self.environ)
            # The commits that the main checkout does not have, wherever its own HEAD is by now.
            head = _git(self.main, self.environ).line("rev-parse", "HEAD")
            commits = int(git.line("rev-list", "--count", f"{head}..refs/heads/{self.branch}"))
            return WorktreeLeft(commits, self._is_clean(git))
        except (GitProblem, OSError, ValueError) as problem:
            return WorktreeLeft(trouble=str(problem))

    def remove(self) -> str:
        """Remove it if it is clean. Why it stays, if that is not because it is not clean; else nothing."""
        try:
            if self.top.is_dir() and self._is_clean(_git(self.top, self.environ)):
                _git(self.main, self.environ).ask("worktree", "remove", str(self.top))
        except (GitProblem, OSError) as problem:
            return f"The worktree {self.top} stays: {problem}"
        return ""

    def main_is_changed(self, own: Iterable[Path]) -> bool:
        """Files of the project that git knows have changes that are not committed. What is below the folders `own` does
        not count: every run changes it, and a run in the worktree uses it where it is."""
        try:
            git = _git(self.main, self.environ)
            prefix = git.line("rev-parse", "--show-prefix")
            changed = git.ask("diff", "--name-only", "-z", "--ignore-submodules=dirty", "HEAD").split(b"\0")
        except GitProblem:
            return False
        inside = [folder.relative_to(self.main).as_posix() for folder in own if folder.is_relative_to(self.main)]
        ours = tuple(os.fsencode(f"{prefix}{folder}/") for folder in inside)
        return any(name and not name.startswith(ours) for name in changed)

    def _is_clean(self, git: Git) -> bool:
        """Its branch is checked out, and nothing is changed, untracked or half-done. A submodule is not looked into:
        that would run what its own settings name, and git removes no worktree with one."""
        files = git.ask("ls-files", "--stage", "-z").split(b"\0")
        if _changed_files(git) or any(entry.startswith(_SUBMODULE) for entry in files):
            return False
        if git.line("rev-parse", "--symbolic-full-name", "HEAD") != f"refs/heads/{self.branch}":
            return False
        own = Path(git.line("rev-parse", "--absolute-git-dir"))
        return not any(
            (own / name).exists() for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD")
        )


def find(root: Path, workspace: str, wanted: str, environ: Mapping[str, str]) -> Worktree:
    """The worktree of this workspace. `wanted` is its branch, or `auto`; `BRANCH:BASE` says where a new branch begins.
    Nothing is written; a WorkspaceProblem says why there can be none."""
    git = _git(root, environ)
    branch, _, begins = wanted.partition(":")
    branch = f"claude-iterate/{workspace}" if branch == "auto" else branch
    top = root / "claude-iterate" / FOLDER / workspace
    try:
        prefix = git.line("rev-parse", "--show-prefix")
    except GitProblem as problem:
        raise WorkspaceProblem(
            f"A worktree needs a git repository, and {root} is none: {problem}.", "git init"
        ) from None
    base = _commit(git, "HEAD")
    if not base:
        first = "git commit --allow-empty -m 'Begin'"
        raise WorkspaceProblem("A worktree needs a commit to begin at, and the repository has none.", first)
    try:
        git.line("check-ref-format", f"refs/heads/{branch}")
    except GitProblem:
        hint = f"claude-iterate run {workspace} --worktree=NAME"
        raise WorkspaceProblem(f"{branch!r} cannot be the name of a branch.", hint) from None
    known = _checkouts(git)
    _refuse_obstacles(top, branch, known)
    tip = _commit(git, f"refs/heads/{branch}")
    if begins and not (base := _commit(git, begins)):
        raise WorkspaceProblem(
            f"The branch {branch} cannot begin at {begins!r}: git knows no such commit.", "git branch --all"
        )
    behind = begins if begins and tip and int(git.line("rev-list", "--count", f"{tip}..{base}")) else ""
    place = top / prefix if prefix else top
    return Worktree(root, top, place, branch, tip or base, bool(tip), os.path.realpath(top) in known, environ, behind)


class Remains(msgspec.Struct, frozen=True):
    """What there is of a worktree now. `top` is empty when it is gone; `commits` are those of its branch that the main
    checkout does not have, None when there is no branch; `files` are those whose work is not committed."""

    main: str
    top: str
    branch: str
    commits: int | None
    files: tuple[str, ...]

    @property
    def merge(self) -> str:
        """The command that brings all of it into the main checkout; empty when there is nothing to merge."""
        uncommitted_in = self.top if self.files else ""
        is_work = self.branch and (self.files or self.commits)
        return next_steps.merge_command(self.main, self.branch, uncommitted_in) if is_work else ""

    @property
    def description(self) -> str:
        """`the worktree PATH, with work that is not committed (a.txt); the branch B, with 2 commits to merge`"""
        more = f", with {plural(self.commits, 'commit')} to merge" if self.commits else ""
        named = f", with work that is not committed ({join_names(self.files)})" if self.files else ""
        both = [f"the worktree {self.top}{named}"] * bool(self.top)
        return "; ".join([*both, *[f"the branch {self.branch}{more}"] * (self.commits is not None)])

    @property
    def steps(self) -> str:
        """What to do about it: the command that loses nothing comes first."""
        merge = f"{'Commit and merge' if self.files else 'Merge'} it: {self.merge}" if self.merge else ""
        return "; or remove it: ".join(filter(None, (merge, self.remove))) if merge else f"Remove it: {self.remove}"

    @property
    def remove(self) -> str:
        """The command that removes all of it, whatever it holds; empty when there is nothing left."""
        git = ["git", "-C", self.main]
        tree = [*git, "worktree", "remove", *(["--force"] if self.files else []), self.top]
        branch = [*git, "branch", "-D" if self.commits else "-d", self.branch]
        return " && ".join([shlex.join(tree)] * bool(self.top) + [shlex.join(branch)] * (self.commits is not None))


def remains(main: Path, path: str, branch: str, environ: Mapping[str, str]) -> Remains:
    """Look at what a run left in its worktree. What git cannot say is taken as gone."""
    commits, top = None, path if os.path.isdir(path) else ""
    files: tuple[str, ...] = ()
    with contextlib.suppress(GitProblem, OSError, ValueError):
        commits = int(_git(main, environ).line("rev-list", "--count", f"HEAD..refs/heads/{branch}"))
    with contextlib.suppress(GitProblem, OSError, ValueError):
        files = _changed_files(_git(Path(top), environ)) if top else ()
    return Remains(str(main), top, branch, commits, files)


def remains_of(root: Path, workspace: str, made: WorktreeMade | None, environ: Mapping[str, str]) -> Remains | None:
    """What there is of the worktree of a workspace, whichever run left it; else of the one that was `made` for its last
    run. None: nothing stays."""
    top, branch = root / "claude-iterate" / FOLDER / workspace, ""
    if not top.is_dir():
        found = remains(root, made.path, made.branch, environ) if made is not None else None
        return found if found is not None and found.remove else None
    with contextlib.suppress(GitProblem, OSError):
        branch = _checkouts(_git(root, environ)).get(os.path.realpath(top), "").removeprefix("refs/heads/")
    return remains(root, str(top), branch, environ)


def left_by_nobody(root: Path, workspaces: Iterable[str], environ: Mapping[str, str]) -> list[Remains]:
    """Worktrees of workspaces that are gone."""
    folder, known = root / "claude-iterate" / FOLDER, set(workspaces)
    names = [name for name in untrusted_files.names_in(folder) if untrusted_files.is_folder(folder / name)]
    found = (remains_of(root, name, None, environ) for name in names if name not in known)
    return [left for left in found if left is not None]


def _changed_files(git: Git) -> tuple[str, ...]:
    """Files with changes that are not committed, new ones among them."""
    said = git.ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
    return tuple(entry[3:] for entry in os.fsdecode(said).split("\0") if entry)


def _refuse_obstacles(top: Path, branch: str, known: Mapping[str, str]) -> None:
    for path in (top.parent, top):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            what = "a link" if path.is_symlink() else "no folder"
            raise WorkspaceProblem(
                f"{path} is {what}; a worktree goes into a folder of the project.", f"rm {shlex.quote(str(path))}"
            )
    here = os.path.realpath(top)
    elsewhere = [path for path, out in known.items() if out == f"refs/heads/{branch}" and path != here]
    if elsewhere:
        hint = f"claude-iterate run {top.name} --worktree=ANOTHER-BRANCH"
        raise WorkspaceProblem(
            f"The branch {branch} is checked out in {elsewhere[0]}.", f"Switch there, or take another: {hint}"
        )
    if here in known and top.is_dir() and known[here] != f"refs/heads/{branch}":
        found = known[here].removeprefix("refs/heads/")
        there = f"claude-iterate run {top.name} {shlex.quote(f'--worktree={found}')}"
        remove = shlex.join(["git", "worktree", "remove", str(top)])
        hint = f"Work there: {there}" if found else f"Remove it: {remove}"
        raise WorkspaceProblem(f"The worktree {top} is on {found or 'no branch'}, not on {branch}.", hint)
    if here not in known and untrusted_files.names_in(top):
        raise WorkspaceProblem(
            f"{top} is in the way: it is not a worktree of this repository.", f"Move it away: mv {top} ..."
        )


def _checkouts(git: Git) -> dict[str, str]:
    """Each worktree that git knows, and the branch in it; empty for none."""
    found: dict[str, str] = {}
    path = ""
    for line in os.fsdecode(git.ask("worktree", "list", "--porcelain", "-z")).split("\0"):
        word, _, value = line.partition(" ")
        if word == "worktree":
            path = os.path.realpath(value)
            found[path] = ""
        elif word == "branch":
            found[path] = value
    return found


def _commit(git: Git, name: str) -> str:
    try:
        return git.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitProblem:
        return ""


def _make_folder(folder: Path) -> None:
    """The folder of all worktrees, which git leaves alone: it ignores itself, so no file of the user's is changed."""
    try:
        untrusted_files.make_folder(folder, parents=True)
        with contextlib.suppress(FileExistsError):
            untrusted_files.write_new(folder / ".gitignore", _IGNORE)
    except OSError as error:
        raise WorkspaceProblem(f"{folder} cannot be made: {error.strerror}.", f"ls -ld {folder.parent}") from None


def _git(folder: Path, environ: Mapping[str, str]) -> Git:
    return Git(str(folder), environ, filters=False)
