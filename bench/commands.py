"""(c) Commands that users wait for, compared with the minimum for a click program."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from statistics import median

import loop
from project import COMMAND_LINE, NAME, Bench, ScriptedProject, call, timed
from table import Row


def measure(bench: Bench) -> list[Row]:
    many = 20 if bench.quick else 1000
    project = _crowded(bench, many)
    sides = {
        "bare": (sys.executable, "-c", "import click"),
        "help": (*COMMAND_LINE, "--help"),
        "list": (*COMMAND_LINE, "list"),
        "show": (*COMMAND_LINE, "show", NAME),
    }
    times: dict[str, list[float]] = {side: [] for side in sides}
    for command in sides.values():
        _once(project, command)
    for _ in range(bench.rounds(15)):
        for side, command in sides.items():
            times[side].append(_once(project, command))
    least = median(times["bare"])
    runs = 20 if bench.quick else 500
    return [
        Row("c.help", "--help against importing click", median(times["help"]) / least, target=1.6),
        Row("c.list", f"list of {many} workspaces against it", median(times["list"]) / least, target=6),
        Row("c.show", "show against it", median(times["show"]) / least),
        Row("c.runs", f"show of {runs} runs against 1 run, in CPU time", _growth(bench, runs), target=1.3),
        Row("c.click", "importing click", 1000 * least, "ms"),
    ]


def _once(project: ScriptedProject, command: tuple[str, ...]) -> float:
    devnull = subprocess.DEVNULL
    return timed(lambda: subprocess.run(command, cwd=project.root, env=project.env, stdout=devnull, check=True))


def _growth(bench: Bench, runs: int) -> float:
    """How much more CPU time `show` takes after many runs than after one."""
    projects = [_with_runs(bench, 1), _with_runs(bench, runs)]
    times: list[list[float]] = [[], []]
    for _ in range(bench.rounds(15)):
        for project, taken in zip(projects, times, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            _once(project, (*COMMAND_LINE, "show", NAME))
            taken.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return median(times[1]) / median(times[0])


def _with_runs(bench: Bench, runs: int) -> ScriptedProject:
    """A project whose workspace has one real run, and copies of it."""
    project = bench.project([bench.script("short-fake", loop.FAKE)])
    call(project, "run", NAME, "--no-delay", "-m", "3", "-q")
    (first,) = (path for path in (project.workspace / "runs").iterdir() if path.name[0] != ".")
    for number in range(2, runs + 1):
        shutil.copytree(first, first.with_name(f"{number:06d}{first.name[6:]}"))
        (project.workspace / f"iterate-20260101-{number:06d}.log").touch()
    return project


def _crowded(bench: Bench, many: int) -> ScriptedProject:
    """A project with many copies of a workspace that has run."""
    project = bench.project([bench.script("short-fake", loop.FAKE)])
    call(project, "run", NAME, "--no-delay", "-m", "3", "-q")
    first = project.workspace
    about = json.loads((first / ".metadata.json").read_text())
    for number in range(1, many):
        name = f"task-{number:04d}"
        copy = first.with_name(name)
        copy.mkdir()
        (copy / ".metadata.json").write_text(json.dumps(about | {"name": name}, indent=2))
        shutil.copy(first / "INSTRUCTIONS.md", copy)
    return project
