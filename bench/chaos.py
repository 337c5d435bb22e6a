"""Kills the runner with SIGKILL at random moments, runs it again, and checks that nothing is lost or counted twice.

Every round has its own project and depends only on the seed, as far as the machine allows. Exit code 1: a promise was
broken, and the folder of the round is kept.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import chaos_checks
import chaos_shapes
from chaos_shapes import Shape

from claude_iterate.selftest.harness.fault import FaultProject
from claude_iterate.selftest.harness.scripted_project import PATIENCE, TooSlow
from claude_iterate.workspace.run_folder import control

LATEST = 1.2
"""A run is killed after at most this many seconds."""
KILLS = (1, 1, 1, 2, 2, 3)
AT_WORK = 0.3
"""How often the moment counts from the start of the run instead of the start of the process."""
AIMED = 0.5
"""How often it counts from an event that the shape of the round names, so that every phase is covered."""
SHORTLY = 0.3
PAUSED = 2.0
"""How long an event is awaited that a paused run may never reach."""
TRIES = 20
BACKING_OFF = 120.0
"""How long the last run may take: after three crashes in a row it has waited 35 seconds."""


@dataclass
class Round:
    """What was done in one round, and what was wrong afterwards."""

    number: int
    shape: Shape
    iterations: int = 0
    kills: int = 0
    runs: int = 0
    died_last: bool = False
    moments: collections.Counter[str] = field(default_factory=collections.Counter)
    problems: list[str] = field(default_factory=list)


def run_round(number: int, seed: int, folder: Path) -> Round:
    """One round. It is repeated if its run ended before it could be killed."""
    for attempt in range(TRIES):
        this = _attempt(number, random.Random(f"{seed}-{number}-{attempt}"), folder)
        if this.kills or this.problems:
            return this
    this.problems.append(f"the run ended {TRIES} times before it could be killed")
    return this


def _attempt(number: int, chance: random.Random, folder: Path) -> Round:
    """Kills, then a run to the end, then the checks."""
    this = Round(number, chaos_shapes.by_chance(chance))
    settings = {"stop.failures": 0, "timeouts.result_grace": "3s", **this.shape.settings}
    project = FaultProject(folder, settings)
    project.make()
    project.script(*this.shape.calls)
    try:
        for _ in range(chance.choice(KILLS)):
            _kill(project, this, chance)
        _complete(project, this, chance)
        records = chaos_checks.Records(project, this.shape, this.kills, this.died_last)
        this.iterations = len(records.done)
        this.problems += chaos_checks.broken(records)
    except (TooSlow, ValueError, LookupError, OSError) as error:
        this.problems.append(repr(error))
    finally:
        project.close()
    if not this.problems:
        shutil.rmtree(folder, ignore_errors=True)
    return this


def _start(project: FaultProject, this: Round) -> subprocess.Popen[bytes]:
    this.runs += 1
    this.died_last = False
    return project.start_run(*this.shape.flags)


def _comes(
    project: FaultProject, process: subprocess.Popen[bytes], kind: str, before: int, patience: float = PATIENCE
) -> None:
    """Wait for one more event of this kind, or for the end of the run."""
    project.until(lambda: len(project.events(kind)) > before or process.poll() is not None, kind, patience)


def _kill(project: FaultProject, this: Round, chance: random.Random) -> None:
    """Start a run and kill it, unless the task or the run ends first."""
    if project.events("RunFinished"):
        return
    mark = chance.choice(this.shape.marks)
    begun, seen = len(project.events("RunStarted")), len(project.events(mark))
    process = _start(project, this)
    aim, latest = chance.random(), LATEST
    if aim < AT_WORK + AIMED:
        _comes(project, process, "RunStarted", begun)
    if chance.random() < 0.7:
        _request(project, this, process, chance)
    if aim < AIMED:
        with contextlib.suppress(TooSlow):
            _comes(project, process, mark, seen, PAUSED if this.shape.request == "pause" else PATIENCE)
        latest = LATEST if mark == "WaitStarted" else SHORTLY
    # This is not synchronisation: the random moment is the point.
    time.sleep(chance.uniform(0, latest))
    if process.poll() is None:
        process.kill()
        process.wait()
        this.died_last = True
        this.kills += 1
        this.moments[chaos_checks.last_event(project)] += 1
    if chance.random() < 0.5:
        project.gone()


def _request(project: FaultProject, this: Round, process: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Send the request of the shape at a random moment of a run that has begun."""
    runs = project.layout.run_ids()
    if not this.shape.request or not runs or process.poll() is not None:
        return
    if this.shape.request == "retry":
        _comes(project, process, "WaitStarted", len(project.events("WaitEnded")))
    else:
        time.sleep(chance.uniform(0, SHORTLY))
    if process.poll() is None:
        control.post(project.layout, runs[-1], this.shape.request)


def _complete(project: FaultProject, this: Round, chance: random.Random) -> None:
    """A last run that is not killed; it only gets a request and `resume`."""
    if project.events("RunFinished"):
        return
    begun, asked = len(project.events("RunStarted")), len(project.events("Requested"))
    process = _start(project, this)
    if this.shape.request:
        _comes(project, process, "RunStarted", begun)
        _request(project, this, process, chance)
    if this.shape.request == "pause":
        _comes(project, process, "Requested", asked)
        time.sleep(chance.uniform(0, SHORTLY))
        control.post(project.layout, project.layout.run_ids()[-1], "resume")
    project.until(lambda: process.poll() is not None, "the end of the last run", BACKING_OFF)
    done = project.finish(process)
    if done.code != 0:
        this.problems.append(f"the last run ended with {done.code}: {done.err[-300:]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/chaos", description=__doc__)
    parser.add_argument("--count", type=int, default=300, metavar="N", help="rounds (default: 300)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="decides the moments (default: random)")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 2, metavar="J", help="parallel rounds")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-chaos-"))
    began = time.monotonic()
    rounds: list[Round] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_round, number, seed, folder / str(number)) for number in range(1, options.count + 1)]
        for finished in as_completed(running):
            rounds.append(finished.result())
            if rounds[-1].problems:
                one = rounds[-1]
                print(f"round {one.number} (seed {seed}, {one.shape.name}): {'; '.join(one.problems)}")
    return _summary(rounds, seed, folder, time.monotonic() - began)


def _summary(rounds: list[Round], seed: int, folder: Path, seconds: float) -> int:
    broken = [one for one in rounds if one.problems]
    moments: collections.Counter[str] = sum((one.moments for one in rounds), collections.Counter())
    print(f"seed {seed}: {len(rounds)} rounds in {seconds:.0f} s, {sum(one.runs for one in rounds)} runs")
    print(
        f"killed with SIGKILL: {sum(one.kills for one in rounds)} runs in {sum(bool(o.kills) for o in rounds)} rounds"
    )
    shapes = collections.Counter(one.shape.name for one in rounds)
    print(f"kinds of rounds: {', '.join(f'{kind} {count}' for kind, count in shapes.most_common())}")
    print(f"last event before the kill: {', '.join(f'{kind} {count}' for kind, count in moments.most_common())}")
    if broken:
        print(f"{len(broken)} rounds broke a promise; see {folder}: {' '.join(str(one.number) for one in broken)}")
        return 1
    folder.rmdir()
    print(f"iterations finished: {sum(one.iterations for one in rounds)}, each once")
    print("journal lines lost or doubled 0, iterations counted twice 0, processes left 0, locks stuck 0")
    print("claims judged twice 0, calls before the end of a limit 0, iterations begun in a pause 0, cents lost 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
