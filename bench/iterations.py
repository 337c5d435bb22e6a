"""What a run adds to its calls of Claude: until the first is started, and for each further one, outside git and in a
repository, in which each iteration is measured."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

from project import NAME, Bench, Row, fake, spent

START, OUTSIDE, IN_GIT, SANDBOX = 300.0, 10.0, 25.0, 100.0


def measure(bench: Bench) -> list[Row]:
    many = 5 if bench.quick else 50
    rows = [
        Row("run until Claude is started", _start(bench), "ms", START),
        Row("each further iteration, CPU", _further(bench, many, in_git=False), "ms", OUTSIDE),
    ]
    if shutil.which("git"):
        rows.append(Row("each further iteration in git, CPU", _further(bench, many, in_git=True), "ms", IN_GIT))
    if shutil.which("git") and shutil.which("bwrap"):
        rows.append(Row("each further iteration in a sandbox, wall, more", _in_sandbox(bench, many), "ms", SANDBOX))
    return rows


def _start(bench: Bench) -> float:
    """Milliseconds from the start of the process until Claude is called."""
    mark = bench.folder / "called"
    program = bench.script("marking-fake", fake(begin=f"date +%s%N > {shlex.quote(str(mark))}"))
    took = []
    for _ in range(1 + bench.rounds(9)):
        project = bench.project([program])
        began = time.time_ns()
        project.run("--no-delay", "-m", "1")
        took.append((int(mark.read_text()) - began) / 1e6)
    return median(took[1:] or took)


def _further(bench: Bench, many: int, *, in_git: bool) -> float:
    """Milliseconds of CPU of each iteration after the first, without those of Claude. The least of some rounds: noise
    only adds."""
    program = bench.script("short-fake", fake())
    found = []
    for _ in range(bench.rounds(5)):
        one, all_of_them = (_run(bench, program, count, in_git) for count in (1, 1 + many))
        found.append((all_of_them - one) / many - _bare_call(bench, program, many))
    return min(found)


def _in_sandbox(bench: Bench, many: int) -> float:
    """Milliseconds that each iteration after the first takes longer in a sandbox, the calls of Claude included."""
    program = bench.script("short-fake", fake())
    further = {}
    for kind in ("none", "bwrap"):
        took = []
        for count in (1, 1 + many):
            project = bench.project([program])
            _make_repository(project.root)
            project.env |= {"CLAUDE_ITERATE_SANDBOX__KIND": kind, "CLAUDE_ITERATE_SANDBOX__MOUNTS": str(bench.folder)}
            words = ("run", NAME, "--no-delay", "-m", str(count), "-q")
            took.append(spent(project.start(*words).wait).wall)
        further[kind] = (took[1] - took[0]) / many
    return further["bwrap"] - further["none"]


def _run(bench: Bench, program: Path, iterations: int, in_git: bool) -> float:
    project = bench.project([program])
    if in_git:
        _make_repository(project.root)
    cpu = spent(lambda: project.start("run", NAME, "--no-delay", "-m", str(iterations), "-q").wait()).cpu
    made = len(list(project.workspace.glob("runs/*/raw/*.ndjson")))
    if made != iterations:
        raise RuntimeError(f"{made} iterations instead of {iterations}")
    return cpu


def _bare_call(bench: Bench, program: Path, many: int) -> float:
    """The CPU of one call of this Claude."""
    environ = {**os.environ, "CLAUDE_ITERATE_WORKSPACE": str(bench.folder)}

    def work() -> None:
        for _ in range(many):
            subprocess.run([program], env=environ, input=b"prompt", stdout=subprocess.DEVNULL, check=True)

    return spent(work).cpu / many


def _make_repository(root: Path) -> None:
    for number in range(20):
        (root / f"file-{number}").write_text(f"{number}\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "files"]):
        subprocess.run(["git", *who, *words], cwd=root, check=True)
