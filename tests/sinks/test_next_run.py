"""What the next run would be, in words."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.settings.catalogue import build
from claude_iterate.text.ending_lines import next_run


@pytest.mark.parametrize(
    ("mode", "settings", "says"),
    [
        ("loop", {}, "loop mode, at most 50 iterations, 2s between them"),
        (
            "iterative",
            {},
            "iterative mode, at most 20 iterations, 2s between them, ends after 2 iterations without work",
        ),
        ("loop", {"max_iterations": 0, "delay": 0.0}, "loop mode, no iteration limit"),
        ("loop", {"max_iterations": 1}, "loop mode, at most 1 iteration"),
        (
            "iterative",
            {"stagnation_threshold": 0, "limits.max_cost_usd": 5.0, "limits.max_duration": 5400.0, "delay": 90.0},
            "iterative mode, at most 20 iterations, 90s between them, at most $5.00 over all runs, at most 90m",
        ),
    ],
)
def test_what_bounds_a_run_is_said(mode: str, settings: dict[str, Any], says: str) -> None:
    """The number of iterations is the effective one; what does not bound it is left out."""
    assert next_run(mode, build(settings)) == says
