"""A real repository to take snapshots of, and what of it must stay as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from claude_iterate.project.snapshots import Place, Snapshot, Snapshots

IDENTITY = (
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@b",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "protocol.file.allow=always",
)


def clean_environment(home: Path) -> dict[str, str]:
    """No settings of the machine's user."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


class Repository:
    """A project in a repository. `folder` is the project's place within it."""

    def __init__(self, top: Path, folder: str = "", *init: str) -> None:
        self.top = top
        self.root = top / folder
        self.root.mkdir(parents=True, exist_ok=True)
        self.environ = clean_environment(top.parent)
        self.git("init", "-q", "-b", "main", *init)
        self.snapshots_taken = 0
        self._made: Snapshots | None = None

    def git(self, *words: str, ok: bool = True, where: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=where or self.top, env=self.environ, capture_output=True, check=False
        )
        assert not ok or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n")

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)

    def commit(self, message: str = "x") -> None:
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def place(self, **more: object) -> Place:
        values = {"root": self.root, "workspace": "t", "run": "000001-x", "own": ("claude-iterate/",)} | more
        return Place(**values)  # type: ignore[arg-type]

    @property
    def snapshots(self) -> Snapshots:
        if self._made is None:
            self._made = Snapshots(self.place(), self.environ)
        return self._made

    def again(self, **more: object) -> Snapshots:
        self._made = Snapshots(self.place(**more), self.environ)
        return self._made

    def take(self) -> Snapshot:
        """A snapshot; nothing of the user's may have changed by it."""
        before = self.users()
        self.snapshots_taken += 1
        found = self.snapshots.take(f"{self.snapshots_taken:04d}")
        assert self.users() == before
        return found

    def users(self) -> dict[str, object]:
        """All that is the user's: index with its time, HEAD, refs, stash, settings."""
        found: dict[str, object] = {}
        for path in sorted(self.git_folder.rglob("*")):
            name = str(path.relative_to(self.git_folder))
            if path.is_file() and not name.startswith(("objects/", "claude-iterate/", "refs/claude-iterate/")):
                # Git touches the shared part of a split index whenever it is read.
                found[name] = path.read_bytes(), None if name.startswith("sharedindex.") else path.stat().st_mtime_ns
        return found

    @property
    def git_folder(self) -> Path:
        return Path(self.git("rev-parse", "--absolute-git-dir"))

    def files(self, tree: str) -> dict[str, str]:
        """The content of a tree by path."""
        listed = self.git("ls-tree", "-r", "-z", tree).split("\0")
        found = {}
        for line in filter(None, listed):
            about, path = line.split("\t", 1)
            mode, kind, name = about.split()
            found[path] = self.git("cat-file", "blob", name) if kind == "blob" else f"{mode} {name}"
        return found
