"""Runs tests against changed copies of the checkout, each in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import hypothesis  # noqa: F401 - imported before the fork, so that no child has to
import pytest

_LEFT_OUT = shutil.ignore_patterns(".venv", ".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache")
_PLUGINS = ("randomly", "xdist", "cacheprovider", "anyio")
_OPTIONS = (
    *("-q", "-x", "--assert=plain", "--hypothesis-seed=1", "-o", "addopts=--import-mode=importlib"),
    *(f"-pno:{name}" for name in _PLUGINS),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
_POLL = 0.01
_BROKEN = 70


class Edit(NamedTuple):
    """A file of the checkout and what it holds for the time of a run."""

    path: str
    text: bytes


class Job(NamedTuple):
    """What is changed, the tests that should notice, and how long they may take. A `control` changes nothing: no test
    may notice it."""

    name: object
    edit: Edit
    files: tuple[str, ...]
    wanted: Callable[[pytest.Item], bool]
    patience: float
    control: bool = False


class Coverage:
    """A plugin of pytest: which test runs which lines of some files, and how long each test takes."""

    def __init__(self, root: Path, modules: Iterable[str]) -> None:
        self._names = {str(root / module): module for module in modules}
        self._test = ""
        self.lines: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.took: dict[str, float] = {}

    def pytest_sessionstart(self) -> None:
        sys.settrace(self._enter)

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test, began = item.nodeid, time.monotonic()
        result = yield
        self.took[item.nodeid] = time.monotonic() - began
        self._test = ""
        return result

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._step if frame.f_code.co_filename in self._names else None

    def _step(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        self.lines[self._names[frame.f_code.co_filename], frame.f_lineno].add(self._test)
        return self._step

    def tests_of(self, module: str, first: int, last: int) -> set[str]:
        """The tests that run one of these lines; a line that no test runs has none. What runs when a file is imported
        counts for every test that uses the module, or one that imports it."""
        found = set().union(*(self.lines.get((module, line), set()) for line in range(first, last + 1)))
        if "" in found:
            found |= self._users(module)
        return found - {""}

    def _users(self, module: str) -> set[str]:
        """The tests that run any line of this module, or of one that imports it."""
        dotted = module.removesuffix(".py").replace("/", ".")
        room, _, stem = dotted.rpartition(".")
        imports = re.compile(rf"from {re.escape(dotted)} import|from {re.escape(room)} import .*\b{stem}\b")
        users = {name for path, name in self._names.items() if name == module or imports.search(Path(path).read_text())}
        return {test for (name, _), tests in self.lines.items() if name in users for test in tests}


class Selection:
    """A plugin of pytest: runs only the tests that are wanted."""

    def __init__(self, wanted: Callable[[pytest.Item], bool]) -> None:
        self._wanted = wanted

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self._wanted(item)]


def copy_of(root: Path, place: Path) -> Path:
    """A copy of the checkout, without what git and tools keep in it."""
    shutil.copytree(root, place, ignore=_LEFT_OUT)
    return place


def forked(copy: Path, work: Callable[[], int]) -> int:
    """Start this work in a process whose code is the copy's; returns its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = _BROKEN
    try:
        os.setsid()
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        os.environ |= {"PYTHONPATH": str(copy), "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / ".hypothesis")}
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        code = work()
    finally:
        os._exit(code)


def tested(copy: Path, files: Iterable[str], plugin: object) -> int:
    """Run these test files in this process."""
    return int(pytest.main([f"--rootdir={copy}", *_OPTIONS, *files], plugins=[plugin]))


class Slot:
    """A copy of the checkout in which one job runs at a time."""

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        self.job: Job | None = None
        self._original = b""
        self._pid = 0
        self._until = 0.0

    def start(self, job: Job) -> None:
        """Make the change and start the tests."""
        self.job, path = job, self.copy / job.edit.path
        self._original = path.read_bytes()
        path.write_bytes(job.edit.text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()  # its time stamp may be that of the changed file
        self._until = time.monotonic() + job.patience
        self._pid = forked(self.copy, lambda: self._work(job))

    def _work(self, job: Job) -> int:
        if not job.files:
            return int(pytest.ExitCode.NO_TESTS_COLLECTED)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        return tested(self.copy, job.files, Selection(job.wanted))

    def result(self) -> str | None:
        """None while it runs; then `killed`, `survived`, `timeout` or `no test`. The change is taken back."""
        assert self.job is not None
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        late = time.monotonic() > self._until
        if not pid and not late:
            return None
        if not pid:
            self.end()
        (self.copy / self.job.edit.path).write_bytes(self._original)
        self.job = None
        if not pid:
            return "timeout"
        code = os.waitstatus_to_exitcode(status)
        if code == _BROKEN:
            raise SystemExit("Error: the tests could not be started.")
        return {0: "survived", 5: "no test"}.get(code, "killed")

    def end(self) -> None:
        """End the tests, however far they are."""
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def run_all(jobs: Iterable[Job], copies: list[Path], report: Callable[[Job, str], None]) -> None:
    """Run the jobs, one in each copy at a time."""
    waiting, slots = iter(jobs), [Slot(copy) for copy in copies]
    try:
        for slot in slots:
            if job := next(waiting, None):
                slot.start(job)
        while any(slot.job for slot in slots):
            for slot in slots:
                job = slot.job
                if job is None or (result := slot.result()) is None:
                    continue
                report(job, result)
                if following := next(waiting, None):
                    slot.start(following)
            time.sleep(_POLL)
    finally:
        for slot in slots:
            if slot.job is not None:
                slot.end()
