"""The evidence of the last proof in a journal: which checks ran, how they ended, what the review said."""

from __future__ import annotations

from typing import Any

from claude_iterate.core.events import CheckFinished, ReviewFinished, VerificationFinished, VerificationStarted
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout


def of_run(layout: Layout, run: str) -> dict[str, Any] | None:
    """The last verification of a run, ready for JSON; None when there was none."""
    found: dict[str, Any] | None = None
    if not layout.journal(run).is_file():
        return None
    for entry in reader.read(layout.journal(run)):
        match entry.event:
            case VerificationStarted(claim):
                found = {"claim": claim, "passed": None, "findings": "", "tree": "", "checks": [], "review": None}
            case CheckFinished() as check if found is not None:
                found["checks"].append(
                    {
                        "command": check.command,
                        "exitCode": check.code,
                        "duration": round(check.duration, 3),
                        "output": check.output,
                        "cut": check.cut,
                    }
                )
            case ReviewFinished() as review if found is not None:
                found["review"] = {
                    "verdict": review.verdict,
                    "summary": review.summary,
                    "findings": list(review.findings),
                    "report": review.report,
                    "costUsd": round(review.cost_usd, 6),
                }
            case VerificationFinished(_, passed, findings, tree) if found is not None:
                found |= {"passed": passed, "findings": findings, "tree": tree}
    return found


def newest(layout: Layout) -> tuple[str, dict[str, Any]] | None:
    """The newest run that verified something, and its evidence."""
    for run in reversed(layout.run_ids()):
        if layout.journal(run).is_file():
            found = of_run(layout, run)
            if found is not None:
                return run, found
    return None
