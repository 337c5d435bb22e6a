"""`validate NAME`: let Claude grade the instructions. The verdict is computed from the grades of this very call."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.cli import options, output, run_options
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.events import OneOffCallFinished
from claude_iterate.core.formats import join_names
from claude_iterate.core.reports import validation
from claude_iterate.operations.launch import launch
from claude_iterate.system import untrusted_files
from claude_iterate.system.files import near

_MEANING = {
    validation.READY: "Claude can work from these instructions.",
    validation.NEEDS_REVISION: "Improve them first: claude-iterate edit {name}",
    validation.MAJOR_ISSUES: "Claude could not work from them. Improve them: claude-iterate edit {name}",
    validation.INVALID: "{problem}. Try again: claude-iterate validate {name}",
}


@options.command("validate")
@options.verbose_option
@options.flag("-q", "--quiet", help="Show the verdict and errors only.")
@run_options.dry_run_option
def command(invocation: Invocation, name: str, verbose: bool, quiet: bool, dry_run: bool) -> int:
    """Have Claude grade the instructions of the workspace NAME by ten criteria, seven of them required.

    The report is validation-report.md in the workspace. Exit code 0 only for the verdict READY.
    """
    layout = invocation.project.layout(name)
    shown = {"verbose": verbose, "quiet": quiet}
    asked = run_options.run_request(invocation, "validate", report="validation-report.md", dry_run=dry_run, **shown)
    done = launch(invocation.project, layout, asked, TerminalUser())
    report, found = None, validation.Validation(validation.INVALID, "the call of Claude failed")
    graded = done.state.one_off
    if graded is not None and (graded.trouble or not done.exit_code):
        report, found = _judge(graded, done.report, name)
    code = done.exit_code or (0 if found.verdict == validation.READY else 1)
    changed = graded.changed if graded is not None else ()
    if output.wants_json():
        judged = {"verdict": found.verdict, "exitCode": code, "report": report, "path": str(done.report)}
        output.document({"workspace": name, **judged, "changed": list(changed)})
    elif report is not None and not quiet:
        _print(found, done.report)
    if changed:
        output.warn(f"The project changed while Claude was only to look: {output.sanitize(join_names(changed))}")
    # Of a call that failed, its end has said why, and what next.
    if found.verdict != validation.INVALID or not done.exit_code:
        _tell(name, found, dry_run)
    return code


def _judge(graded: OneOffCallFinished, path: Path, name: str) -> tuple[str | None, validation.Validation]:
    """The report of this call and its verdict."""
    if graded.trouble:
        return None, validation.Validation(validation.INVALID, graded.trouble)
    if any(Path(changed).name == "INSTRUCTIONS.md" for changed in graded.changed):
        return None, validation.Validation(validation.INVALID, "the instructions changed while they were graded")
    found = validation.judge_grades(graded.structured or {})
    report = validation.render_grades(found, name)
    untrusted_files.write_text(path, report)
    return report, found


_KINDS = {validation.PASS: "good", validation.PARTIAL: "warning"}


def _print(found: validation.Validation, path: Path) -> None:
    """A line for each criterion, and where the report is."""
    for grade, line in validation.grade_lines(found):
        output.result(f"  {output.symbol(_KINDS.get(grade, 'bad'))} {output.sanitize(line)}")
    output.result(output.dim(f"  Report: {output.sanitize(near(path))}"))


def _tell(name: str, found: validation.Validation, dry_run: bool) -> None:
    if dry_run:
        output.note(f"Dry run: the stand-in graded nothing. For a verdict: claude-iterate validate {name}")
        return
    kind = {validation.READY: "good", validation.NEEDS_REVISION: "warning"}.get(found.verdict, "bad")
    verdict = "No verdict" if found.verdict == validation.INVALID else found.verdict
    text = f"{verdict}: {_MEANING[found.verdict].format(name=name, problem=found.problem)}"
    if output.wants_json():
        output.note(text)
    else:
        output.result(f"{output.symbol(kind)} {text}")
