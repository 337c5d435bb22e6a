"""The proof of a claim as lines."""

from __future__ import annotations

from claude_iterate.core.events import CheckFinished, VerificationFinished
from claude_iterate.text.proof_lines import check_finished, verification_finished


def test_a_refused_claim_has_its_cause_in_its_line() -> None:
    """Also one that is not the last: the next iteration begins, and no one looks into the log for it."""
    refused = VerificationFinished(1, False, "The check `make` failed with exit code 2. The end of its output:\nboom")
    assert verification_finished(refused) == ["❌ Verification failed: the check `make` failed with exit code 2."]
    assert verification_finished(VerificationFinished(1, True)) == ["✓ Verification passed."]


def test_a_line_of_many_characters_is_cut_on_the_console_alone() -> None:
    """Its end is what counts; the log has all of it."""
    check = CheckFinished("make", 1, output=f"{'x' * 5000}the end")
    shown = check_finished(check)[1]
    assert len(shown) < 400
    assert shown.endswith("the end")
    assert check_finished(check, whole=True)[1].strip() == check.output
