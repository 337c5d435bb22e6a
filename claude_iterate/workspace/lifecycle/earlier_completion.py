"""A task that an earlier run completed stays completed while no later run has worked on it. Pure."""

from __future__ import annotations

from typing import Any

from claude_iterate.core.events import Tokens
from claude_iterate.core.state.run_state import RunState
from claude_iterate.workspace import metadata
from claude_iterate.workspace.metadata import Metadata

KEY = "completion"
"""In the summary of a run that did no work: how an earlier run completed the task."""
_KEPT = ("id", "finished", "knownBy", "progress", "plan")


def of(about: Metadata) -> dict[str, Any]:
    """How the task was completed, as the metadata has it before another run is noted; empty when it was not."""
    known = about.last_run.get(KEY)
    if isinstance(known, dict):
        return known
    if about.status != "completed" or about.last_run.get("state") == "running":
        return {}
    proof = about.document.get("verification")
    later = isinstance(proof, dict) and str(proof.get(metadata.VERIFIED_BY, "")) > str(about.last_run.get("id", ""))
    found = {name: about.last_run[name] for name in _KEPT if name in about.last_run}
    task = about.document.get(metadata.COMPLETED_TASK)
    if later and isinstance(proof, dict):
        found |= {"knownBy": proof.get("knownBy"), "finished": proof.get("lastVerificationTime")}
    return found | ({"task": task} if task else {})


def did_work(state: RunState) -> bool:
    """An iteration was done or is under way, a claim was judged, or a call cost something."""
    resumed = state.started is not None and state.started.resumed is not None
    spent = state.cost_usd > 0 or state.cost_is_lower_bound or state.tokens != Tokens()
    return bool(state.iterations or state.call is not None or state.proof is not None or resumed or spent)
