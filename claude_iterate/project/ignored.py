"""What does not count as work, wherever the project is looked at: what tools leave, and what a `.gitignore` names.

One table for measuring, checks and reviews. It knows the names that tools give, files that only a tool writes into a
folder, and folders that a tool makes beside its own file. A name that people choose, too (`build`, `coverage`), needs
such a sign. What git tracks is work whatever it is called: ask only about files that git does not track.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import warnings
from collections.abc import Iterable

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from claude_iterate.system import untrusted_files

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


class IgnoreFiles:
    """What files called `.gitignore` say. Of all that say something about a path, the nearest one decides."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._rules = {"": ignore_rules(patterns)}

    def read(self, path: str, folder: str) -> None:
        """The file of a folder; empty or with a slash at its end."""
        with contextlib.suppress(OSError):
            found = ignore_rules(untrusted_files.look(path).data.decode("utf-8", "replace").splitlines())
            self._rules[folder] = self._rules.get(folder, GitIgnoreSpec([])) + found

    def covers(self, path: str) -> bool:
        """True when this file, or with a slash at its end folder, is ignored. Folders above it are asked separately."""
        folder = path.rstrip("/")
        while folder:
            folder = folder.rpartition("/")[0]
            above = f"{folder}/" if folder else ""
            rules = self._rules.get(above)
            if rules and (said := rules.check_file(path.removeprefix(above)).include) is not None:
                return said
        return False


def ignore_rules(lines: Iterable[str]) -> GitIgnoreSpec:
    """Patterns as git reads them. It passes over what is none."""
    patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None and pattern.include is not None]
    return GitIgnoreSpec(patterns)


def ignores(rules: GitIgnoreSpec, path: str) -> bool:
    """True when this file or a folder on its way is ignored: what is in such a folder no pattern brings back."""
    ends = [end for end, letter in enumerate(path, 1) if letter == "/"]
    return bool(rules) and any(rules.match_file(path[:end]) for end in (*ends, len(path)))


def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of `re`, about what somebody has written into a `.gitignore`
        try:
            return GitIgnoreSpecPattern(line)
        except (ValueError, re.error):
            return None
