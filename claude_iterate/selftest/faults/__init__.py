"""All faults, in the order in which they are listed."""

from __future__ import annotations

from fnmatch import fnmatchcase

from claude_iterate.selftest.faults import (
    death_faults,
    process_faults,
    report_faults,
    service_faults,
    stream_faults,
    surrounding_faults,
)
from claude_iterate.selftest.harness.fault import Fault

FAULTS: dict[str, Fault] = {
    **stream_faults.FAULTS,
    **process_faults.FAULTS,
    **service_faults.FAULTS,
    **report_faults.FAULTS,
    **surrounding_faults.FAULTS,
    **death_faults.FAULTS,
}


def choose_faults(patterns: tuple[str, ...]) -> dict[str, Fault]:
    """The faults whose name matches one of the patterns (`limit-*`) or contains it; all faults without a pattern."""
    return {
        name: fault
        for name, fault in FAULTS.items()
        if not patterns or any(part in name or fnmatchcase(name, part) for part in patterns)
    }
