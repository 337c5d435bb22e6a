"""`doctor`: checks this computer and this project, and says how to mend what is wrong."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.checks import Finding, examine
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option

_SYMBOL = {"ok": "good", "warning": "warning", "problem": "bad"}


@click.command("doctor")
@json_option
@click.pass_obj
def command(invocation: Invocation, as_json: bool) -> int:
    """Check Claude, git, folders, settings and workspaces. Exit code 1: something must be mended."""
    findings = examine(invocation.project)
    problems = sum(finding.state == "problem" for finding in findings)
    if as_json:
        output.document({"ok": problems == 0, "checks": [finding._asdict() for finding in findings]})
        return 1 if problems else 0
    for finding in findings:
        _print(finding)
    if problems:
        output.note(f"\n{problems} {'thing' if problems == 1 else 'things'} to mend.")
    else:
        output.note("\nAll is well.")
    return 1 if problems else 0


def _print(finding: Finding) -> None:
    output.result(f"{output.symbol(_SYMBOL[finding.state])} {finding.check}: {finding.message}")
    if finding.mend:
        output.result(f"    {finding.mend}")
