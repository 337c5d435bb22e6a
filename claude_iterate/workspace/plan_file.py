"""The plan of a workspace: IMPLEMENTATION_PLAN.md, and the files of `impl/` when `impl/README.md` is there.

Agents and people write it, so it is read like any foreign file: bounded, and with problems in words.
"""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path

import msgspec

from claude_iterate.core.events import PlanRead
from claude_iterate.core.reports.plan_tasks import DOING, DONE, OPEN, Task, fingerprint, tasks_in
from claude_iterate.core.rules.plan import FILE
from claude_iterate.core.settings.modes import Mode
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.workspace.layout import Layout

MOST_BYTES = 1 << 20


class PlanText(msgspec.Struct, frozen=True):
    """The files of the plan with their texts; `problem` says why they cannot be used."""

    files: tuple[tuple[Path, str], ...] = ()
    problem: str = ""


class PlacedTask(msgspec.Struct, frozen=True):
    """A task and its file."""

    file: Path
    task: Task


def read_plan(layout: Layout) -> PlanRead:
    """The present counts of the plan."""
    return summarize(read_texts(layout))


def summarize(found: PlanText) -> PlanRead:
    """The counts of a plan."""
    known = fingerprint([words for _file, words in found.files]) if found.files else ""
    if found.problem:
        return PlanRead(fingerprint=known, problem=found.problem)
    there = [placed.task for placed in tasks(found)]
    states = Counter(task.state for task in there)
    return PlanRead(states[OPEN], states[DOING], states[DONE], sum(not task.refs for task in there), known)


def tasks(found: PlanText) -> list[PlacedTask]:
    """All tasks of the plan, in the order of its files."""
    return [PlacedTask(file, task) for file, words in found.files for task in tasks_in(words)]


def read_texts(layout: Layout) -> PlanText:
    """The files of the plan; one that is missing is no problem."""
    files: list[tuple[Path, str]] = []
    left = MOST_BYTES
    for path in paths(layout):
        try:
            found = untrusted_files.look(path, left)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno == errno.EISDIR:
                return PlanText((), f"{path.name} is a folder, not a file")
            return PlanText((), f"{path.name} cannot be read: {error.strerror}")
        if not found.whole:
            return PlanText((), f"it is larger than {MOST_BYTES >> 20} MB, which is the most")
        left -= len(found.data)
        files.append((path, found.data.decode("utf-8", "replace")))
    return PlanText(tuple(files))


def refuse_bad_plan(layout: Layout, mode: Mode) -> None:
    """A WorkspaceProblem for a plan that cannot be used, and in build mode for one that is missing or has no task."""
    if not mode.reads_plan:
        return
    plan = read_plan(layout)
    make = f"claude-iterate plan {layout.name}"
    if plan.problem:
        raise WorkspaceProblem(f"The plan cannot be used: {plan.problem}.", f"Fix it or move it away: {layout.plan}")
    if mode.makes_plan or plan.tasks:
        return
    if not plan.fingerprint:
        raise WorkspaceProblem(f"There is no plan. Make one: {make}", f"Expected: {layout.plan}")
    raise WorkspaceProblem(
        f"{FILE} has no tasks.", f"Write them as boxes (`- [ ] task`) in {layout.plan}, or let Claude do it: {make}"
    )


def paths(layout: Layout) -> list[Path]:
    """The files of the plan; the first may be missing."""
    folder = layout.impl
    if not untrusted_files.is_folder(folder) or not untrusted_files.is_file(folder / "README.md"):
        return [layout.plan]
    there = (folder / name for name in untrusted_files.names_in(folder) if name.endswith(".md"))
    return [layout.plan, *(path for path in there if untrusted_files.is_file(path))]
