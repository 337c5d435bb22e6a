"""Plays scenarios and judges them: one in a folder of its own, or many side by side."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from claude_iterate.selftest.harness.expectations import ALWAYS
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Done, Scene, TooSlow


class Verdict(NamedTuple):
    """What came of a scenario. `state` is survived, failed or skipped; `problems` say why it failed or was skipped."""

    scenario: Scenario
    state: str
    got: str = ""
    seconds: float = 0.0
    problems: tuple[str, ...] = ()
    folder: Path | None = None

    def document(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.scenario.name,
            "fault": self.scenario.fault,
            "state": self.state,
            "expected": str(self.scenario.expected),
            "got": self.got,
            "seconds": round(self.seconds, 2),
            "problems": list(self.problems),
            "danger": self.scenario.danger,
            "folder": str(self.folder) if self.folder else None,
        }


def usual_jobs() -> int:
    """Scenarios mostly wait, so a few more than there are processors."""
    return (os.cpu_count() or 1) + 2


def play_all(scenarios: Sequence[Scenario], folder: Path, jobs: int) -> Generator[Verdict]:
    """Each verdict as it comes. Folders of faults that were survived are removed. Whoever stops in the middle leaves
    no run behind."""
    pool = ThreadPoolExecutor(jobs, "fault")
    scenes: list[Scene] = []
    over = threading.Event()

    def opened(scene: Scene) -> None:
        scenes.append(scene)
        if over.is_set():
            scene.abandon()

    try:
        plays = [pool.submit(play, scenario, folder / scenario.name, opened) for scenario in scenarios]
        for finished in as_completed(plays):
            verdict = finished.result()
            if verdict.state == "survived":
                shutil.rmtree(folder / verdict.scenario.name, ignore_errors=True)
            yield verdict
    finally:
        over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for scene in scenes:
            scene.abandon()
        pool.shutdown()


def play(scenario: Scenario, folder: Path, opened: Callable[[Scene], None] = lambda _scene: None) -> Verdict:
    """Play one scenario from start to end. `opened` is told of its scene."""
    obstacle = scenario.impossible()
    if obstacle:
        return Verdict(scenario, "skipped", problems=(obstacle,))
    scene = Scene(folder, scenario.settings, scenario.instructions, scenario.mode)
    opened(scene)
    began = time.monotonic()
    try:
        scene.script(scenario.calls)
        scenario.prepare(scene)
        done = scenario.act(scene, scenario.flags)
        found = _found(scene, done)
        problems = _problems(scenario, found, scene, done)
    except TooSlow as late:
        found, problems = None, [str(late)]
    finally:
        took = time.monotonic() - began
        scene.close()
    state = "failed" if problems else "survived"
    return Verdict(scenario, state, str(found or "no end"), took, tuple(problems), folder if problems else None)


def _problems(scenario: Scenario, found: Expected, scene: Scene, done: Done) -> list[str]:
    problems = [] if found == scenario.expected else [f"expected {scenario.expected}, got {found}"]
    for check in (*ALWAYS, *scenario.checks):
        try:
            problem = check(scene, done)
        except (OSError, ValueError, LookupError, TypeError) as missing:
            problem = f"{getattr(check, '__name__', 'a check')} found nothing to look at: {missing!r}"
        if problem:
            problems.append(problem)
    return problems


def _found(scene: Scene, done: Done) -> Expected:
    """How it ended, by the journal; by the document on standard output where the journal could not be written."""
    try:
        finished = scene.events("RunFinished")
        kinds = tuple(event["outcome"]["kind"] for event in scene.events("IterationFinished"))
    except ValueError:
        return Expected("a broken journal", done.code, ())
    reason = finished[-1]["reason"] if finished else ""
    if not reason and done.out.startswith("{"):
        reason = json.loads(done.out)["reason"]
    return Expected(reason, done.code, kinds)
