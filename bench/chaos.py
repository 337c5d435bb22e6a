"""Kills the runner with SIGKILL at random instants, resumes it, and looks whether anything was lost or counted twice.

Every round is a project of its own, decided by the seed alone as far as the machine allows. Exit code 1: a promise was
broken; the round's folder is kept.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import chaos_checks
import chaos_shapes
from chaos_shapes import Shape

from claude_iterate.selftest.harness.fault import FaultProject
from claude_iterate.selftest.harness.scripted_project import TooSlow
from claude_iterate.workspace.running import control

LATEST = 1.2
"""Seconds after which a run is killed at the latest."""
KILLS = (1, 1, 1, 2, 2, 3)
AT_WORK = 0.3
"""How often the instant counts from the run's first word instead of from the start of the process."""
AIMED = 0.5
"""How often it counts from an event of the round's shape, so that no phase is left out."""
SHORTLY = 0.3
PATIENCE = 2.0
TRIES = 20


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


def play(number: int, seed: int, folder: Path) -> Round:
    """One round. It is played again if its run came to the end before it could be killed."""
    for attempt in range(TRIES):
        this = _attempt(number, random.Random(f"{seed}-{number}-{attempt}"), folder)
        if this.kills or this.problems:
            return this
    this.problems.append(f"it was {TRIES} times faster than the kill")
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
        story = chaos_checks.Story(project, this.shape, this.kills, this.died_last)
        this.iterations = len(story.done)
        this.problems += chaos_checks.broken(story)
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


def _comes(project: FaultProject, process: subprocess.Popen[bytes], kind: str, before: int) -> None:
    """Wait for one more event of this kind, or for the end of the run. A paused run may never come to either."""
    with contextlib.suppress(TooSlow):
        project.until(lambda: len(project.events(kind)) > before or process.poll() is not None, kind, PATIENCE)


def _kill(project: FaultProject, this: Round, chance: random.Random) -> None:
    """Start and kill; nothing more if it ended before, or had come to its end."""
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
        _comes(project, process, mark, seen)
        latest = LATEST if mark == "WaitStarted" else SHORTLY
    # The random instant is the point: this is no synchronisation.
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
    """Ask for what the shape wants, at some instant of a run that has begun."""
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
    """A last run that is left alone, but for a request and for `resume`."""
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
    done = project.finish(process)
    if done.code != 0:
        this.problems.append(f"the last run ended with {done.code}: {done.err[-300:]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/chaos", description=__doc__)
    parser.add_argument("--count", type=int, default=300, metavar="N", help="rounds (default: 300)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="decides the instants (default: by chance)")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 2, metavar="J", help="rounds at a time")
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
    print(f"the last word before death: {', '.join(f'{kind} {count}' for kind, count in moments.most_common())}")
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
