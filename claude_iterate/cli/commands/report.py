"""`report NAME`: what the runs of a task did, in one file for the morning."""

from __future__ import annotations

import json
import time
import webbrowser
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.errors import UsageProblem
from claude_iterate.system.files import near
from claude_iterate.views import run_view
from claude_iterate.views.night_report import NightReport, night_report
from claude_iterate.views.pages import report_pages

_ENDS = {"html": ".html", "md": ".md", "json": ".json"}


@options.command("report", json="Print the report as one JSON document and write no file.")
@options.run_option(help="Only this run, by its id or number. Default: all runs of the task.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    help="Where to write it; - for standard output. Default: report-ID.html in the workspace, by its last run.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_ENDS)),
    default="html",
    show_default=True,
    help="The format of the report.",
)
@options.flag("--open", "opens", help="Open it in the browser.")
def command(invocation: Invocation, name: str, run: str | None, target: str | None, form: str, opens: bool) -> None:
    """Write a report of the task NAME: how it ended, the proof, what was done, money, time.

    It covers all runs since the first, since the last `reset`, or since a completed task got new instructions. It is
    one file that needs no network, and can be written at any time, even during a run.

    \b
    Examples:
      claude-iterate report my-task --open         in the browser
      claude-iterate report my-task --format md -o report.md
    """
    layout = invocation.project.layout(name)
    if opens and (target == "-" or output.wants_json()):
        raise UsageProblem("There is no file to open.", "Leave out --open, or name a file: -o report.html")
    chosen = run_view.find_run(layout, run) if run is not None else None
    report = night_report(layout, chosen, time.time())
    if output.wants_json():
        output.view(report)
        return
    text = _text(report, form)
    if target == "-":
        output.part(text)
        return
    path = Path(target) if target is not None else layout.folder / f"report-{report.run.id}{_ENDS[form]}"
    with output.output_file(path, "-o", invocation.project.root) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    output.success(f"Wrote {near(path)}")
    if opens and not webbrowser.open(path.resolve().as_uri()):
        output.note(f"No browser was found. The report is {path}")


def _text(report: NightReport, form: str) -> str:
    if form == "json":
        return json.dumps(output.view_document(report), indent=2, ensure_ascii=False) + "\n"
    return report_pages.html(report) if form == "html" else report_pages.markdown(report)
