"""How long to wait before the next try: doubling pauses with a ceiling. Chance comes from outside."""

from __future__ import annotations

TRANSIENT_FIRST, TRANSIENT_LONGEST = 5.0, 300.0
PROBE_FIRST, PROBE_LONGEST = 300.0, 3600.0


def transient(attempt: int, chance: float) -> float:
    """Pause after the `attempt`-th overload or network error in a row; up to a quarter is added by chance (0..1)."""
    return _doubled(TRANSIENT_FIRST, TRANSIENT_LONGEST, attempt) * (1 + chance / 4)


def probe(attempt: int) -> float:
    """Pause before the `attempt`-th look whether a limit without a known end is over."""
    return _doubled(PROBE_FIRST, PROBE_LONGEST, attempt)


def _doubled(first: float, longest: float, attempt: int) -> float:
    return min(longest, first * 2.0 ** min(max(attempt - 1, 0), 30))
