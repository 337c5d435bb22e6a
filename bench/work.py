"""(h) What measuring the work costs: an iteration with it against one without, a snapshot against `git status`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import loop
from project import NAME, Bench, timed
from table import Row

from claude_iterate.project.project_work import Work
from claude_iterate.project.snapshots import Place

SLOW = loop.fake("sleep 1; date +%N > folder-0/file-0\n" + loop.ANSWER)
"""An iteration of one second that changes a file."""
CHANGED = 200


def measure(bench: Bench) -> list[Row]:
    if shutil.which("git") is None:
        return []
    rows: list[Row] = []
    for size, count in (("small", 500), ("large", 2_000 if bench.quick else 50_000)):
        root = bench.folder / f"repository-{count}"
        _make(root, count)
        rows += [*_iterations(bench, root, size, count), *_looks(bench, root, size, count)]
        shutil.rmtree(root)
    return rows


def _make(root: Path, count: int) -> None:
    for folder in range(0, count, 100):
        place = root / f"folder-{folder // 100}"
        place.mkdir(parents=True)
        for number in range(100):
            (place / f"file-{number}").write_text(f"{folder} {number}\n")
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "files"]):
        who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        subprocess.run(["git", *who, *words], cwd=root, check=True)
    time.sleep(1.1)  # a file as old as the index is read again at each look


def _iterations(bench: Bench, root: Path, size: str, count: int) -> list[Row]:
    """What an iteration after the first takes, with measuring and without."""
    program = bench.script("slow-fake", SLOW)
    taken: dict[str, list[float]] = {"auto": [], "off": []}
    for _ in range(bench.rounds(5)):
        for how, times in taken.items():
            times.append(_further(bench, root, program, how))
    ratio = min(taken["auto"]) / min(taken["off"])
    return [Row(f"h.{size}", f"an iteration of a second, {count:,} files, measured or not", ratio, target=1.1)]


def _further(bench: Bench, root: Path, program: Path, how: str) -> float:
    one, three = (_run(bench, root, program, how, number) for number in (1, 3))
    return (three - one) / 2


def _run(bench: Bench, root: Path, program: Path, how: str, iterations: int) -> float:
    project = bench.project([program])
    shutil.copytree(project.root / "claude-iterate", root / "claude-iterate")
    env = project.env | {"CLAUDE_ITERATE_PROGRESS__MEASURE": how}
    words = (*bench.tools[0].command, "run", NAME, "--no-delay", "-m", str(iterations), "-q")
    try:
        return timed(lambda: subprocess.run(words, cwd=root, env=env, check=False, capture_output=True))
    finally:
        shutil.rmtree(root / "claude-iterate")
        shutil.rmtree(project.folder)


def _looks(bench: Bench, root: Path, size: str, count: int) -> list[Row]:
    """A look of ours against git's own, with nothing changed and with files changed."""
    work = Work(Place(root, NAME, "000001-bench"), dict(os.environ), "git", bench.folder / "store")
    work.look(0)
    still, status = _rounds(bench, lambda: None, root, work)
    texts = iter(range(10_000))

    def change() -> None:
        text = f"{next(texts)}\n"
        for number in range(CHANGED):
            (root / f"folder-{number % 5}" / f"file-{number // 5}").write_text(text)

    busy, busy_status = _rounds(bench, change, root, work)
    return [
        Row(f"h.{size}.still", f"a look, {count:,} files, nothing changed, against `git status`", still / status),
        Row(f"h.{size}.changed", f"the same with {CHANGED} changed files", busy / busy_status),
        Row(f"h.{size}.look", "a look with nothing changed", 1000 * still, unit="ms", target=600),
        Row(f"h.{size}.ms", f"a look with {CHANGED} changed files", 1000 * busy, unit="ms", target=1200),
    ]


def _rounds(bench: Bench, change: Callable[[], None], root: Path, work: Work) -> tuple[float, float]:
    ours, gits = [], []
    status = ["git", "--no-optional-locks", "status", "--porcelain"]
    for number in range(1, 1 + bench.rounds(7)):
        change()
        gits.append(timed(lambda: subprocess.run(status, cwd=root, check=True, capture_output=True)))
        ours.append(timed(lambda number=number: work.look(number)))  # type: ignore[misc]
    return median(ours), median(gits)
