"""The programs that are measured: claude-iterate and, side by side, the TypeScript original."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_iterate.selftest.harness.scripted_project import ScriptedProject

INSTRUCTIONS = "Do the work.\n"


@dataclass(frozen=True)
class Tool:
    """claude-iterate: its command line, and what differs between it and the original."""

    command: tuple[str, ...]

    console = "stderr"
    """Where a verbose run shows what Claude says."""

    def prepare(self, project: ScriptedProject, claude: list[str]) -> None:  # noqa: ARG002 - the original needs it
        """Make the workspace. The environment of the project names Claude."""
        project.make(INSTRUCTIONS)

    def iterations(self, project: ScriptedProject) -> int:
        """How many there were."""
        return len(list(project.workspace.glob("runs/*/raw/*.ndjson")))


class Original(Tool):
    """The original (2.2.0). It has settings files and no variables; it takes a delay of 0 for no answer."""

    console = "stdout"

    def prepare(self, project: ScriptedProject, claude: list[str]) -> None:
        settings = {"claude": {"command": claude[0], "args": claude[1:]}}
        (project.root / ".claude-iterate.json").write_text(json.dumps(settings))
        done = project.call("init", project.workspace.name, program=self.command)
        if done.code != 0:
            raise RuntimeError(f"BENCH_ORIGINAL: init ended with {done.code}: {done.err}")
        project.layout.instructions.write_text(INSTRUCTIONS)

    def iterations(self, project: ScriptedProject) -> int:
        found: int = json.loads(project.layout.metadata.read_text())["executionIterations"]
        return found
