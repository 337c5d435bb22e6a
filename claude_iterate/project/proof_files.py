"""Fingerprints of the files that define a proof, read from the disk within bounds, and again only what changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from claude_iterate.core.tampering import marks_of_tests
from claude_iterate.core.tampering.check_words import Named
from claude_iterate.core.tampering.comparison import EMPTY
from claude_iterate.core.tampering.normal_forms import proving_part
from claude_iterate.project import files_with_tests
from claude_iterate.project.files_taken_in import hiding_modules, taken_in
from claude_iterate.system import untrusted_files

_LARGEST = 1024 * 1024
"""Beyond these bytes, size and times stand for the content; a test of that size is left out."""
_MOST_BYTES = 8 * 1024 * 1024
"""Of all test files together."""
_MOST_IN_FOLDER = 200
_THERE = "there"
"""Stands for a file of which only its existence counts."""

Files = dict[str, dict[str, str]]


class Watched(msgspec.Struct, frozen=True):
    """What is looked at: files by kind, folders with prompts, the checks' words, the folders in which programs are
    looked for, and which paths of the project are not our own files."""

    root: Path
    files: Mapping[str, Sequence[Path]]
    folders: Mapping[str, Sequence[Path]]
    named: Sequence[Named]
    path: Sequence[str]
    counts: Callable[[str], bool]


class _Seen(msgspec.Struct, frozen=True):
    """A file as it was: what the system says of it, and its fingerprint; of a test first its content alone."""

    signature: tuple[int, ...]
    fingerprint: str


class ProofFiles:
    """Looks at what is watched, any number of times. The first look finds the test files and keeps their content until
    they are counted."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._uncounted: dict[str, bytes] = {}
        self._tests: dict[str, _Seen] = {}
        self._tests_now: dict[str, _Seen] = {}
        self._included: list[Path] | None = None
        self.left_out = 0

    def look(self) -> Files:
        """All fingerprints but those of tests."""
        watched, found = self._watched, Files()
        for kind, paths in self._paths().items():
            for path in dict.fromkeys(paths):
                if fingerprint := self._fingerprint(kind, path):
                    found.setdefault(kind, {})[self._label(path)] = fingerprint
        modules = [path for named in watched.named for name in named.modules if (path := self._place(name)).is_file()]
        for path in (*modules, *self._modules_that_hide_others()):
            found.setdefault("program", {})[self._label(path)] = _THERE
        return found

    def _modules_that_hide_others(self) -> list[Path]:
        """Modules of the project with a name of Python's own: where Python looks here first, it takes these."""
        words = dict.fromkeys(word for named in self._watched.named for word in named.imports)
        folders = dict.fromkeys(self._place(word) for word in words)
        root = self._watched.root
        return [path for folder in folders if folder.is_relative_to(root) for path in hiding_modules(folder)]

    def _paths(self) -> dict[str, list[Path]]:
        watched = self._watched
        paths = {kind: list(given) for kind, given in watched.files.items()}
        for kind, folders in watched.folders.items():
            paths.setdefault(kind, []).extend(path for folder in folders for path in _inside(folder))
        config = [self._place(name) for named in watched.named for name in named.configuration]
        if self._included is None:
            named_files = [
                self._place(name) for named in watched.named for name in (*named.files, *named.configuration)
            ]
            self._included = taken_in(watched.root, named_files)
        known = set(config)
        words = (path for named in watched.named for word in named.files for path in self._expanded(word))
        scripts = (self._place(name) for named in watched.named for name in named.modules if "/__" not in name)
        paths["config"] = config
        paths["check"] = [
            path
            for path in (*words, *scripts, *self._included)
            if path not in known and not marks_of_tests.is_named_as_test(str(path))
        ]
        paths["script"] = [
            self._place(name)
            for named in watched.named
            for name in named.scripts
            if not files_with_tests.is_made_by_tools(self._label(self._place(name)))
        ]
        programs = dict.fromkeys(name for named in watched.named for name in named.programs)
        paths["program"] = [Path(folder, name) for folder in self._own_folders() for name in programs]
        return paths

    def _own_folders(self) -> Iterable[str]:
        """Folders of the project in which programs are looked for; an empty one is the project itself."""
        root = str(self._watched.root)
        first = [folder for named in self._watched.named for folder in named.folders]
        for entry in (*first, *self._watched.path):
            folder = os.path.normpath(os.path.join(root, entry))
            if folder == root or folder.startswith(root + os.sep):
                yield folder

    def _expanded(self, word: str) -> list[Path]:
        if not any(sign in word for sign in "*?["):
            return [self._place(word)]
        return untrusted_files.find_absolute(self._place(word))[:_MOST_IN_FOLDER]

    def _place(self, word: str) -> Path:
        return Path(os.path.normpath(self._watched.root / os.path.expanduser(word)))

    def _real(self, path: Path) -> Path:
        """The file of the project that a link leads to. One that leads out is looked at itself."""
        real = Path(os.path.realpath(path))
        leads_out = path.is_relative_to(self._watched.root) and not real.is_relative_to(self._watched.root)
        return path if leads_out else real

    def _label(self, path: Path) -> str:
        root = self._watched.root
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def _fingerprint(self, kind: str, path: Path) -> str:
        """Empty for what is not a file, or has nothing in it that counts."""
        path = self._real(path)
        about = _about(path)
        if about is None or (kind == "program" and not about.st_mode & 0o111):
            return ""
        signature = _signature(about)
        seen = self._seen.get((kind, str(path)))
        if seen is None or seen.signature != signature:
            seen = self._seen[kind, str(path)] = _Seen(signature, _content(kind, path, about))
        return seen.fingerprint

    def find_tests(self) -> None:
        """Look for test files and read them: what is in them now is what later looks are compared with."""
        root = str(self._watched.root)
        found = files_with_tests.find(root, self._watched.counts)
        budget, self.left_out = _MOST_BYTES, found.left_out
        for name in found.paths:
            about, data = _about(f"{root}/{name}"), untrusted_files.read(f"{root}/{name}", min(_LARGEST, budget))
            if about is None or data is None:
                self.left_out += 1
                continue
            budget -= len(data)
            self._uncounted[name] = data
            self._tests[name] = _Seen(_signature(about), "")

    def count_tests(self, goes_on: Callable[[], bool]) -> dict[str, str] | None:
        """Count the tests in what was read, as long as it `goes_on`; None while something is left to do."""
        while self._uncounted:
            if not goes_on():
                return None
            name, data = self._uncounted.popitem()
            self._tests[name] = _Seen(self._tests[name].signature, _counted(name, data))
        return {name: seen.fingerprint for name, seen in sorted(self._tests.items()) if seen.fingerprint}

    def tests_touched(self) -> dict[str, str]:
        """As they were: only those tests that the system calls changed. So few have to be counted."""
        found = {}
        for name, seen in self._tests.items():
            about = _about(f"{self._watched.root}/{name}")
            if about is None or _signature(about) != seen.signature:
                found[name] = seen.fingerprint or _counted(name, self._uncounted.get(name, b""))
        return {name: was for name, was in found.items() if was}

    def look_at_tests(self, before: Mapping[str, str]) -> dict[str, str]:
        """These tests as they are now; if one is gone, also those that are new, because it may have moved."""
        found = {name: now for name, was in before.items() if (now := self._test_now(name, was))}
        for name in files_with_tests.around(before):
            data = self._read(name) if name not in before else None
            if data is not None:
                found[name] = _counted(name, data)
        if found.keys() != before.keys():
            for name in files_with_tests.find(str(self._watched.root), self._watched.counts).paths:
                if (
                    name not in before
                    and name not in self._tests
                    and (counted := _counted(name, self._read(name) or b""))
                ):
                    found[name] = counted
        return found

    def _read(self, name: str) -> bytes | None:
        return untrusted_files.read(f"{self._watched.root}/{name}", _LARGEST)

    def _test_now(self, name: str, was: str) -> str:
        path = f"{self._watched.root}/{name}"
        about = _about(path)
        if about is None:
            return ""
        signature = _signature(about)
        first, known = self._tests.get(name), self._tests_now.get(name)
        if first is not None and first.signature == signature:
            return first.fingerprint or was
        if known is None or known.signature != signature:
            data = self._read(name)
            now = marks_of_tests.written(marks_of_tests.counts(name, _text(data))) if data is not None else was
            known = self._tests_now[name] = _Seen(signature, now)
        return known.fingerprint


def _inside(folder: Path) -> list[Path]:
    return untrusted_files.find(folder, "*")[:_MOST_IN_FOLDER]


def _about(path: Path | str) -> os.stat_result | None:
    """None for what is neither a regular file nor a link."""
    about = untrusted_files.status(path)
    return about if about is not None and (stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)) else None


def _signature(about: os.stat_result) -> tuple[int, ...]:
    """Changes whenever the file does: no program can set the time of its last change of any kind."""
    return about.st_dev, about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _content(kind: str, path: Path, about: os.stat_result) -> str:
    if about.st_size > _LARGEST:
        return f"{about.st_size} {about.st_mtime_ns}"
    if stat.S_ISLNK(about.st_mode):
        return f"link {untrusted_files.read_link(path)}"
    data = untrusted_files.read(path, _LARGEST)
    if data is None:
        return "unreadable"
    part = proving_part(kind, path.name, _text(data))
    if kind in {"settings", "plan"}:
        return part or EMPTY
    if not part:
        return "" if kind == "config" else EMPTY
    return hashlib.blake2b(part.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _counted(name: str, data: bytes) -> str:
    """Empty for a file that is not named as a test and has none in it."""
    found = marks_of_tests.counts(name, _text(data))
    counts = found.tests or marks_of_tests.is_named_as_test(name) or marks_of_tests.surrounds_tests(name)
    return marks_of_tests.written(found) if counts else ""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
