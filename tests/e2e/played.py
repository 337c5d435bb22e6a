"""What two runs have in common when one plays the other: their events, without ids, times, money and paths."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Loop

_OTHER = {
    *(
        "pid",
        "raw",
        "run",
        "birth",
        "log",
        "command",
        "dry_run",
        "cassette",
        "settings",
        "agent_version",
        "carried",
        "resets_at",
    ),
    *("duration", "elapsed", "until", "cost_usd", "tokens", "cost_is_lower_bound", "report_id", "report", "untold"),
    *("prompt_hash", "max_iterations", "measures", "tree", "known_by", "cause", "next", "advice"),
    *("about_claim", "fingerprint", "files", "hooks", "host", "again", "task", "to_prove"),
    *("session_cost_usd", "session_tokens", "project"),
}
"""Fields that differ because it is another run, another day, free of charge."""
_LEFT_OUT = {
    "UsageReported",
    "SnapshotTaken",
    "WorkMeasured",
    "ProofDefined",
    "ProofTestsCounted",
    "Warned",
    "CheckFinished",
}
"""Money and measured work are not played, and the definition of a proof is not watched in a dry run."""


def sequence(journal: list[dict[str, Any]]) -> list[Any]:
    """The events in their order, comparable."""
    return [_same(entry["event"]) for entry in journal if entry["event"]["event"] not in _LEFT_OUT]


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _same(held) for key, held in value.items() if key not in _OTHER}
    return [_same(held) for held in value] if isinstance(value, list) else value


def copied_run(loop: Loop) -> None:
    """A recorded run of one iteration."""
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    assert loop.run("-q").code == 0
