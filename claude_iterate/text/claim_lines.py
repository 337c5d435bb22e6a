"""What the end of a run says of the last claim of completion. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from claude_iterate.core.events import ProofChange, RunFinished
from claude_iterate.core.formats import one_line
from claude_iterate.core.rules.proving import WAVERED, flaky_check
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tampering import comparison


def remarks(finished: RunFinished, state: RunState) -> list[str]:
    """What has to be known of the claim and its proof beside the reason. Findings name flaky checks themselves."""
    proof = state.proof if state.proof is not None and state.proof.passed else None
    found = [one_line(finished.about_claim)] if finished.about_claim else []
    found += [one_line(flaky_check(command)) for command in (proof.flaky if proof else ())]
    found += [WAVERED] if proof is not None and proof.wavered else []
    told = one_line(changed(finished.changes)) if finished.changes else ""
    # A claim that was refused for it has it as its cause.
    return [*found, told] if told and told.partition(": ")[2] not in finished.cause else found


def changed(changes: Sequence[ProofChange]) -> str:
    """What was changed of that which defines the proof, and in which run."""
    return comparison.told(changes)
