"""`verify NAME`: prove the claim of completion: our checks, then Claude's review with fresh context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from claude_iterate.cli import options, output, run_options
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.redact import Redactor
from claude_iterate.core.settings.kinds import OWN_FILES
from claude_iterate.core.tones import CHANGED
from claude_iterate.engine.prompt_texts import read_instructions
from claude_iterate.errors import UsageProblem
from claude_iterate.operations.launch import launch
from claude_iterate.system import untrusted_files
from claude_iterate.views import documents
from claude_iterate.views.story import EvidenceView, RunRecords
from claude_iterate.workspace.layout import Layout


@options.command("verify")
@run_options.setting_option("verification.depth", "--depth", metavar="DEPTH", more="quick, standard or deep.")
@click.option(
    "--report-path",
    metavar="FILE",
    type=click.Path(readable=False),
    help="Where the review's report goes, relative to the workspace.",
)
@run_options.setting_option("worktree", "--worktree", metavar="[BRANCH]", otherwise="auto")
@options.flag("--checks-only", help="Run the checks alone: no review, no cost, no Claude.")
@options.flag("--show-report", help="Print the review's report.")
@options.verbose_option
@options.quiet_option
@run_options.dangerous_option
@run_options.accept_option
@run_options.dry_run_option
def command(invocation: Invocation, /, name: str, report_path: str | None, show_report: bool, **given: Any) -> int:
    """Prove that the task NAME is done: run the checks, then have Claude review the work with fresh context.

    Exit code 0 only if the checks pass and the review says yes; with --checks-only if the checks pass. A dry run proves
    nothing, and ends with 0, too. If a run changed what defines the proof, that must be undone or accepted first; until
    then the exit code is 1.
    """
    alone = {"--checks-only": given["checks_only"], "--dry-run": given["dry_run"]}
    options.choose_one(alone, "A dry run runs no checks.")
    project = invocation.project
    layout = project.layout(name)
    read_instructions(layout)
    report = _report_path(layout, report_path, given["dry_run"]) if report_path else ""
    request = run_options.run_request(invocation, "verify", report=report, **given)
    done = launch(project, layout, request, TerminalUser())
    proof = RunRecords(layout).story(done.run).last_proof or EvidenceView(done.run)
    text = _report(proof, Redactor(project.environ)) if show_report or output.wants_json() else None
    changed = done.state.finished is not None and done.state.finished.known_by == CHANGED
    code = done.exit_code or int(changed)
    if output.wants_json():
        output.view(documents.ended_verification(name, code, done.state, proof, text))
    elif text is not None:
        output.result(output.sanitize(text))
    return code


def _report_path(layout: Layout, given: str, dry_run: bool) -> str:
    """Where the report goes: a relative path stays in the workspace, and none may name what is used otherwise."""
    folder = layout.folder
    path = untrusted_files.settle(folder / given, folder, layout.root)
    relative = path.relative_to(folder) if path.is_relative_to(folder) else None
    if relative is None and not Path(given).is_absolute():
        raise UsageProblem(
            f"--report-path {given} leads out of the workspace.", "Give an absolute path to write there."
        )
    is_ours = relative is not None and (not relative.parts or relative.parts[0].lower() in OWN_FILES)
    if is_ours or untrusted_files.is_folder(path):
        raise UsageProblem(f"--report-path {given} is used for something else.", "Choose another name.")
    if not dry_run:  # which has its report in its own copy of the workspace
        untrusted_files.make_folder(path.parent, parents=True)
    return str(path)


def _report(proof: EvidenceView, redactor: Redactor) -> str | None:
    """The text of the review's report, if it wrote one that counts."""
    review = proof.review
    if review is None or review.verdict not in {"verified", "incomplete"}:
        return None
    found = untrusted_files.read(Path(review.report))
    return redactor.clean(found.decode("utf-8", "replace")) if found is not None else None
