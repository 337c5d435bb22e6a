"""Runs faults and judges them: one in a folder of its own, or many at the same time."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.selftest.harness.expectations import find_problems
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.scripted_project import Done, TooSlow


class FaultResult(msgspec.Struct, frozen=True):
    """How a fault ended. `state` is survived, failed or skipped; `problems` say why it failed or was skipped."""

    name: str
    fault: Fault
    state: str
    got: str = ""
    seconds: float = 0.0
    problems: tuple[str, ...] = ()
    folder: Path | None = None

    def document(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "fault": self.fault.what,
            "state": self.state,
            "expected": str(self.fault.expected),
            "got": self.got,
            "seconds": round(self.seconds, 2),
            "problems": list(self.problems),
            "danger": self.fault.danger,
            "folder": str(self.folder) if self.folder else None,
        }


def usual_jobs() -> int:
    """Faults mostly wait, so a few more than there are processors."""
    return (os.cpu_count() or 1) + 2


def run_faults(faults: Mapping[str, Fault], folder: Path, jobs: int) -> Generator[FaultResult]:
    """Each result as soon as it is known. Only the folder of a failed fault is kept. Closing the generator early ends
    every run that is still going on."""
    pool = ThreadPoolExecutor(jobs, "fault")
    projects = {name: FaultProject(folder / name, fault.settings) for name, fault in faults.items()}
    try:
        running = [pool.submit(run_fault, name, fault, projects[name]) for name, fault in faults.items()]
        for finished in as_completed(running):
            result = finished.result()
            if result.state != "failed":
                shutil.rmtree(folder / result.name, ignore_errors=True)
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for project in projects.values():
            project.abandon()
        pool.shutdown()


def run_fault(name: str, fault: Fault, project: FaultProject) -> FaultResult:
    """Run one fault from start to end."""
    obstacle = fault.impossible()
    if obstacle:
        return FaultResult(name, fault, "skipped", problems=(obstacle,))
    began = time.monotonic()
    try:
        project.make(fault.instructions)
        project.script(*fault.calls)
        fault.prepare(project)
        done = fault.intervention(project, fault.flags)
        found = _describe_end(project, done)
        problems = [] if found == fault.expected else [f"expected {fault.expected}, got {found}"]
        problems += find_problems(fault, project, done)
    except TooSlow as problem:
        found, problems = None, [str(problem)]
    except (OSError, ValueError, LookupError) as missing:  # what a fault left is not what it expects
        found, problems = None, [f"the fault came to no end: {missing!r}"]
    finally:
        took = time.monotonic() - began
        project.close()
    state, kept = ("failed", project.folder) if problems else ("survived", None)
    return FaultResult(name, fault, state, str(found or "no end"), took, tuple(problems), kept)


def _describe_end(project: FaultProject, done: Done) -> Expected:
    """How it ended according to the journal, or to the JSON output where the journal could not be written."""
    try:
        finished = project.events("RunFinished")
        kinds = tuple(event["outcome"]["kind"] for event in project.events("IterationFinished"))
    except ValueError:
        return Expected("a broken journal", done.code, ())
    reason = finished[-1]["reason"] if finished else ""
    if not reason and done.out.startswith("{"):
        reason = json.loads(done.out)["reason"]
    return Expected(reason, done.code, kinds)
