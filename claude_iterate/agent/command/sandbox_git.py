"""What a sandbox shows of the git repository that a project is in, wherever the repository lies."""

from __future__ import annotations

from pathlib import Path

import msgspec

from claude_iterate.agent.command.sandbox import EMPTY

_ACTED_ON = ("config", "config.worktree", "hooks", "commondir")
"""What git acts on outside: settings, which can name programs, hooks, and a file that says where both are instead."""
_MOST_SUBMODULES = 100
_MOST_FOLDERS = 1000
"""That are looked through for submodules."""


class Repository(msgspec.Struct, frozen=True):
    """`folders` are those of git, which a commit has to reach; `acted_on` are parts of them that git acts on outside;
    `around` is the work tree, if the project is only a part of it: else git would take the rest for deleted."""

    folders: tuple[Path, ...] = ()
    acted_on: tuple[Path, ...] = ()
    around: tuple[Path, ...] = ()


def found(root: Path, home: str) -> Repository:
    """The repository of the project. One around the home folder or all temporary files is not shown."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is None or (top != root and _is_too_large(top.resolve(), Path(home).resolve())):
        return Repository()
    folders = _folders(top)
    modules = [path for folder in folders for path in _submodules(folder / "modules")]
    acted_on = [folder / name for folder in (*folders, *modules) for name in _ACTED_ON]
    return Repository(folders, tuple(acted_on), () if top == root else (top,))


def _submodules(folder: Path) -> list[Path]:
    """The folders of git of all submodules, also of those in submodules; the name of one can have slashes."""
    found: list[Path] = []
    waiting = [folder]
    for place in waiting:  # grows while it is read
        inside = [path for path in sorted(place.glob("*")) if path.is_dir() and not path.is_symlink()]
        own = [path for path in inside if (path / "HEAD").exists()]
        found += own
        waiting += [path / "modules" if path in own else path for path in inside][: _MOST_FOLDERS - len(waiting)]
    return found[:_MOST_SUBMODULES]


def _is_too_large(top: Path, home: Path) -> bool:
    return home.is_relative_to(top) or str(top) in EMPTY


def _folders(top: Path) -> tuple[Path, ...]:
    """The folder of git; in a linked work tree that of the repository, which lies elsewhere."""
    own = top / ".git"
    if own.is_symlink():  # Claude could have made it, to reach another repository in the next run
        return ()
    if own.is_dir():
        return (own,)
    words = _text(own)
    if not words.startswith("gitdir: "):
        return ()
    folder = Path(top, words.removeprefix("gitdir: ").strip())
    common = folder.parent.parent if folder.parent.name == "worktrees" else folder
    return (common.resolve(),) if (common / "HEAD").exists() and _knows(folder, top) else ()


def _knows(folder: Path, top: Path) -> bool:
    """This folder of git names the work tree in turn: a file that Claude wrote into the work tree is not enough."""
    if folder.parent.name == "worktrees":
        named = _text(folder / "gitdir").strip()
        return bool(named) and Path(folder, named).resolve() == (top / ".git").resolve()
    lines = (line.partition("=") for line in _text(folder / "config").splitlines())
    trees = [value.strip().strip('"') for key, _, value in lines if key.strip().lower() == "worktree"]
    return any(Path(folder, path).resolve() == top.resolve() for path in trees)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
