"""`doctor`: checks this computer and this project, and says how to fix what is wrong; `--fix` does what it can."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.formats import plural
from claude_iterate.operations import doctor

_SYMBOL = {"ok": "good", "warning": "warning", "problem": "bad"}


@options.command("doctor", workspace=False)
@options.flag("--fix", help="End and remove what killed runs left behind; rebuild torn metadata.")
def command(invocation: Invocation, fix: bool) -> int:
    """Check Claude, git, folders, settings and workspaces, and say how to fix what is wrong. Exit code 1: there is a
    problem to fix."""
    project = replace(invocation, warns=False).project  # a check names unknown variables
    fixed = doctor.fix(project) if fix else []
    # What could not be fixed is found again by its check.
    findings = doctor.examine(project)
    problems = sum(finding.state == "problem" for finding in (*fixed, *findings))
    if output.wants_json():
        done = {"fixed": [finding.document for finding in fixed]} if fix else {}
        output.document({"ok": problems == 0, **done, "checks": [finding.document for finding in findings]})
        return 1 if problems else 0
    for finding in (*fixed, *findings):
        output.result(f"{output.symbol(_SYMBOL[finding.state])} {finding.check}: {output.sanitize(finding.message)}")
        if finding.fix:
            output.result(f"    {output.sanitize(finding.fix)}")
    warnings = sum(finding.state == "warning" for finding in findings)
    others = f"No errors, {plural(warnings, 'warning')}." if warnings else "No errors."
    output.note(f"\n{plural(problems, 'problem')} to fix." if problems else f"\n{others}")
    return 1 if problems else 0
