"""(c) Commands that users wait for, compared with the minimum for a click program."""

from __future__ import annotations

import json
import shutil
import subprocess
from statistics import median

import loop
from project import CLICK, COMMAND_LINE, NAME, Bench, ScriptedProject, Spent, Tool, call, spent
from table import Row

SIDES = {"help": ("--help",), "list": ("list",), "show": ("show", NAME)}


def measure(bench: Bench) -> list[Row]:
    many = 20 if bench.quick else 1000
    projects = [_crowded(bench, tool, many) for tool in bench.tools]
    times: dict[str, list[list[float]]] = {side: [[] for _ in projects] for side in SIDES}
    bare: list[float] = []
    for _ in range(1 + bench.rounds(15)):
        bare.append(_once(projects[0], CLICK).wall)
        for side, words in SIDES.items():
            for tool, project, taken in zip(bench.tools, projects, times[side], strict=True):
                taken.append(_once(project, (*tool.command, *words)).wall)
    least = median(bare[1:])  # the first round only fills caches
    found = {side: [median(each[1:]) / least for each in taken] for side, taken in times.items()}
    runs = 20 if bench.quick else 500
    return [
        Row("c.help", "--help against importing click", *found["help"], target=1.6),
        Row("c.list", f"list of {many} workspaces against it", *found["list"], target=6),
        Row("c.show", "show against it", *found["show"]),
        Row("c.runs", f"show of {runs} runs against 1 run, in CPU time", _growth(bench, runs), target=1.3),
        Row("c.click", "importing click", 1000 * least, unit="ms"),
    ]


def _once(project: ScriptedProject, command: tuple[str, ...]) -> Spent:
    devnull = subprocess.DEVNULL
    return spent(lambda: subprocess.run(command, cwd=project.root, env=project.env, stdout=devnull, check=True))


def _growth(bench: Bench, runs: int) -> float:
    """How much more CPU time `show` takes after many runs than after one."""
    projects = [_with_runs(bench, 1), _with_runs(bench, runs)]
    times: list[list[float]] = [[], []]
    for _ in range(bench.rounds(15)):
        for project, taken in zip(projects, times, strict=True):
            taken.append(_once(project, (*COMMAND_LINE, "show", NAME)).cpu)
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


def _crowded(bench: Bench, tool: Tool, many: int) -> ScriptedProject:
    """A project with many copies of a workspace that has run."""
    project = bench.project([bench.script("short-fake", loop.FAKE)], tool)
    call(project, "run", NAME, "--no-delay", "-m", "3", "-q", program=tool.command)
    first = project.workspace
    about = json.loads((first / ".metadata.json").read_text())
    for number in range(1, many):
        name = f"task-{number:04d}"
        copy = first.with_name(name)
        copy.mkdir()
        (copy / ".metadata.json").write_text(json.dumps(about | {"name": name}, indent=2))
        shutil.copy(first / "INSTRUCTIONS.md", copy)
    return project
