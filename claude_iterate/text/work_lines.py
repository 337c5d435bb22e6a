"""What an iteration did, as a line: `files +2 ~5 -1`, commits, tests; what the breaker says of it; the worktree."""

from __future__ import annotations

from claude_iterate.core.events import (
    BreakerReset,
    Changes,
    PatternSeen,
    StopScriptsRun,
    TestCounts,
    WorkMeasured,
    WorktreeMade,
)
from claude_iterate.core.events.groups import Streaks
from claude_iterate.core.formats import counted, one_line
from claude_iterate.core.rules.next_steps import merge
from claude_iterate.core.rules.trips import counters
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.state.run_state import RunState


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


_RESETS = {
    "run": "its counters are cleared (--reset)",
    "reset": "its counters are cleared (reset)",
    "instructions": "the instructions are another task now, so counting begins again",
}


def pattern_seen(event: PatternSeen) -> list[str]:
    """Which pattern, and where."""
    return [f"⚠ Stop pattern `{event.pattern}`: {one_line(event.text)}"]


def scripts_run(event: StopScriptsRun) -> list[str]:
    """Only a script that says stop is worth a line."""
    return [f"⚠ The stop script `{result.command}` says stop." for result in event.results if result.code == 0]


def breaker_reset(event: BreakerReset) -> list[str]:
    """Why the counters are at 0."""
    return [f"Breaker: {_RESETS.get(event.by, event.by)}."]


def close(streaks: Streaks, stop: StopSettings) -> str:
    """The counters that are half way or further, for the live line."""
    return " · ".join(f"{name} {now}/{most}" for name, now, most in counters(streaks, stop) if now and 2 * now >= most)


def worktree_made(event: WorktreeMade) -> list[str]:
    """Where the run works."""
    begins = "goes on at" if event.again else "begins at"
    return [f"Working in the worktree {event.path}", f"  Branch {event.branch}, which {begins} {event.base[:10]}"]


def worktree_left(state: RunState) -> list[str]:
    """What the run leaves in its worktree, with the command that leads on: one line, for which the end has room."""
    tree, left = state.worktree.made, state.worktree.left
    if tree is None or left is None:
        return []
    if left.trouble:
        return [f"  What is in the worktree {tree.path} is not known: {left.trouble}"]
    if not left.clean:
        both = merge(tree.main, tree.branch, tree.path)
        return [f"  The worktree stays: it has work that is not committed. Commit and merge it: {both}"]
    if left.commits:
        return [f"  Branch {tree.branch}: {counted(left.commits, 'commit')} to merge: {merge(tree.main, tree.branch)}"]
    return [f"  Branch {tree.branch} has nothing to merge."]
