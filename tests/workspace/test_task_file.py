"""The instructions at the end of a run, compared with those at its beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.workspace.task_file import StartingTask
from tests.core.building import facts


@pytest.mark.parametrize(("now", "replaced"), [("weak", True), ("was", False), ("- [x] was", False)])
def test_replaced_instructions_are_noticed(tmp_path: Path, now: str, replaced: bool) -> None:
    """Another task is; boxes that were ticked are none."""
    path = tmp_path / "INSTRUCTIONS.md"
    (tmp_path / ".metadata.json").write_text("{}")
    path.write_text("- [ ] was" if now.startswith("-") else "was")
    task = StartingTask(path)
    path.write_text(now)
    assert task.compare(facts(0)).replaced == replaced
