"""The history of a workspace as one JSON document. Pure: rows in, a document out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_iterate.core.formats import moment
from claude_iterate.views.setting_values import tokens_document

if TYPE_CHECKING:
    from claude_iterate.views.history_view import Row, Run, Total


def document(name: str, runs: list[Run], total: Total) -> dict[str, Any]:
    """The runs, their rows and the sum."""
    return {
        "workspace": name,
        "runs": [
            {
                "id": told.id,
                "purpose": told.started.purpose,
                "dryRun": told.started.dry_run,
                "goesOnWith": told.started.resumed.run if told.started.resumed else None,
                "reason": told.finished.reason if told.finished else None,
                "otherCostUsd": round(told.other_cost_usd, 6),
                "iterations": [_row(row) for row in told.rows],
            }
            for told in runs
        ],
        "total": {
            "iterations": total.iterations,
            "retries": total.retries,
            "duration": round(total.duration, 3),
            "costUsd": round(total.cost_usd, 6),
            "otherCostUsd": round(total.other_cost_usd, 6),
            "callsWithoutCost": total.untold,
            "tokens": tokens_document(total.tokens),
            "turns": total.turns,
            "tools": total.tools,
        },
    }


def _row(row: Row) -> dict[str, Any]:
    status = row.status
    counts = status is not None and bool(status.total)
    return {
        "run": row.run,
        "number": row.number,
        "attempt": row.attempt,
        "began": moment(row.began),
        "duration": round(row.duration, 3),
        "costUsd": None if row.untold else round(row.cost_usd, 6),
        "tokens": tokens_document(row.tokens),
        "turns": row.turns,
        "tools": row.tools,
        "progress": {"completed": status.completed or 0, "total": status.total} if status and counts else None,
        "worked": status.worked if status else None,
        "complete": status.complete if status else None,
        "outcome": row.outcome.kind,
        "message": row.outcome.message,
        "doneAgain": row.again,
        "resumedSession": row.resumes or None,
    }
