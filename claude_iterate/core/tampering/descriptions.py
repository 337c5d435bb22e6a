"""Changes of what defines the proof, in words."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from claude_iterate.core.events.proof import ProofChange

KINDS = {
    "instructions": "the task",
    "plan": "the plan",
    "settings": "settings",
    "check": "a check uses it",
    "script": "a check runs it",
    "config": "a check's tool reads it",
    "program": "it takes the place of what a check uses",
    "test": "a test",
    "prompt": "a prompt",
    "memory": "every session of Claude reads it",
}
"""What each kind is to the proof."""
LISTED = 8


def describe(change: ProofChange) -> str:
    """`check.sh (changed; a check uses it)`."""
    around = change.kind == "test" and change.how == "created"
    role = "it can change which tests run" if around else KINDS.get(change.kind, change.kind)
    earlier = "in an earlier run; " if change.earlier else ""
    return f"{change.path} ({change.how} {earlier}{role})" if earlier else f"{change.path} ({change.how}; {role})"


def describe_all(changes: Sequence[ProofChange]) -> str:
    """The first few, and how many more."""
    shown = ", ".join(map(describe, changes[:LISTED]))
    return f"{shown} and {len(changes) - LISTED} more" if len(changes) > LISTED else shown


def describe_changes(changes: Sequence[ProofChange]) -> str:
    """One sentence for the end of a run: what was changed, and in which run."""
    earlier = sum(change.earlier for change in changes)
    if earlier < len(changes):
        during = "" if earlier else " during the run"
        return f"Part of the proof was changed{during}: {describe_all(changes)}"
    here = [replace(change, earlier=False) for change in changes]
    return f"Part of the proof was changed in an earlier run: {describe_all(here)}"
