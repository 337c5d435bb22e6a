"""Projects to measure in, and what is measured. The user's own settings are kept out."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))

from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, NAME, ScriptedProject

__all__ = ["COMMAND_LINE", "NAME", "Bench", "Row", "ScriptedProject", "Spent", "fake", "spent"]

ANSWER = r"""printf '%s\n' \
'{"type":"system","subtype":"init","session_id":"s","model":"fake","tools":[],"mcp_servers":[]}' \
'{"type":"assistant","message":{"content":[{"type":"text","text":"One step done."}]},"session_id":"s"}' \
'{"type":"result","subtype":"success","is_error":false,"result":"One step done.","num_turns":1,"session_id":"s"}'
"""


def fake(answer: str = ANSWER, begin: str = "") -> str:
    """The text of a Claude that reads its prompt, reports and answers. Without a report the runner would look for
    changes, and end the run when there are none."""
    version = "[ \"$1\" = --version ] && { echo '9.9.9 (Fake)'; exit; }"
    report = """echo '{"complete": false}' > "$CLAUDE_ITERATE_WORKSPACE/.status.json\""""
    return f"#!/bin/sh\n{version}\n{begin}\ncat >/dev/null\n{report}\n{answer}\n"


class Row(NamedTuple):
    """One figure. `target` is the highest accepted value; None: for information only."""

    what: str
    value: float
    unit: str
    target: float | None = None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "over"

    def document(self) -> dict[str, Any]:
        return self._asdict() | {"verdict": self.verdict}

    def cells(self) -> list[str]:
        target = "" if self.target is None else f"{self.target:g} {self.unit}"
        return [self.what, f"{self.value:.2f} {self.unit}", target, self.verdict]


class Spent(NamedTuple):
    """Milliseconds of wall time, and of CPU of all processes that were started and waited for."""

    wall: float
    cpu: float


class Bench:
    """A scratch folder. Each measured run gets its own project, because a run reads the journals of earlier ones."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self._made = 0

    def rounds(self, full: int) -> int:
        return 1 if self.quick else full

    def project(self, claude: Sequence[str | Path]) -> ScriptedProject:
        """A new project with one workspace whose Claude is this program."""
        self._made += 1
        words = [str(word) for word in claude]
        project = ScriptedProject(self.folder / f"project-{self._made}", {"claude.command": words})
        project.make("Do the work.\n")
        return project

    def script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def spent(work: Callable[[], object]) -> Spent:
    """What `work` costs. It must wait for the processes that it starts."""
    used, began = _children(), time.perf_counter()
    work()
    return Spent(1000 * (time.perf_counter() - began), 1000 * (_children() - used))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
