"""Calls of git that read and write nothing but what we ask for: no hooks, no settings of a surrounding git, no prompts.

Every call has the same bound on its time. What git cannot do is a GitProblem; the caller decides what that means.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

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
PATIENCE = 60.0
"""Seconds for all calls between two calls of `allow`."""


class GitProblem(Exception):
    """Git is missing, failed, or took too long; its last line says why."""


class Git:
    """Git in one folder. A repository that git does not find by itself is given as `repository`, with the folder as its
    work tree. Without `filters` none of those that git's settings name is started: Claude may have named them."""

    def __init__(self, folder: str, environ: Mapping[str, str], repository: str = "", filters: bool = True) -> None:
        self._folder = folder
        self._filters = filters
        own = {"GIT_DIR": repository, "GIT_WORK_TREE": folder} if repository else {}
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = kept | _QUIET | own
        self._words = ["git", *(word for option in OPTIONS for word in ("-c", option))]
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
        self._dropped = False

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

    def moved(self, folder: str) -> None:
        """From now on calls are made in another folder."""
        self._folder = folder

    def start(self, *words: str, index: str = "") -> subprocess.Popen[bytes]:
        """Begin a call that reads nothing. `index` takes the place of the repository's own index."""
        if not (self._filters or self._dropped):
            self._drop_filters()
        environ = self._environ | ({"GIT_INDEX_FILE": index} if index else {})
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                [*self._words, *words], cwd=self._folder, env=environ, stdin=pipe, stdout=pipe, stderr=pipe
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

    def _drop_filters(self) -> None:
        self._dropped = True  # first, because this asks git, too
        self._words = self._words[: 1 + 2 * len(OPTIONS)]
        try:
            printed = self.ask(*FILTERS)
        except GitProblem:
            return  # there are none, or there is no repository
        self._dropped = False
        self._words += without_filters(printed)
        self._dropped = True


FILTERS = ("config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")
"""The call that lists the filters in all settings that git reads."""


def without_filters(printed: bytes) -> list[str]:
    """Options that switch off each filter of such a list. A GitProblem for one that no option can name."""
    keys = dict.fromkeys(names(printed))
    if any("=" in key or "\n" in key for key in keys):
        raise GitProblem("the settings of git name a filter that cannot be switched off")
    return [word for key in keys for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")]


def names(printed: bytes) -> list[str]:
    """Names that git ends with a NUL each. Bytes that are no UTF-8 survive the way back."""
    return [os.fsdecode(name) for name in printed.split(b"\0") if name]


def stream(paths: list[str]) -> bytes:
    """Names for git's standard input, in the same form."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
