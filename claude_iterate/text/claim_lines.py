"""How it is known that a task is done, and what else the end of a run says of the claim. Pure functions."""

from __future__ import annotations

from claude_iterate.core.events import RunFinished
from claude_iterate.core.formats import one_line
from claude_iterate.core.rules.proving import flaky_check
from claude_iterate.core.state.run_state import RunState

KNOWN_BY = {
    "checks": "proven by checks",
    "review": "proven by review",
    "checks_and_review": "proven by checks and review",
    "report": "reported by Claude, not proven",
}


def known(finished: RunFinished) -> str:
    """How it is known, for the end of a line; empty when there is nothing to say."""
    return KNOWN_BY.get(finished.known_by, finished.known_by)


def remarks(finished: RunFinished, state: RunState) -> list[str]:
    """What has to be known of the claim and its proof beside the reason. Findings name flaky checks themselves."""
    proof = state.proof if state.proof is not None and state.proof.passed else None
    found = [one_line(finished.about_claim)] if finished.about_claim else []
    return found + [one_line(flaky_check(command)) for command in (proof.flaky if proof else ())]
