"""`.metadata.json`: what a workspace is, its own settings, and a summary of its last run.

Unknown keys survive every rewrite. Files written by the TypeScript original are read as they are.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.settings.modes import MODES
from claude_iterate.errors import NewerFormat, SettingsProblem, WorkspaceProblem
from claude_iterate.workspace.files import atomic

FORMAT = 3
"""Our format. The original wrote no format number."""

RESET_AFTER = "resetAfter"
"""Names the newest run at the time of a reset: later runs do not take over what it and those before it counted."""

VERIFIED_BY = "lastVerificationRun"
"""Names, in `verification`, the run that holds the evidence of the last verification."""

COMPLETED_TASK = "completedTask"
"""The identity of the instructions (`core.task_identity`) that were completed; with other ones the task is new."""

REPORT_IS_OLD = "reportOfTaskBefore"
"""In `run`: `verify` judged a new task, and what the last run reported is about the one before."""

TOTAL_COST, TOTAL_IS_LOWER_BOUND = "totalCostUsd", "totalCostIsLowerBound"
"""What all runs cost, as it was last known: it outlives a journal that is lost."""

ASKED = "asked"
"""True when the user was asked what proves the work and how much it may cost."""

_ORIGINAL_SETTINGS: dict[str, tuple[Any, ...]] = {
    "maxIterations": (50, 20),
    "delay": (2,),
    "stagnationThreshold": (2,),
    "notifyUrl": (),
    "notifyEvents": (["all"],),
}
"""The settings of the original, with the default values of its versions."""


class Metadata(msgspec.Struct):
    """The document, with properties for the few keys that code reads."""

    document: dict[str, Any]
    path: Path = Path(".metadata.json")

    @property
    def mode(self) -> str:
        """loop or iterative."""
        mode = self.document.get("mode", "loop")
        if not isinstance(mode, str) or mode not in MODES:
            raise WorkspaceProblem(
                f"The workspace has the unknown mode {mode!r}.",
                f"Set `mode` in .metadata.json to {' or '.join(MODES)}.",
            )
        return mode

    @property
    def status(self) -> str:
        """How the last run ended, in the original's words: in_progress, completed or error."""
        return str(self.document.get("status", "in_progress"))

    @property
    def last_run(self) -> dict[str, Any]:
        """The summary of the last run: id, started, reason and so on. Empty before the first run."""
        value = self.document.get("run")
        return value if isinstance(value, dict) else {}

    @property
    def settings(self) -> dict[str, Any]:
        """The workspace's own layer of settings, as a nested document.

        The original always wrote its defaults here, so in its files a default value sets nothing; otherwise no
        project or user setting could ever reach an old workspace.
        """
        found: dict[str, Any] = {}
        ours = "format" in self.document
        for key, defaults in _ORIGINAL_SETTINGS.items():
            value = self.document.get(key)
            if value is not None and (ours or value not in defaults):
                found[key] = value
        return found | self.own_settings

    @property
    def own_settings(self) -> dict[str, Any]:
        """The table `config`, in which our own commands write; a SettingsProblem when it is not a table."""
        drop = f"claude-iterate init {self.path.parent.name} --force"
        return config_table(self.document, self.path, f"Correct it in that file, or drop it: {drop}")

    @property
    def total_cost_usd(self) -> float:
        """What all runs cost, as it was last noted; 0 where it was not."""
        value = self.document.get(TOTAL_COST)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0

    def note_total_cost(self, total: float, is_lower_bound: bool) -> bool:
        """What all runs cost; it never becomes less. True when it became more."""
        if total <= self.total_cost_usd:
            return False
        self.document |= {TOTAL_COST: round(total, 6), TOTAL_IS_LOWER_BOUND: is_lower_bound}
        return True

    def count(self, key: str) -> int:
        """A counter such as totalIterations; 0 when it is missing or not a count."""
        value = self.document.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def is_behind(about: Metadata, folder: str) -> bool:
    """True when the workspace in this folder has runs that the summary does not know: git, or a copy, put an older
    summary there. Only the names of the runs are looked at."""
    try:
        newest = max((name for name in os.listdir(f"{folder}/runs") if name[:1].isdigit()), default="")  # noqa: PTH208
    except OSError:
        return False
    return newest > newest_known(about)


def newest_known(about: Metadata) -> str:
    """The newest run that the summary has heard of."""
    proof = about.document.get("verification")
    named = (
        about.last_run.get("id"),
        about.document.get(RESET_AFTER),
        proof.get(VERIFIED_BY) if isinstance(proof, dict) else "",
    )
    return max(value for value in (*named, "") if isinstance(value, str))


def config_table(document: dict[str, Any], path: Path, hint: str) -> dict[str, Any]:
    """The table `config` of a workspace or a template; a SettingsProblem when it is not a table."""
    own = document.get("config")
    if own is not None and not isinstance(own, dict):
        raise SettingsProblem(f"{path}: `config` must be an object `{{...}}`, not {own!r:.60}.", hint)
    return own or {}


def read(path: Path) -> Metadata:
    """The metadata, or a WorkspaceProblem that says how to fix it."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise WorkspaceProblem(
            f"{path.parent.name!r} is a folder but not a workspace: it has no .metadata.json.",
            f"Make it one: claude-iterate init {path.parent.name} --force",
        ) from None
    except OSError as error:
        raise WorkspaceProblem(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise WorkspaceProblem(
            f"{path} is damaged: it is not valid JSON.",
            f"Make a new one; instructions, logs and runs are kept: claude-iterate init {path.parent.name} --force",
        )
    refuse_newer(document.get("format"), FORMAT, str(path))
    return Metadata(document, path)


def refuse_newer(found: object, known: int, what: str) -> None:
    """A later version may mean something else by the same words: better nothing is read than read wrongly."""
    if isinstance(found, int) and not isinstance(found, bool) and found > known:
        raise NewerFormat(
            f"{what} was written by a newer claude-iterate: it has format {found}, and this one knows {known}.",
            "Use that version, or update this one. Nothing was changed.",
        )


def write(path: Path, metadata: Metadata, derived: bool = False) -> None:
    """Replace the file atomically; `derived` as in `atomic.replacing`."""
    atomic.write_json(path, metadata.document, derived)
