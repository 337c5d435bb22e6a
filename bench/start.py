"""(e) A whole run of one short iteration, compared with the minimum for a click program."""

from __future__ import annotations

import subprocess

import loop
from project import CLICK, Bench, Spent, spent
from table import Row


def measure(bench: Bench) -> list[Row]:
    program = bench.script("short-fake", loop.FAKE)
    env = bench.project([program]).env
    runs: list[list[Spent]] = [[] for _ in bench.tools]
    bare: list[Spent] = []
    for _ in range(1 + bench.rounds(30)):
        for tool, taken in zip(bench.tools, runs, strict=True):
            taken.append(loop.run(bench, tool, program, 1, "--output", "progress"))
        bare.append(spent(lambda: subprocess.run(CLICK, env=env, check=True)))
    # The first round only fills caches. The quickest of the others counts: noise only adds.
    least = Spent(*map(min, zip(*bare[1:], strict=True)))
    best = [Spent(*map(min, zip(*taken[1:], strict=True))) for taken in runs]
    return [
        Row(
            "e",
            "a run of one iteration, wall, against importing click",
            *(each.wall / least.wall for each in best),
            target=2.5,
        ),
        Row("e.cpu", "the same in CPU of all processes", *(each.cpu / least.cpu for each in best), target=2.5),
    ]
