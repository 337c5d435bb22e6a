"""`doctor`: checks this computer and this project, and says how to mend what is wrong; `--mend` does what it can."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option
from claude_iterate.operations.doctor.computer_checks import Finding, examine

_SYMBOL = {"ok": "good", "warning": "warning", "problem": "bad"}


@click.command("doctor")
@click.option("--mend", is_flag=True, help="End and remove what killed runs left behind; repair torn metadata.")
@json_option
@click.pass_obj
def command(invocation: Invocation, mend: bool, as_json: bool) -> int:
    """Check Claude, git, folders, settings and workspaces. Exit code 1: something must be mended."""
    project = invocation.project
    done = _mended(invocation) if mend else []
    # What could not be mended is still there, and is told by the check that finds it, or not at all.
    findings = examine(project)
    problems = sum(finding.state == "problem" for finding in (*done, *findings))
    if as_json:
        told = {"mended": [finding._asdict() for finding in done]} if mend else {}
        output.document({"ok": problems == 0, **told, "checks": [finding._asdict() for finding in findings]})
        return 1 if problems else 0
    for finding in (*done, *findings):
        _print(finding)
    if problems:
        output.note(f"\n{problems} {'thing' if problems == 1 else 'things'} to mend.")
    else:
        output.note("\nAll is well.")
    return 1 if problems else 0


def _mended(invocation: Invocation) -> list[Finding]:
    from claude_iterate.operations.doctor.fixes import mend

    return mend(invocation.project)


def _print(finding: Finding) -> None:
    output.result(f"{output.symbol(_SYMBOL[finding.state])} {finding.check}: {finding.message}")
    if finding.mend:
        output.result(f"    {finding.mend}")
