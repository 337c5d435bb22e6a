"""What people read for a state."""

from __future__ import annotations

import pytest

from claude_iterate.core.tones import state_words


@pytest.mark.parametrize(
    ("state", "known_by", "words"),
    [
        ("completed", "report", "completed (not proven)"),
        ("completed", "checks", "completed"),
        ("verification_failed", None, "verification failed"),
        ("pattern", None, "stop pattern"),
        ("script", None, "stop script"),
    ],
)
def test_a_state_is_words(state: str, known_by: str | None, words: str) -> None:
    """Never the name that programs read."""
    assert state_words(state, known_by) == words
