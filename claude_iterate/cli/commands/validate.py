"""`validate NAME`: let Claude grade the instructions. Only a report written in this call counts."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import dry_run_option, json_option, layer_from_options, name_argument, output_level
from claude_iterate.core.reports import validation
from claude_iterate.workspace.files import atomic, foreign
from claude_iterate.workspace.files.foreign import Snapshot
from claude_iterate.workspace.layout import Layout

_REPORT = "validation-report.md"
_MEANING = {
    validation.READY: "Claude can work from these instructions.",
    validation.NEEDS_REVISION: "Improve them first: claude-iterate edit {name}",
    validation.MAJOR_ISSUES: "Claude could not work from them. Improve them: claude-iterate edit {name}",
    validation.INVALID: "{problem}. Try again: claude-iterate validate {name}",
}


@click.command("validate")
@name_argument
@click.option("-v", "--verbose", is_flag=True, help="Show Claude's words and tools as they come.")
@click.option("-q", "--quiet", is_flag=True, help="Show the verdict and errors only.")
@dry_run_option
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, verbose: bool, quiet: bool, dry_run: bool, as_json: bool) -> int:
    """Let Claude grade the instructions of the workspace NAME by ten criteria, seven of them required.

    The report is validation-report.md in the workspace. Exit code 0 only for the verdict READY.
    """
    from claude_iterate.cli.terminal.terminal_user import TerminalUser
    from claude_iterate.operations.launch import launch
    from claude_iterate.operations.run_options import Options

    layout = invocation.project.layout(name)
    path = layout.folder / _REPORT
    before = foreign.snapshot(path)
    options = Options(
        flags=layer_from_options({"output": output_level(verbose, quiet)}),
        dry_run=dry_run,
        as_json=as_json,
        color=invocation.color,
        purpose="validate",
        prompt_values={"report_path": str(path)},
    )
    done = launch(invocation.project, layout, options, TerminalUser())
    if done.exit_code:
        report, found = None, validation.Validation(validation.INVALID, "the call of Claude failed")
    else:
        report, found = _judged(layout, before, done.state.one_off.text if done.state.one_off else "")
    code = done.exit_code or (0 if found.verdict == validation.READY else 1)
    if as_json:
        output.document(
            {"workspace": name, "verdict": found.verdict, "exitCode": code, "report": report, "path": str(path)}
        )
    elif report is not None and not quiet:
        output.result(f"\n{output.foreign(report.rstrip())}\n")
    _tell(name, found, as_json)
    return code


def _judged(layout: Layout, before: Snapshot, said: str) -> tuple[str | None, validation.Validation]:
    """The report of this call and its verdict. Claude's answer may stand in for a file that it did not write."""
    path = layout.folder / _REPORT
    after = foreign.snapshot(path)
    if after.data is not None and after.is_newer_than(before):
        report = after.data.decode("utf-8", "replace")
    elif validation.holds_verdict(said):
        report = said.rstrip() + "\n"
        atomic.write_text(path, report)
    else:
        return None, validation.Validation(validation.INVALID, "Claude wrote no report")
    return report, validation.read(report)


def _tell(name: str, found: validation.Validation, as_json: bool) -> None:
    kind = {validation.READY: "good", validation.NEEDS_REVISION: "warning"}.get(found.verdict, "bad")
    verdict = "No verdict" if found.verdict == validation.INVALID else found.verdict
    text = f"{verdict}: {_MEANING[found.verdict].format(name=name, problem=found.problem)}"
    if as_json:
        output.note(text)
    else:
        output.result(f"{output.symbol(kind)} {text}")
