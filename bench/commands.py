"""Commands that users wait for: wall time, and CPU against the least that a program on click can do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from statistics import median

from project import COMMAND_LINE, NAME, Bench, Row, ScriptedProject, Spent, fake, spent

CLICK = (sys.executable, "-c", "import click")
WALL, TIMES = 150.0, 3.0


def measure(bench: Bench) -> list[Row]:
    many = 20 if bench.quick else 100
    project = _crowded(bench, many)
    completion = project.env | {
        "_CLAUDE_ITERATE_COMPLETE": "bash_complete",
        "COMP_WORDS": "claude-iterate sh",
        "COMP_CWORD": "1",
    }
    sides = {
        "--help": (("--help",), project.env),
        "completion": ((), completion),
        f"list of {many}": (("list",), project.env),
        "show": (("show", NAME), project.env),
    }
    bare: list[Spent] = []
    taken: dict[str, list[Spent]] = {side: [] for side in sides}
    for _ in range(1 + bench.rounds(15)):
        bare.append(_once(project, CLICK, project.env))
        for side, (words, env) in sides.items():
            taken[side].append(_once(project, (*COMMAND_LINE, *words), env))
    least = median(each.cpu for each in bare[1:])  # the first round only fills caches
    rows = []
    for side, times in taken.items():
        rows.append(Row(side, median(each.wall for each in times[1:]), "ms", WALL))
        rows.append(
            Row(f"{side}, CPU against import click", median(each.cpu for each in times[1:]) / least, "x", TIMES)
        )
    return [*rows, Row("import click, CPU", least, "ms")]


def _once(project: ScriptedProject, command: tuple[str, ...], env: dict[str, str]) -> Spent:
    devnull = subprocess.DEVNULL
    return spent(lambda: subprocess.run(command, cwd=project.root, env=env, stdout=devnull, check=True))


def _crowded(bench: Bench, many: int) -> ScriptedProject:
    """A project with many copies of a workspace that has run."""
    project = bench.project([bench.script("short-fake", fake())])
    if (code := project.run("--no-delay", "-m", "3", "-q").code) != 0:
        raise RuntimeError(f"the run ended with {code}")
    about = json.loads(project.layout.metadata.read_text())
    for number in range(1, many):
        name = f"task-{number:04d}"
        copy = project.workspace.with_name(name)
        copy.mkdir()
        (copy / ".metadata.json").write_text(json.dumps(about | {"name": name}, indent=2))
        shutil.copy(project.layout.instructions, copy)
    return project
