"""(g) Many runs at once, each with iterations that last: the CPU of a run beyond that of its Claude."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

import loop
from project import CLICK, NAME, Bench, ScriptedProject, spent
from table import Row


def measure(bench: Bench) -> list[Row]:
    runs, iterations, pause = (2, 2, 0.05) if bench.quick else (20, 10, 1)
    program = bench.script("slow-fake", loop.fake(f"sleep {pause}\n{loop.ANSWER}"))
    shell = str(loop.shell_loop(bench, program))
    some = bench.project([program])
    click = median(spent(lambda: subprocess.run(CLICK, env=some.env, check=True)).cpu for _ in range(bench.rounds(20)))
    bare = _at_once([some] * runs, (shell, str(iterations)))
    each: list[float] = []
    for tool in bench.tools:
        projects = [bench.project([program], tool) for _ in range(runs)]
        cpu = _at_once(projects, (*tool.command, "run", NAME, "--no-delay", "-m", str(iterations)))
        each.append((cpu - bare) / runs / click)
        if any(tool.iterations(project) != iterations for project in projects):
            raise RuntimeError(f"{tool.command[0]}: a run did not end well")
    what = f"{runs} runs at once, {iterations} iterations of {pause:g} s: CPU of each"
    return [
        *_from_one_command(bench, program, shell, runs, iterations),
        Row("g", f"{what}, in imports of click", *each, target=6),
        Row("g.click", "importing click, CPU", 1000 * click, unit="ms"),
    ]


def _from_one_command(bench: Bench, program: Path, shell: str, runs: int, iterations: int) -> list[Row]:
    """As many workspaces from one command, against as many shell loops: wall time."""
    tool = bench.tools[0]
    project = bench.project([program], tool)
    own = project.workspace
    for number in range(2, runs + 1):
        shutil.copytree(own, own.with_name(f"{own.name}-{number}"))
        about = own.with_name(f"{own.name}-{number}") / ".metadata.json"
        about.write_text(about.read_text().replace(f'"{own.name}"', f'"{own.name}-{number}"'))
    command = (*tool.command, "run", "--all", "--again", "--no-delay", "-m", str(iterations))
    loops: list[tuple[str, ...]] = [(shell, str(iterations))] * runs
    ratios = [_wall([command], project) / _wall(loops, project) for _ in range(bench.rounds(3))]
    what = f"{runs} workspaces from one command, against {runs} shell loops: wall"
    return [Row("g.many", what, median(ratios), target=1.15)]


def _wall(commands: list[tuple[str, ...]], project: ScriptedProject) -> float:
    devnull = subprocess.DEVNULL
    began = time.monotonic()
    started = [
        subprocess.Popen(command, cwd=project.root, env=project.env, stdin=devnull, stdout=devnull, stderr=devnull)
        for command in commands
    ]
    for process in started:
        process.wait()
    return time.monotonic() - began


def _at_once(projects: list[ScriptedProject], command: tuple[str, ...]) -> float:
    """The CPU seconds of a command that runs in all projects at the same time."""
    devnull = subprocess.DEVNULL

    def work() -> None:
        started = [
            subprocess.Popen(command, cwd=each.root, env=each.env, stdin=devnull, stdout=devnull, stderr=devnull)
            for each in projects
        ]
        for process in started:
            process.wait()

    return spent(work).cpu
