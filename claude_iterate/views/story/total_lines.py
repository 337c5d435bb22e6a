"""The figures of some runs together as lines, and the short forms of measured work. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from claude_iterate.core.formats import cost, counted, duration, listed
from claude_iterate.views.story.iteration_rows import FileCounts, TestsView
from claude_iterate.views.story.run_totals import Total

_LISTED = 5


def changed_files(files: FileCounts | None) -> str:
    """`+2 ~5 -1`: created, changed, deleted; `none`; empty: not known."""
    if files is None:
        return ""
    parts = (("+", files.created), ("~", files.modified), ("-", files.deleted))
    return " ".join(f"{sign}{number}" for sign, number in parts if number) or "none"


def green_tests(tests: TestsView | None) -> str:
    """`41/43`: green of all that ran; empty: not known."""
    return f"{tests.passed}/{tests.passed + tests.failed + tests.errors}" if tests is not None else ""


def total_lines(total: Total) -> list[str]:
    """One figure in each line; what there is none of is left out."""
    known = {
        "Iterations": f"{total.iterations}{_outcomes(total)}",
        **_work(total),
        "Claims": f"{total.claims}, {total.claims_held} proven" if total.claims else "",
        "Time": duration(total.duration),
        "Cost": cost(total.cost_usd, total.cost_is_lower_bound),
    }
    width = max(len(name) for name in known) + 1
    return [f"{name + ':':<{width}} {text}" for name, text in known.items() if text]


def work_line(total: Total) -> str:
    """What was done, in one line; empty when nothing of it is known."""
    return " · ".join(f"{name}: {text}" for name, text in _work(total).items() if text)


def _work(total: Total) -> dict[str, str]:
    return {
        "Done again": _more_than_none(total.retries),
        "Fresh sessions": _more_than_none(total.reboots),
        "Waits": f"{total.waits} ({duration(total.waited)})" if total.waits else "",
        "Files": changed_files(total.files),
        "Commits": "" if total.commits is None else str(total.commits),
        "Tests": green_tests(total.tests),
        "Progress": f"in {total.moved} of {counted(total.measured, 'iteration')}" if total.measured else "",
        "Longest": duration(total.longest) if total.iterations > 1 else "",
        "Mean": duration(total.mean) if total.iterations > 1 else "",
    }


def lost_journals(runs: Sequence[str]) -> str:
    """`Without a journal: run 1. What it did is not known; ...`."""
    numbers = [run.partition("-")[0].lstrip("0") or run for run in runs]
    named = listed(numbers, _LISTED)
    noun, they = ("run", "it") if len(numbers) == 1 else ("runs", "they")
    return f"Without a journal: {noun} {named}. What {they} did is not known, and of the money only the sum."


def _more_than_none(number: int) -> str:
    return str(number) if number else ""


def _outcomes(total: Total) -> str:
    """` (7 ok, 1 crash)`: how the calls ended, the most frequent first."""
    found = sorted(total.outcomes.items(), key=lambda item: -item[1])
    words = ", ".join(f"{number} {outcome}".replace("_", " ") for outcome, number in found)
    return f" ({words})" if found else ""
