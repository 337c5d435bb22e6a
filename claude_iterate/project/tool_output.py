"""What tools fetch, build and leave behind: no one's work, wherever the project is looked at.

One table for measuring, checks and reviews. It knows the names that tools give, files that only a tool writes into a
folder, and folders that a tool makes beside its own file. A name that people choose, too (`build`, `coverage`), needs
such a sign. What git tracks is work whatever it is called: ask only about files that git does not track.
"""

from __future__ import annotations

import fnmatch
import os
import re

NAMES: dict[str, tuple[str, ...]] = {
    "version control": (".git", ".hg", ".svn", ".jj"),
    "installed packages": ("node_modules", "bower_components", ".venv", ".tox", ".nox", ".eggs", "*.egg-info"),
    "caches": (
        *(".*cache", "__pycache__", "*.py[co]", ".hypothesis", ".ipynb_checkpoints", ".gradle", ".turbo", ".vite"),
        *(".angular", "*.tsbuildinfo", ".DS_Store"),
    ),
    "coverage and reports of tests": (
        *(".coverage", ".coverage.*", "coverage.xml", "coverage.out", "lcov.info", "*.gcda", "*.profraw", "htmlcov"),
        *(".nyc_output", "playwright-report", "junit.xml"),
    ),
    "builds": (".next", ".nuxt", ".svelte-kit"),
}
"""Files and folders of these names, in any case of letters; `*` and `[]` as in a shell."""
INSIDE = ("CACHEDIR.TAG", "pyvenv.cfg", "lcov-report", "coverage-final.json")
"""A folder with one of these in it: the open standard for caches (https://bford.info/cachedir), a virtual environment
of Python, coverage of JavaScript."""
BESIDE = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "build": ("build.gradle", "build.gradle.kts"),
    "_build": ("mix.exs", "rebar.config", "dune-project"),
}
"""A folder of this name beside one of these files."""

_NAMED = re.compile("|".join(fnmatch.translate(name) for names in NAMES.values() for name in names), re.IGNORECASE)


def is_named_as_such(name: str) -> bool:
    """A file or folder with a name that only tools give."""
    return _NAMED.match(name) is not None


class ToolOutput:
    """What of one project is the output of tools, for one look at it: what was found about a folder is remembered."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, bool] = {"": False}

    def covers(self, path: str) -> bool:
        """True for this file, or with a slash at its end folder, by its path in the project, and for all that is in a
        folder of tools."""
        above, _, name = path.rpartition("/")
        return self._covers_folder(above) or (bool(name) and is_named_as_such(name))

    def _covers_folder(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition("/")
            known = is_named_as_such(name) or self._covers_folder(above) or self._has_sign(above, path, name)
            self._folders[path] = known
        return known

    def _has_sign(self, above: str, path: str, name: str) -> bool:
        signs = [f"{path}/{file}" for file in INSIDE]
        signs += [f"{above}/{file}" for file in BESIDE.get(name, ())]
        return any(os.path.lexists(f"{self._root}/{sign}") for sign in signs)
