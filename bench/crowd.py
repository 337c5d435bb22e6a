"""(g) Many runs at once, each with iterations that last: the CPU of a run beyond that of its Claude."""

from __future__ import annotations

import subprocess
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
        Row("g", f"{what}, in imports of click", *each, target=6),
        Row("g.click", "importing click, CPU", 1000 * click, unit="ms"),
    ]


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
