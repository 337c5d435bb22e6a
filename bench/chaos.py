"""Kills the runner with SIGKILL at random instants, resumes it, and looks whether anything was lost or counted twice.

Every round is a project of its own, decided by the seed alone as far as the machine allows. Exit code 1: a promise was
broken; the round's folder is kept.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import chaos_checks

from claude_iterate.selftest.scene import Scene, TooSlow

LATEST = 1.2
"""Seconds after which a run is killed at the latest."""
KILLS = (1, 1, 1, 2, 2, 3)
AT_WORK = 0.6
"""How often the instant counts from the run's first word instead of from the start of the process."""


@dataclass
class Round:
    """What was done in one round, and what was wrong afterwards."""

    number: int
    iterations: int
    costs: list[float]
    kills: int = 0
    runs: int = 0
    moments: collections.Counter[str] = field(default_factory=collections.Counter)
    problems: list[str] = field(default_factory=list)


def play(number: int, seed: int, folder: Path) -> Round:
    """One round: kills, then a run to the end, then the checks."""
    chance = random.Random(f"{seed}-{number}")
    costs = [round(chance.uniform(0.001, 0.05), 6) for _ in range(40)]
    this = Round(number, chance.randint(5, 8), costs)
    scene = Scene(folder, {"stop.failures": 0, "timeouts.result_grace": "3s"}, "- work\n", "loop")
    scene.script([_call(chance, index, cost) for index, cost in enumerate(costs, 1)])
    try:
        for _ in range(chance.choice(KILLS)):
            _kill(scene, this, chance)
        _complete(scene, this)
        this.problems += chaos_checks.broken(scene, this.iterations, this.costs, this.kills)
    except (TooSlow, ValueError, LookupError, OSError) as error:
        this.problems.append(repr(error))
    finally:
        scene.close()
    if not this.problems:
        shutil.rmtree(folder, ignore_errors=True)
    return this


def _call(chance: random.Random, number: int, cost: float) -> list[dict[str, Any]]:
    """A short call; some crash, some leave a process behind, some linger after the result."""
    steps: list[dict[str, Any]] = [{"init": {}}, {"say": f"call {number}"}, {"sleep": chance.uniform(0.05, 0.2)}]
    if chance.random() < 0.15:
        steps.append({"grandchild": {"seconds": 120, "own_session": chance.random() < 0.5}})
    if chance.random() < 0.1:
        return [*steps, {"exit": 3}]
    steps += [{"status": {"complete": False, "summary": f"call {number}"}}, {"sleep": chance.uniform(0, 0.04)}]
    return [
        *steps,
        {"result": {"result": f"call {number}", "total_cost_usd": cost}},
        {"sleep": chance.uniform(0, 0.04)},
    ]


def _start(scene: Scene, this: Round) -> Any:
    this.runs += 1
    return scene.start("-m", str(this.iterations))


def _kill(scene: Scene, this: Round, chance: random.Random) -> None:
    """Start and kill; nothing more if it ended before, or had come to its end."""
    if scene.events("RunFinished"):
        return
    before = len(scene.events("RunStarted"))
    process = _start(scene, this)
    if chance.random() < AT_WORK:
        scene.until(
            lambda: len(scene.events("RunStarted")) > before or process.poll() is not None, "the run's first word"
        )
    # The random instant is the point: this is no synchronisation.
    time.sleep(chance.uniform(0, LATEST))
    if process.poll() is None:
        process.kill()
        this.kills += 1
        process.wait()
        this.moments[chaos_checks.last_event(scene)] += 1
    if chance.random() < 0.5:
        scene.until(lambda: not scene.processes(), "the end of all processes after kill -9", 10.0)


def _complete(scene: Scene, this: Round) -> None:
    if not scene.events("RunFinished"):
        done = scene.finish(_start(scene, this))
        if done.code != 0:
            this.problems.append(f"the last run ended with {done.code}: {done.err[-300:]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/chaos", description=__doc__)
    parser.add_argument("--count", type=int, default=300, metavar="N", help="rounds (default: 300)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="decides the instants (default: by chance)")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, metavar="J", help="rounds at a time")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-chaos-"))
    began = time.monotonic()
    rounds: list[Round] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        plays = [pool.submit(play, number, seed, folder / str(number)) for number in range(1, options.count + 1)]
        for finished in as_completed(plays):
            rounds.append(finished.result())
            if rounds[-1].problems:
                print(f"round {rounds[-1].number} (seed {seed}): {'; '.join(rounds[-1].problems)}")
    return _summary(rounds, seed, folder, time.monotonic() - began)


def _summary(rounds: list[Round], seed: int, folder: Path, seconds: float) -> int:
    broken = [one for one in rounds if one.problems]
    moments: collections.Counter[str] = sum((one.moments for one in rounds), collections.Counter())
    print(f"seed {seed}: {len(rounds)} rounds in {seconds:.0f} s, {sum(one.runs for one in rounds)} runs")
    print(
        f"killed with SIGKILL: {sum(one.kills for one in rounds)} runs in {sum(bool(o.kills) for o in rounds)} rounds"
    )
    print(f"the last word before death: {', '.join(f'{kind} {count}' for kind, count in moments.most_common())}")
    if broken:
        print(f"{len(broken)} rounds broke a promise; see {folder}: {' '.join(str(one.number) for one in broken)}")
        return 1
    folder.rmdir()
    print(f"iterations finished: {sum(one.iterations for one in rounds)}, each once")
    print("journal lines lost or doubled 0, iterations counted twice 0, processes left 0, locks stuck 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
