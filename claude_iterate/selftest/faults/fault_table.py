"""All faults, in the order in which they are told."""

from __future__ import annotations

from claude_iterate.selftest.faults import (
    death_faults,
    limit_faults,
    process_faults,
    report_faults,
    service_faults,
    steering_faults,
    stream_faults,
    surrounding_faults,
)
from claude_iterate.selftest.harness.fault import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    *stream_faults.SCENARIOS,
    *process_faults.SCENARIOS,
    *service_faults.SCENARIOS,
    *limit_faults.SCENARIOS,
    *report_faults.SCENARIOS,
    *steering_faults.SCENARIOS,
    *surrounding_faults.SCENARIOS,
    *death_faults.SCENARIOS,
)


def chosen(patterns: tuple[str, ...]) -> list[Scenario]:
    """Those whose name fits one of the patterns (`limit-*`), or holds it as a part; all when there is no pattern."""
    from fnmatch import fnmatchcase

    return [
        scenario
        for scenario in SCENARIOS
        if not patterns or any(part in scenario.name or fnmatchcase(scenario.name, part) for part in patterns)
    ]
