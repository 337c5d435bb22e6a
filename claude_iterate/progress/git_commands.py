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
    work tree."""

    def __init__(self, folder: str, environ: Mapping[str, str], repository: str = "") -> None:
        self._folder = folder
        own = {"GIT_DIR": repository, "GIT_WORK_TREE": folder} if repository else {}
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = kept | _QUIET | own
        self._words = ["git", *(word for option in OPTIONS for word in ("-c", option))]
        self._until = 0.0
        self.allow()

    def allow(self, seconds: float = PATIENCE) -> None:
        """From now on calls may take this long, all together."""
        self._until = time.monotonic() + seconds

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
        environ = self._environ | ({"GIT_INDEX_FILE": index} if index else {})
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                [*self._words, *words], cwd=self._folder, env=environ, stdin=pipe, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            raise GitProblem(f"git cannot be started: {error.strerror}") from None

    def end(self, process: subprocess.Popen[bytes], given: bytes = b"") -> bytes:
        """What a call printed. It may have failed."""
        try:
            printed, errors = process.communicate(given, max(0.001, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise GitProblem("git took too long") from None
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


def names(printed: bytes) -> list[str]:
    """Names that git ends with a NUL each. Bytes that are no UTF-8 survive the way back."""
    return [os.fsdecode(name) for name in printed.split(b"\0") if name]


def stream(paths: list[str]) -> bytes:
    """Names for git's standard input, in the same form."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
