"""Whatever an agent puts in the place of a file or folder that we touch: nothing outside of the project changes, no
command waits for it, and none fails with a traceback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from claude_iterate.cli.boundary import BUG
from claude_iterate.selftest.harness.scripted_project import NAME, ScriptedProject
from claude_iterate.workspace.layout import Layout
from tests.cli.conftest import Type

W = f"claude-iterate/workspaces/{NAME}"
RUN = f"{W}/runs/RUN"
PATHS = (
    ".claude-iterate.toml",
    ".claude",
    ".claude/settings.json",
    ".gitignore",
    "CLAUDE.md",
    "Makefile",
    "junit.xml",
    "test_it.py",
    "claude-iterate",
    "claude-iterate/archive",
    "claude-iterate/archive/x.tar.gz",
    "claude-iterate/hooks",
    "claude-iterate/hooks/finished",
    "claude-iterate/prompts",
    "claude-iterate/prompts/iteration.md",
    "claude-iterate/snapshots.git",
    "claude-iterate/templates",
    "claude-iterate/templates/t",
    "claude-iterate/templates/t/.template.json",
    "claude-iterate/templates/t/INSTRUCTIONS.md",
    "claude-iterate/workspaces",
    W,
    f"{W}/.gitignore",
    f"{W}/.lock",
    f"{W}/.metadata.json",
    f"{W}/.metadata.json.bak",
    f"{W}/.status-instructions.md",
    f"{W}/.status.json",
    f"{W}/.status.json.bak",
    f"{W}/IMPLEMENTATION_PLAN.md",
    f"{W}/INSTRUCTIONS.md",
    f"{W}/INSTRUCTIONS.md.bak",
    f"{W}/TODO.md",
    f"{W}/control",
    f"{W}/impl",
    f"{W}/impl/README.md",
    f"{W}/notes",
    f"{W}/notes/1.md",
    f"{W}/notes/delivered",
    f"{W}/prompts",
    f"{W}/report-RUN.html",
    f"{W}/runs",
    RUN,
    f"{RUN}/events.ndjson",
    f"{RUN}/raw",
    f"{RUN}/raw/0001.ndjson",
    f"{W}/verification-report.md",
    f"{W}/working",
    f"{W}/LOG",
)
"""What the runner touches; RUN stands for the id of the run that was, LOG for its log."""


def bind_socket(path: Path, _outside: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def huge(path: Path, _outside: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 20)


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "link to a file": lambda path, outside: path.symlink_to(outside / "file"),
    "link to a folder": lambda path, outside: path.symlink_to(outside / "folder"),
    "link to nothing": lambda path, outside: path.symlink_to(outside / "made"),
    "link to itself": lambda path, _outside: path.symlink_to(path),
    "pipe": lambda path, _outside: os.mkfifo(path),
    "socket": bind_socket,
    "device": lambda path, _outside: os.mknod(path, 0o20666, os.makedev(1, 5)),  # endless
    "folder": lambda path, _outside: path.mkdir(),
    "huge": huge,
    "odd bytes": lambda path, _outside: path.write_bytes(b"\xff\0{[\x1b]0;\n" * 50),
}
LOOK: list[tuple[str, ...]] = [
    ("list",),
    ("show", NAME),
    ("history", NAME),
    ("logs", NAME, "-n", "3"),
    ("config", "-w", NAME),
    ("archive", "list"),
    ("template", "list"),
    ("replay", NAME, "--iteration", "1", "--speed", "0"),
    ("hook", "list", NAME),
]
ACT: list[tuple[str, ...]] = [
    ("report", NAME),
    ("note", NAME, "Use tabs."),
    ("config", "-w", NAME, "delay", "1"),
    ("config", "delay", "2"),
    ("setup", NAME, "--from", "../task.md", "--force"),
    ("template", "save", NAME, "t", "--force"),
    ("template", "use", "t", "from-template"),
    ("reset", NAME),
    ("init", NAME, "--force"),
    ("archive", "save", NAME, "--keep"),
    ("archive", "restore", NAME, "restored"),
    ("clean", NAME, "--force"),
]


class Hung(BaseException):
    """A command waited; no `except Exception` stops it."""


@contextmanager
def at_once() -> Iterator[None]:
    """What takes longer than half a minute waits for something that never comes."""

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def seen(folder: Path) -> dict[str, object]:
    """All that is there, with contents and times."""
    paths = [folder, *folder.rglob("*")]
    return {str(path): (path.lstat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in paths}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which a run is over, with something in every place."""
    made = ScriptedProject(tmp_path_factory.mktemp("finished"), {"keep_awake": False})
    made.make()
    made.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    assert made.run("--no-delay").code == 0
    layout = made.layout
    for path in PATHS:
        there = place(made.root, layout, path)
        there.parent.mkdir(parents=True, exist_ok=True)
    (made.root / "claude-iterate" / "templates" / "t" / "INSTRUCTIONS.md").write_text("Do it.")
    (made.folder / "task.md").write_text("Another task.")
    made.close()
    return made.root


def place(root: Path, layout: Layout, path: str) -> Path:
    """Where this path is in the project."""
    run = layout.run_ids()[-1]
    log = layout.logs()[-1].name
    return root / path.replace("RUN", run).replace("LOG", log)


class Planted:
    """A copy of the project with something else in one place, and a folder outside that is watched."""

    def __init__(self, finished: Path, folder: Path, path: str, kind: str) -> None:
        self.outside = folder.parent / "outside"
        for old in (folder, self.outside):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(finished, folder, symlinks=True)
        shutil.copy(finished.parent / "task.md", folder.parent / "task.md")
        (self.outside / "folder").mkdir(parents=True)
        (self.outside / "file").write_text("plover")
        (self.outside / "folder" / "inside").write_text("plover")
        where = place(folder, Layout(folder, folder / W), path)
        if where.is_dir():
            shutil.rmtree(where)
        where.unlink(missing_ok=True)
        KINDS[kind](where, self.outside)
        self.before = seen(self.outside)

    def check(self, words: tuple[str, ...], code: int, said: str) -> None:
        assert code != BUG, (words, said)
        assert "Traceback" not in said, words
        assert "plover" not in said, words
        assert seen(self.outside) == self.before, words


def kinds() -> list[str]:
    """The device only where it can be made."""
    return [kind for kind in KINDS if kind != "device" or os.geteuid() == 0]


@pytest.mark.parametrize("path", PATHS)
def test_no_run_touches_what_lies_outside_or_waits(finished: Path, tmp_path: Path, path: str) -> None:
    """What starts programs, with a link and with a pipe in the place: a run with a proof, and `doctor`."""
    loop = ScriptedProject(tmp_path, {"keep_awake": False, "verification.checks": ["true"]})
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    link = "link to a folder" if "." not in path.rpartition("/")[2] else "link to a file"
    for kind in (link, "pipe"):
        planted = Planted(finished, loop.root, path, kind)
        for words in (("run", NAME, "--no-delay", "-m", "1"), *[("doctor", "--fix")] * (kind != "pipe")):
            done = loop.call(*words)
            planted.check(words, done.code, done.out + done.err)
    loop.close()


@pytest.mark.parametrize("path", PATHS)
def test_no_command_touches_what_lies_outside_or_waits(typed: Type, finished: Path, folder: Path, path: str) -> None:
    """Each kind of thing in the place, before each command that looks, and then while those that write work on."""
    for kind in kinds():
        planted = Planted(finished, folder, path, kind)
        os.chdir(folder)
        for words in (*LOOK, *ACT):
            try:
                with at_once():
                    answer = typed(*words)
            except Hung:
                pytest.fail(f"{' '.join(words)} waits for a {kind} in the place of {path}")
            planted.check(words, answer.code, answer.out + answer.err)
