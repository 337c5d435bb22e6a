"""What an iteration did, as a line: `files +2 ~5 -1`, commits, tests. Pure functions; tables use the parts."""

from __future__ import annotations

from claude_iterate.core.events import Changes, TestCounts, WorkMeasured
from claude_iterate.core.formats import counted


def measured(event: WorkMeasured) -> list[str]:
    """One line; none where nothing is known."""
    parts = []
    if event.changes is not None:
        commits = event.changes.commits
        parts = [files(event.changes), counted(commits, "commit") if commits else ""]
    if event.tests is not None:
        parts.append(f"tests {tests(event.tests)}")
    known = [part for part in parts if part]
    return [f"  Measured: {' · '.join(known)}"] if known else []


def files(changes: Changes) -> str:
    """`files +2 ~5 -1`: created, modified, deleted."""
    numbers = {"+": changes.created, "~": changes.modified, "-": changes.deleted}
    said = " ".join(f"{sign}{number}" for sign, number in numbers.items() if number)
    return f"files {said}" if said else "no file changed"


def tests(counts: TestCounts) -> str:
    """`41/43`: passed, of those that ran."""
    return f"{counts.passed}/{counts.passed + counts.failed + counts.errors}"
