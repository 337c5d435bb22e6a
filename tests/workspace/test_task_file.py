"""The instructions at the end of a run, compared with those at its beginning or with those before an earlier run."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.core.fingerprints import task_identity
from claude_iterate.workspace.task_file import StartingTask
from tests.core.building import facts


@pytest.mark.parametrize(
    ("now", "told"),
    [("weak", ("was", "weak", True)), ("was", ()), ("mine", ()), ("changed again", ("was", "changed again", False))],
)
def test_replaced_instructions_are_compared_with_those_before(
    tmp_path: Path, now: str, told: tuple[object, ...]
) -> None:
    """As long as they are what the earlier run left. What a user wrote since is the task."""
    path = tmp_path / "INSTRUCTIONS.md"
    (tmp_path / ".metadata.json").write_text("{}")
    was, weak = task_identity("was"), task_identity("weak")
    path.write_text("mine" if now == "mine" else "weak")
    task = StartingTask(path, (was, weak))
    path.write_text(now)
    found = task.compare(facts(0))
    expected = (*(task_identity(str(text)) for text in told[:2]),)
    assert (found.replaced, found.replaced_earlier) == (expected, bool(told) and told[2])
