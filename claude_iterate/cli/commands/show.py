"""`show NAME`: one workspace: progress, the story of its last run, counters, settings, files."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument
from claude_iterate.cli.output import foreign
from claude_iterate.core import formats
from claude_iterate.text.verification_lines import CUTS
from claude_iterate.views.setting_values import as_text, shortened
from claude_iterate.views.workspace_view import portrait


@click.command("show")
@name_argument
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show the workspace NAME."""
    project = invocation.project
    view = portrait(project, project.layout(name))
    if as_json:
        output.document(view)
        return
    output.result(output.heading(f"{view['name']}  ({view['mode']} mode)"))
    output.result(f"  {view['path']}")
    output.result(f"Status: {_status(view)}")
    _print_report(view["report"])
    _print_run(view["lastRun"])
    _print_proof(view["proof"])
    counters = view["counters"]
    output.result(
        f"Iterations: {counters['execution']} in runs, {counters['setup']} in setup"
        + (f"; ${counters['costUsd']:.2f} in all" if counters["costUsd"] else "")
    )
    _print_settings(view["settings"])
    _print_files(view["files"])
    output.result(f"Log: {view['log'] or 'none yet'}")
    if not view["files"]["INSTRUCTIONS.md"]:
        output.note(f"Next: claude-iterate setup {name}")


def _status(view: dict[str, Any]) -> str:
    if view["status"] == "running":
        who = view["runningNow"] or {}
        return f"running now (pid {who.get('pid', 'unknown')}, since {who.get('started', 'a moment ago')}){_held(view)}"
    if view["copyOf"]:
        return f"a copy of a workspace that is running now (pid {view['copyOf']['pid']})"
    if view["status"] == "interrupted":
        return f"interrupted: the last run was killed. Go on with: claude-iterate run {view['name']}"
    return str(view["status"])


def _held(view: dict[str, Any]) -> str:
    """What the run that is on waits for, if it does."""
    run = view["lastRun"] or {}
    waiting = run.get("waiting")
    wait = f", waiting until {waiting['until']} ({waiting['for'].replace('_', ' ')})" if waiting else ""
    return wait + (", paused" if run.get("paused") else "")


def _print_report(report: dict[str, Any]) -> None:
    if report["present"]:
        output.result(f"Progress: {foreign(report['text'])}")
    for problem in report["problems"]:
        output.result(f"  {output.symbol('warning')} .status.json: {foreign(problem)}")


def _print_run(run: dict[str, Any] | None) -> None:
    if run is None:
        output.result("Last run: never")
        return
    rehearsal = " (dry run)" if run["dryRun"] else ""
    output.result(f"Last run: {run['id']}{rehearsal}, began {run['started']}")
    cost = f", ${run['costUsd']:.2f}" if run["costUsd"] and not run["dryRun"] else ""
    most = f" of at most {run['maxIterations']}" if run["maxIterations"] else ""
    output.result(f"  {run['iterations']}{most} iterations, {formats.duration(run['duration'])}{cost}")
    tokens = run["tokens"]
    if any(tokens.values()) and not run["dryRun"]:
        output.result(
            f"  Tokens: {shortened(tokens['input'])} in, {shortened(tokens['output'])} out,"
            f" {shortened(tokens['cacheRead'])} read from the cache, {shortened(tokens['cacheCreation'])} written to it"
        )
    if run["reason"]:
        output.result(f"  Ended: {run['reason']}. {run['meaning']}")
    # When it is completed, the report above says it already; a bare number is in the figures.
    detail = "" if run["reason"] == "completed" or run["detail"].isdecimal() else run["detail"]
    for line in (detail, run["advice"], run["lastError"]):
        if line:
            output.result(f"  {foreign(line)}")


def _print_proof(proof: dict[str, Any] | None) -> None:
    """The evidence, check by check."""
    if proof is None:
        return
    verdict = {True: "the claim holds", False: "the claim does not hold", None: "it was cut off"}[proof["passed"]]
    tree = f", tree {proof['tree'][:12]}" if proof["tree"] else ""
    output.result(f"Proof: {verdict} (run {proof['run']}, claim {proof['claim']}{tree})")
    for check in proof["checks"]:
        good = check["exitCode"] == 0
        how = f": exit code {check['exitCode']}"
        if check["exitCode"] is None:
            how = f": {CUTS.get(check['cut'], 'not run')}"
        sign = output.symbol("good" if good else "bad")
        output.result(f"  {sign} {foreign(check['command'])}{how} ({formats.duration(check['duration'])})")
        if not good:
            for line in check["output"].strip().splitlines()[-5:]:
                output.result(f"      {foreign(line)}")
    review = proof["review"]
    if review is not None:
        sign = output.symbol("good" if review["verdict"] == "verified" else "bad")
        summary = f" - {foreign(review['summary'])}" if review["summary"] else ""
        output.result(f"  {sign} review: {review['verdict']}{summary}")
        for item in review["findings"]:
            output.result(f"      - {foreign(item)}")


def _print_settings(settings: list[dict[str, Any]]) -> None:
    output.result("Settings:" if settings else "Settings: all defaults")
    for item in settings:
        output.result(f"  {item['key']} = {foreign(as_text(item['value']))}  ({item['origin']})")


def _print_files(files: dict[str, bool]) -> None:
    output.result("Files:")
    for file, there in files.items():
        output.result(f"  {output.symbol('good' if there else 'bad')} {file}")
