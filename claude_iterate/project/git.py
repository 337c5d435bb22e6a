"""Calls of git that read and write nothing but what we ask for: no hooks, no settings of a surrounding git, no prompts;
and an index of our own.

All calls together have a bound on their time. What git cannot do is a GitProblem; the caller decides what that means.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
)
"""Of every call: no program of the user's is started, and nothing is changed but what we ask for."""
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": ":",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",  # a folder may be called `:(top)`
    "LC_ALL": "C",
}
_LIST_FILTERS = ("config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")
PATIENCE = 60.0
"""Seconds for all calls between two calls of `allow`."""
_PATIENCE_FOR_A_TEXT = 5.0


class GitProblem(Exception):
    """Git is missing, failed, or took too long; its last line says why."""


class Git:
    """Git in one folder. A repository that git does not find by itself is given as `repository`, with the folder as its
    work tree. Without `filters` none of those that git's settings name is started: Claude may have named them."""

    def __init__(self, folder: str, environ: Mapping[str, str], repository: str = "", filters: bool = True) -> None:
        self.folder = folder
        own = {"GIT_DIR": repository, "GIT_WORK_TREE": folder} if repository else {}
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        kept["PATH"] = _path_outside(folder, environ)
        self._environ = kept | _QUIET | own
        self._filters = filters
        self._against_filters: list[str] | None = None
        self._until = 0.0
        self._running: subprocess.Popen[bytes] | None = None
        self._given_up = False
        self.allow()

    def allow(self, seconds: float = PATIENCE) -> None:
        """From now on calls may take this long, all together. The settings of git may be other ones by now."""
        self._until = time.monotonic() + seconds
        self._against_filters = [] if self._filters else None

    def give_up(self) -> None:
        """From another thread: end what runs; every further call is a GitProblem."""
        self._given_up = True
        if (process := self._running) is not None:
            process.kill()

    def ignores_folder(self) -> bool:
        """True when the repository around the folder ignores it: then git says nothing of what is in it."""
        # This call does not know literal names.
        before, self._environ = self._environ, self._environ | {"GIT_LITERAL_PATHSPECS": "0"}
        try:
            self.ask("check-ignore", "-q", ".")
        except GitProblem:
            return False
        finally:
            self._environ = before
        return True

    def write_objects_to(self, folder: str, repository: str) -> None:
        """New objects go into this folder, uncompressed because they are not kept. Those in the folder of objects of
        the `repository` are still found."""
        quoted = repository.replace("\\", "\\\\").replace('"', '\\"')  # a colon would end the path
        self._environ |= {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.looseCompression",
            "GIT_CONFIG_VALUE_0": "0",
        }

    def ask(self, *words: str, index: str = "", given: bytes | IO[bytes] = b"") -> bytes:
        """What a call prints. `index` takes the place of the repository's own index; `given` is what it reads."""
        options = [*(word for option in OPTIONS for word in ("-c", option)), *self._options_against_filters()]
        environ = self._environ | ({"GIT_INDEX_FILE": index} if index else {})
        pipe = subprocess.PIPE
        text = given if isinstance(given, bytes) else None
        source = pipe if isinstance(given, bytes) else given
        try:
            process = subprocess.Popen(
                ["git", *options, *words], cwd=self.folder, env=environ, stdin=source, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            gone = not os.path.isdir(self.folder)
            why = f"{self.folder} is gone" if gone else f"git cannot be started: {error.strerror}"
            raise GitProblem(why) from None
        self._running = process
        if self._given_up:  # it may have missed this one
            process.kill()
        try:
            printed, errors = process.communicate(text, max(0.001, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise GitProblem("git took too long") from None
        finally:
            self._running = None
        if self._given_up:
            raise GitProblem("the look was given up")
        if process.returncode != 0:
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            raise GitProblem(lines[-1] if lines else f"git ended with {process.returncode}")
        return printed

    def line(self, *words: str) -> str:
        """The text that a call prints."""
        return os.fsdecode(self.ask(*words)).strip("\n")

    def names(self, *words: str, index: str = "", given: bytes = b"") -> list[str]:
        """The names that a call prints."""
        # Bytes that are no UTF-8 survive the way back.
        return [os.fsdecode(name) for name in self.ask(*words, index=index, given=given).split(b"\0") if name]

    def _options_against_filters(self) -> list[str]:
        """They switch off each filter in all settings that git reads."""
        if self._against_filters is None:
            self._against_filters, listed = [], list[str]()  # also for the call that lists them
            with contextlib.suppress(GitProblem):  # there are none, or there is no repository
                listed = self.names(*_LIST_FILTERS)
            self._against_filters = None
            self._against_filters = _switch_off(dict.fromkeys(listed))
        return self._against_filters


def _path_outside(folder: str, environ: Mapping[str, str]) -> str:
    """PATH without what lies in the folder: Claude may have put a `git` there."""
    inside = f"{os.path.realpath(folder)}/"
    listed = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(path for path in listed if not f"{os.path.realpath(path)}/".startswith(inside))


def _switch_off(keys: Iterable[str]) -> list[str]:
    """A GitProblem for a filter that no option can name."""
    if any("=" in key or "\n" in key for key in keys):
        raise GitProblem("the settings of git name a filter that cannot be switched off")
    return [word for key in keys for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")]


Mark = tuple[int, int, int]
"""Size, time of the last change and inode: another mark is another content."""


def mark(about: os.stat_result) -> Mark:
    """What shows a change without reading the file."""
    return about.st_size, about.st_mtime_ns, about.st_ino


class IndexCopy:
    """An index of our own at `path`. It begins as a copy of the user's, and so knows what has not changed since; in a
    store of our own, which has no other (`users` is empty), with nothing. A lock on it was left by a killed run."""

    def __init__(self, git: Git, path: str, users: str) -> None:
        self.path = path
        self._git = git
        self._users = users
        self._seed: Mark | None = (-1, -1, -1)

    def renew(self) -> bool:
        """Begin again if the user's index is another one by now; then True."""
        _remove(f"{self.path}.lock")
        seed = _mark_of(self._users) if self._users else None
        if seed == self._seed and os.path.exists(self.path):
            return False
        self._seed = seed
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if seed is None:
            _remove(self.path)
        else:
            self._copy(seed)
        return True

    def list_new(self) -> list[str]:
        """Files in the folder that git neither tracks nor ignores."""
        # The user's index knows what is tracked although it is ignored.
        index = "" if self._users else self.path
        return self._git.names("ls-files", "-z", "--others", "--exclude-standard", "--", ".", index=index)

    def list_changed(self) -> list[str]:
        """Files in the folder that are not as it describes them, or gone."""
        compare = ("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", "--relative")
        return self._git.names(*compare, "--", ".", index=self.path)

    def update(self, *options: str, paths: Iterable[str]) -> None:
        """Change the entries of these files."""
        if given := b"".join(os.fsencode(path) + b"\0" for path in paths):
            self._git.ask("update-index", "-z", *options, "--stdin", index=self.path, given=given)

    def write_tree(self, *options: str) -> str:
        """The name of the tree that it describes."""
        return self._git.ask("write-tree", *options, index=self.path).decode().strip()

    def _copy(self, seed: Mark) -> None:
        # With its time: git takes a file that is as old as the index for one that may have changed since.
        shutil.copyfile(self._users, f"{self.path}.new")
        os.utime(f"{self.path}.new", ns=(seed[1], seed[1]))
        os.replace(f"{self.path}.new", self.path)
        listed = self._git.names("ls-files", "-v", "-z", index=self.path)
        # The user told git to take them as unchanged, or to skip them; what is there we look at all the same.
        self.update("--no-assume-unchanged", paths=[line[2:] for line in listed if line[0].islower()])
        skipped = [line[2:] for line in listed if line[0] in "sS"]
        there = [path for path in skipped if os.path.lexists(os.path.join(self._git.folder, path))]
        self.update("--no-skip-worktree", paths=there)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _mark_of(path: str) -> Mark | None:
    try:
        return mark(os.stat(path))
    except OSError:
        return None


def has_had_text(root: Path, data: bytes, since: float, environ: Mapping[str, str] = os.environ) -> bool:
    """True when the repository has had a file with these bytes since before that moment (epoch seconds): in a commit of
    any branch, in a stash or in the index. False where git cannot be asked.

    What `git checkout` or `git stash pop` brings back was not written now. The age of git's own copy tells such a text
    from one that was written and committed just now.
    """
    blob = b"blob %d\0%b" % (len(data), data)
    names = [hashlib.new(kind, blob, usedforsecurity=False).hexdigest() for kind in ("sha1", "sha256")]
    git = Git(str(root), environ)
    git.allow(_PATIENCE_FOR_A_TEXT)
    try:
        answers = (
            git.ask("cat-file", "--batch-check=%(objectname)", given="\n".join(names).encode()).decode().split("\n")
        )
        name = next((name for name in names if name in answers), "")
        if not name:
            return False
        place = git.line("rev-parse", "--git-path", f"objects/{name[:2]}/{name[2:]}")
    except GitProblem:
        return False
    try:
        return (root / place).stat().st_mtime < since
    except OSError:
        return True  # it is in a pack: git puts things there long after they were written
