"""The morning report as a page: HTML that needs nothing but itself and has no script, or Markdown."""

from __future__ import annotations

from typing import Any

from claude_iterate.core.formats import cost, duration, one_line
from claude_iterate.text import local_times
from claude_iterate.views.night_report import Diffstat, FileView, NightReport, RunOfTask
from claude_iterate.views.pages import drawn_page
from claude_iterate.views.pages.charts import draw_charts, row_words
from claude_iterate.views.pages.drawn_page import page
from claude_iterate.views.run_view import short_id
from claude_iterate.views.settings_view import short_count


def html(report: NightReport) -> str:
    """One file: no script, no style sheet, no picture from elsewhere."""
    return page("report", **_values(report), charts=draw_charts(report.iterations))


def markdown(report: NightReport) -> str:
    """The same as Markdown. What others wrote stands in fences that it cannot end."""
    values = _values(report)
    reported = "\n".join(filter(None, map(_words_of, values["rows"])))
    return drawn_page.markdown("report", **values, fence=_fence, reported=reported)


def _values(report: NightReport) -> dict[str, Any]:
    rows = zip(report.iterations, report.diffstats, strict=True)
    return {
        "report": report,
        "run": report.run,
        "rows": [row_words(row) | {"lines": _lines(stat)} for row, stat in rows],
        "lines": _lines,
        "short": short_id,
        "figures": _figures(report),
        "parts": [_part(part) for part in reversed(report.parts)] if len(report.parts) > 1 else [],
        "changed_files": "\n".join(map(_file_line, report.diffstat.files)) if report.diffstat is not None else "",
        "when": local_times.whole,
    }


def _figures(report: NightReport) -> list[tuple[str, str]]:
    """What there is none of is left out."""
    run, total = report.run, report.total
    alone = len(report.parts) == 1
    count = run.iterations if run.dry_run else total.iterations
    most = f" of {run.max_iterations}" if run.max_iterations and alone else ""
    began = report.parts[0].started
    found = {
        "Runs": "" if alone else str(len(report.parts)),
        "Iterations": f"{count}{most}",
        "Items": f"{run.progress.completed}/{run.progress.total}" if run.progress is not None else "",
        "Work": duration(total.duration),
        "Waits": duration(report.waited) if report.waits else "",
        "Cost": cost(total.cost_usd, total.cost_is_lower_bound),
        "Tokens": short_count(total.tokens.total) if total.tokens.total else "",
        "Began": local_times.whole(began) if began else "not known",
        "Ended": local_times.whole(run.finished) if run.finished else "not yet",
    }
    return [(name, text) for name, text in found.items() if text]


def _part(part: RunOfTask) -> dict[str, str]:
    """A run of the task as words for a table."""
    return {
        "id": part.id,
        "number": short_id(part.id),
        "began": local_times.whole(part.started) if part.started else "",
        "took": duration(part.duration),
        "iterations": "verify" if part.purpose == "verify" else str(part.iterations),
        "cost": cost(part.cost_usd, part.cost_is_lower_bound),
        "words": part.words,
        "tone": part.tone,
    }


def _words_of(row: dict[str, str]) -> str:
    """What one iteration said of itself; empty when it said nothing."""
    said = [row["message"], row["summary"], f"denied: {row['denied']}" if row["denied"] else ""]
    return "\n".join(f"{row['number']}: {one_line(text)}" for text in said if text)


def _lines(stat: Diffstat | None) -> str:
    """Lines that came and went; a snapshot may be gone, or there was none."""
    return "not known" if stat is None else f"+{stat.added} -{stat.removed}"


def _file_line(file: FileView) -> str:
    if file.added is None:
        return f"no text      {file.path}"
    return f"{f'+{file.added}':>6} {f'-{file.removed}':<6}{file.path}"


def _fence(text: str) -> str:
    """A code block that the text cannot end."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}text\n{text.rstrip()}\n{ticks}"
