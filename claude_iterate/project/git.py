"""Calls of git that read and write nothing but what we ask for: no hooks, no settings of a surrounding git, no prompts.

All calls together have a bound on their time. What git cannot do is a GitProblem; the caller decides what that means.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

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
        self._folder = folder
        own = {"GIT_DIR": repository, "GIT_WORK_TREE": folder} if repository else {}
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = kept | _QUIET | own
        self._filters = filters
        self._against_filters: list[str] | None = None
        self._until = 0.0
        self._running: list[subprocess.Popen[bytes]] = []
        self._given_up = False
        self.allow()

    def has(self, name: str) -> bool:
        """There is such a file in the folder."""
        return os.path.lexists(os.path.join(self._folder, name))

    def allow(self, seconds: float = PATIENCE) -> None:
        """From now on calls may take this long, all together. The settings of git may be other ones by now."""
        self._until = time.monotonic() + seconds
        self._against_filters = [] if self._filters else None

    def give_up(self) -> None:
        """From another thread: end what runs; every further call is a GitProblem."""
        self._given_up = True
        for process in list(self._running):
            process.kill()

    def drop(self) -> None:
        """End what was begun and is not waited for any more."""
        for process in self._running:
            process.kill()
            process.communicate()
        self._running.clear()

    def ignores(self, folder: str) -> bool:
        """True for a folder that the repository ignores: then git says nothing of what is in it."""
        # This call does not know literal names; with a dot before it, a name has no meaning of its own.
        before, self._environ = self._environ, self._environ | {"GIT_LITERAL_PATHSPECS": "0"}
        try:
            self.ask("check-ignore", "-q", f"./{folder}")
        except GitProblem:
            return False
        finally:
            self._environ = before
        return True

    def change_folder(self, folder: str) -> None:
        """From now on calls are made in another folder."""
        self._folder = folder

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

    def start(self, *words: str, index: str = "") -> subprocess.Popen[bytes]:
        """Begin a call that reads nothing. `index` takes the place of the repository's own index."""
        options = [*(word for option in OPTIONS for word in ("-c", option)), *self._options_against_filters()]
        environ = self._environ | ({"GIT_INDEX_FILE": index} if index else {})
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                ["git", *options, *words], cwd=self._folder, env=environ, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            gone = not os.path.isdir(self._folder)
            why = f"{self._folder} is gone" if gone else f"git cannot be started: {error.strerror}"
            raise GitProblem(why) from None
        self._running.append(process)
        if self._given_up:  # it may have missed this one
            process.kill()
        return process

    def end(self, process: subprocess.Popen[bytes], given: bytes = b"") -> bytes:
        """What a call printed. It may have failed."""
        try:
            printed, errors = process.communicate(given, max(0.001, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise GitProblem("git took too long") from None
        finally:
            self._running.remove(process)
        if self._given_up:
            raise GitProblem("the look was given up")
        if process.returncode != 0:
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            raise GitProblem(lines[-1] if lines else f"git ended with {process.returncode}")
        return printed

    def ask(self, *words: str, index: str = "", given: bytes = b"") -> bytes:
        """What a call prints."""
        return self.end(self.start(*words, index=index), given)

    def line(self, *words: str) -> str:
        """The text that a call prints."""
        return os.fsdecode(self.ask(*words)).strip("\n")

    def names(self, *words: str, index: str = "", given: bytes = b"") -> list[str]:
        """The names that a call prints."""
        return split_names(self.ask(*words, index=index, given=given))

    def _options_against_filters(self) -> list[str]:
        """They switch off each filter in all settings that git reads."""
        if self._against_filters is None:
            self._against_filters, listed = [], b""  # also for the call that lists them
            with contextlib.suppress(GitProblem):  # there are none, or there is no repository
                listed = self.ask(*_LIST_FILTERS)
            self._against_filters = None
            self._against_filters = _switch_off(dict.fromkeys(split_names(listed)))
        return self._against_filters


def _switch_off(keys: Iterable[str]) -> list[str]:
    """A GitProblem for a filter that no option can name."""
    if any("=" in key or "\n" in key for key in keys):
        raise GitProblem("the settings of git name a filter that cannot be switched off")
    return [word for key in keys for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")]


def split_names(printed: bytes) -> list[str]:
    """Names that git ends with a NUL each. Bytes that are no UTF-8 survive the way back."""
    return [os.fsdecode(name) for name in printed.split(b"\0") if name]


def join_names(paths: Iterable[str]) -> bytes:
    """Names for git's standard input, in the same form."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


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
