"""`.metadata.json`: what a workspace is, its own settings, and a summary of its last run.

What is not known here survives every change. Files written by the TypeScript original are read as they are.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec.structs import replace

from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.condition import Progress
from claude_iterate.errors import NewerFormat, SettingsProblem, WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import unreadable
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import PlanCounts, WorktreeSummary

FORMAT = 3
"""Our format. The original wrote no format number."""
_ORIGINAL_SETTINGS: dict[str, tuple[Any, ...]] = {
    "maxIterations": (50, 20),
    "delay": (2,),
    "stagnationThreshold": (2,),
    "notifyUrl": (),
    "notifyEvents": (["all"],),
}
"""The settings of the original, with the default values of its versions."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Struct = TypeVar("Struct", bound=msgspec.Struct)


class LastRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The last run of `claude-iterate run`, as its summary was when it was noted."""

    id: str = ""
    state: str = ""
    """running or finished."""
    finished: str | None = None
    reason: str | None = None
    cause: str | None = None
    next: str | None = None
    known_by: str | None = None
    iterations: int = 0
    cost_usd: float | None = None
    cost_is_lower_bound: bool = False
    progress: Progress | None = None
    mode: str | None = None
    plan: PlanCounts | None = None
    worktree: WorktreeSummary | None = None
    report_of_task_before: bool = False
    """`verify` judged a new task, and what the last run reported is about the one before."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The document as values. A value of a wrong type counts as missing: people edit this file."""

    name: str | None = None
    written_mode: Any = msgspec.field(name="mode", default="loop")
    created: str | None = None
    status: str = "in_progress"
    """How the last run ended, in the original's words: in_progress, completed or error."""
    last_run_at: str | None = msgspec.field(name="lastRun", default=None)
    total_iterations: Count = 0
    setup_iterations: Count = 0
    execution_iterations: Count = 0
    last_run: LastRun | None = msgspec.field(name="run", default=None)
    verified_by: str = ""
    """The run that holds the evidence of the last verification."""
    verified_known_by: str | None = None
    reset_after: str = ""
    """The newest run at the time of a reset: later runs do not take over what it and those before it counted."""
    completed_task: str | None = None
    """The identity of the instructions (`core.fingerprints`) that were completed; with other ones the task is new."""
    total_cost_usd: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """What all runs cost, as it was last known: it outlives a journal that is lost."""
    total_cost_is_lower_bound: bool = False
    asked: bool = False
    """The user was asked what proves the work and how much it may cost."""
    config: Any = None
    """Settings, in which our own commands write."""
    document: dict[str, Any] = {}
    """The file as it was read."""
    path: str = ".metadata.json"

    @property
    def mode(self) -> str:
        """loop or iterative."""
        if not isinstance(self.written_mode, str) or self.written_mode not in MODES:
            raise WorkspaceProblem(
                f"The workspace has the unknown mode {self.written_mode!r}.",
                f"Set `mode` in .metadata.json to {' or '.join(MODES)}.",
            )
        return self.written_mode

    @property
    def settings(self) -> dict[str, Any]:
        """The workspace's own layer of settings, as a nested document."""
        return original_settings(self.document) | self.own_settings

    @property
    def own_settings(self) -> dict[str, Any]:
        """The table `config`; a SettingsProblem when it is not a table."""
        drop = f"claude-iterate init {Path(self.path).parent.name} --force"
        return config_table(self.document, self.path, f"Correct it in that file, or drop it: {drop}")

    @property
    def run(self) -> LastRun:
        """The last run; of a workspace that never ran nothing is known."""
        return self.last_run or LastRun()

    @property
    def is_judged_since(self) -> bool:
        """A `verify` has judged the task since the last run."""
        return self.verified_by > self.run.id

    @property
    def known_by(self) -> str | None:
        """How the last run, or a `verify` since then, knows that the task is done."""
        return self.verified_known_by if self.is_judged_since else self.run.known_by

    @property
    def is_running(self) -> bool:
        """The last run has not noted its end: it may have been killed."""
        return self.run.state == "running"

    @property
    def newest_known_run(self) -> str:
        """The newest run that the summary knows."""
        return max(self.run.id, self.reset_after, self.verified_by)


def parse(document: dict[str, Any], path: Path = Path(".metadata.json")) -> Metadata:
    """The values of a document."""
    run = document.get("run")
    last = _values(LastRun, run) if isinstance(run, dict) and run else None
    return replace(_values(Metadata, document | {"run": None}), last_run=last, document=document, path=str(path))


def _values(kind: type[Struct], document: dict[str, Any]) -> Struct:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError:
        found: dict[str, Any] = {}
        for field in msgspec.structs.fields(kind):
            with contextlib.suppress(msgspec.ValidationError, KeyError):
                found[field.name] = msgspec.convert(document[field.encode_name], field.type)
        return kind(**found)


def read(path: Path) -> Metadata:
    """The metadata, or a WorkspaceProblem that says how to fix it."""
    try:
        document = untrusted_files.read_json(path)
    except FileNotFoundError:
        raise WorkspaceProblem(
            f"{path.parent.name!r} is a folder but not a workspace: it has no .metadata.json.",
            f"Make it one: claude-iterate init {path.parent.name} --force",
        ) from None
    except OSError as error:
        raise unreadable(WorkspaceProblem, path, error, "Check its permissions.") from None
    if document is None:
        raise WorkspaceProblem(
            f"{path} is damaged: it is not valid JSON.",
            f"Make a new one; instructions, logs and runs are kept: claude-iterate init {path.parent.name} --force",
        )
    refuse_newer(document.get("format"), FORMAT, str(path))
    return parse(document, path)


def write(path: Path, about: Metadata) -> None:
    """Replace the file atomically: as it was read, with what changed."""
    untrusted_files.write_json(path, changed_document(about))


def changed_document(about: Metadata) -> dict[str, Any]:
    """The document as it was read, with what changed since."""
    before, now = _known_values(parse(about.document)), _known_values(about)
    document = dict(about.document)
    for name in [name for name in now if now[name] != before[name]]:
        if now[name] is None:
            document.pop(name, None)
        else:
            document[name] = now[name]
    return document


def _known_values(about: Metadata) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(replace(about, document={}, path=""))
    return found


def has_newer_runs(about: Metadata, layout: Layout) -> bool:
    """True when the workspace has runs that the summary does not know: git, or a copy, put an older summary there. Only
    the names of the runs are read."""
    return max(layout.run_ids(), default="") > about.newest_known_run


def original_settings(document: dict[str, Any]) -> dict[str, Any]:
    """The settings that the original kept beside the rest. It always wrote its defaults, so in its files a default
    value sets nothing; otherwise no project or user setting could ever reach an old workspace."""
    ours = "format" in document
    found = {key: document.get(key) for key in _ORIGINAL_SETTINGS}
    return {
        key: value
        for key, value in found.items()
        if value is not None and (ours or value not in _ORIGINAL_SETTINGS[key])
    }


def config_table(document: dict[str, Any], path: Path | str, hint: str) -> dict[str, Any]:
    """The table `config` of a workspace or a template; a SettingsProblem when it is not a table."""
    own = document.get("config")
    if own is not None and not isinstance(own, dict):
        raise SettingsProblem(f"{path}: `config` must be an object `{{...}}`, not {own!r:.60}.", hint)
    return own or {}


def refuse_newer(found: object, known: int, what: str) -> None:
    """A later version may mean something else by the same words: better nothing is read than read wrongly."""
    if isinstance(found, int) and not isinstance(found, bool) and found > known:
        raise NewerFormat(
            f"{what} was written by a newer claude-iterate: it has format {found}, and this one knows {known}.",
            "Use that version, or update this one. Nothing was changed.",
        )
