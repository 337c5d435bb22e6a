"""The plan of a workspace as `plan --show` tells it: counts, tasks without refs, tasks by specification. Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from claude_iterate.core.redact import redactor_for
from claude_iterate.core.reports.plan_tasks import DONE
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import plan_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.plan_file import PlacedTask
from claude_iterate.workspace.project import Project

_MOST = 500
"""Files of specifications that are looked for."""
_LISTED = 1000
_SHOWN = 20
"""Tasks without refs that are named."""
_TEXTS = (".md", ".txt", ".rst", ".adoc")


class BareTask(msgspec.Struct, frozen=True, rename="camel"):
    """A task that names no specification."""

    file: str
    line: int
    state: str
    text: str


class TaskView(msgspec.Struct, frozen=True, rename="camel"):
    """A task of the plan, in its order; `state` is open, doing or done."""

    text: str
    state: str


class SpecificationView(msgspec.Struct, frozen=True, rename="camel"):
    """A file of the specifications, how many tasks name it, and how many of these are not done (`open`)."""

    file: str
    tasks: int
    open: int


class PlanView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the plan stands."""

    workspace: str
    path: str
    present: bool
    problem: str | None
    """Why it cannot be used."""
    tasks: int
    open: int
    doing: int
    done: int
    without_refs: int
    bare: tuple[BareTask, ...]
    """The first tasks that name no specification."""
    spec_dir: str
    has_specifications: bool
    specifications: tuple[SpecificationView, ...]
    list: tuple[TaskView, ...] = ()
    """The tasks themselves, the first thousand."""


def plan_view(project: Project, layout: Layout) -> PlanView:
    """The plan as it is now."""
    text = plan_file.read_texts(layout)
    read = plan_file.summarize(text)
    tasks = plan_file.tasks(text) if not read.problem else []
    settings = project.settings_for(layout).settings
    folder = project.root / settings.paths.spec_dir
    files = _specifications(folder)
    bare = [BareTask(it.file.name, it.task.line, it.task.state, it.task.text) for it in tasks if not it.task.refs]
    view = PlanView(
        workspace=layout.name,
        path=str(layout.plan),
        present=bool(text.files),
        problem=read.problem or None,
        tasks=read.tasks,
        open=read.open,
        doing=read.doing,
        done=read.done,
        without_refs=read.without_refs,
        bare=tuple(bare[:_SHOWN]),
        spec_dir=str(folder),
        has_specifications=bool(files),
        specifications=tuple(_coverage(files, tasks)),
        list=tuple(TaskView(it.task.text, it.task.state) for it in tasks[:_LISTED]),
    )
    return redactor_for(project.environ, settings).clean_struct(view)


def _specifications(folder: Path) -> list[str]:
    """The texts in the folder and below, by their path in it."""
    found: list[str] = []
    waiting = [folder]
    while waiting and len(found) < _MOST:
        place = waiting.pop()
        names = untrusted_files.names_in(place)
        found += [str((place / name).relative_to(folder)) for name in names if name.endswith(_TEXTS)]
        shown = [place / name for name in reversed(names) if not name.startswith(".")]
        waiting += [path for path in shown if untrusted_files.is_folder(path)]
    return found[:_MOST]


def _coverage(files: Iterable[str], tasks: list[PlacedTask]) -> Iterable[SpecificationView]:
    """A reference names a file by its path or the end of it, perhaps with a part after `#`."""
    named: dict[str, list[int]] = {}
    for placed in tasks:
        for name in {reference.partition("#")[0].strip().removeprefix("./") for reference in placed.task.refs}:
            counts = named.setdefault(name, [0, 0])
            counts[0] += 1
            counts[1] += placed.task.state != DONE
    for file in files:
        of = [counts for name, counts in named.items() if name == file or name.endswith(f"/{file}")]
        yield SpecificationView(file, sum(count for count, _ in of), sum(left for _, left in of))
