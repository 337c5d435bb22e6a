"""`show NAME`: one workspace: progress, its last run or the one under way, counters, settings, files."""

from __future__ import annotations

import os
import shlex
import time

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.output import foreign
from claude_iterate.core import formats
from claude_iterate.core.events import ProofChange
from claude_iterate.core.rules.completion import WAVERED
from claude_iterate.core.tones import UNPROVEN, state_words, tone
from claude_iterate.system.files import near
from claude_iterate.text import local_times, wait_lines
from claude_iterate.text.ending_lines import next_actions
from claude_iterate.text.proof_lines import CUTS, SHOWN, describe_changes, requirements_met, tail, verdict_words
from claude_iterate.views.run_totals import lost_journals, work_line
from claude_iterate.views.run_view import RunView
from claude_iterate.views.settings_view import as_words, short_count
from claude_iterate.views.story import EvidenceView, verdict
from claude_iterate.views.workspace_view import WorkspaceView, workspace_view
from claude_iterate.workspace.run_summary import ChangeView, Progress, Waiting

_TOOL = 80
"""Characters of what Claude is doing."""


@options.command("show")
def command(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show the workspace NAME."""
    project = invocation.project
    now = time.time()
    view = workspace_view(project, project.layout(name), now)
    if as_json:
        output.view(view)
        return
    _print_state(view, now)
    _print_proof(view.proof, view.running_run, _before(view))
    _print_progress(view)
    _print_next(view, shlex.join(invocation.program))
    _print_run(view, now)
    _print_worktree(view)
    _print_dry_run(view.last_dry_run, now)
    counters = view.counters
    paid = formats.cost(counters.cost_usd, counters.cost_is_lower_bound)
    spent = f"; {paid} in all" if counters.cost_usd else ""
    _aside(f"Iterations: {counters.execution} in runs, {counters.setup} in setup{spent}")
    if view.without_journal:
        output.result(f"  {output.symbol('warning')} {lost_journals(view.without_journal)}")
    if view.breaker:
        _aside(f"Breaker: {_breaker(view)}")
    _aside(f"Next run: {view.next_run}")
    _aside("Settings:" if view.settings else "Settings: all defaults")
    for item in view.settings:
        _aside(f"  {item.key} = {foreign(as_words(item.key, item.value))}  ({item.origin})")
    _aside(f"Created: {local_times.when(foreign(view.created), now) if view.created else 'unknown'}")
    _print_files(view)
    _aside(f"Log: {foreign(near(view.log) if view.log else 'none yet')}")


def _aside(line: str) -> None:
    """What is there when one looks for it."""
    output.result(output.dim(line))


def _print_state(view: WorkspaceView, now: float) -> None:
    """What it does or how it ended, in its colour; why, and what has to be known of that."""
    output.result(output.heading(f"{view.name}  ({view.mode} mode)"))
    _aside(f"  {foreign(near(view.path))}")
    output.result(output.toned(f"Status: {foreign(_status(view, now))}", tone(view.state, view.known_by), bold=True))
    if view.running_run is not None:
        dry_run = " (dry run)" if view.running_run.dry_run else ""
        output.result(f"Now{dry_run}: {foreign(_now(view.running_run, now))}")
    run = view.last_run
    if run is None:
        return
    if run.reason:
        output.result(f"  {_ended(view, run)}")
    # The last iteration's error is news only if the run did not end with it.
    error = "" if run.last_error.partition(": ")[2] in f"{run.detail}\n{run.cause}" else run.last_error
    tampering = _described(run.changes) if run.changes else ""
    evidence = run.detail if run.cause.endswith("...") else ""
    here = f" show {view.name}"  # the advice that led to this page
    advice = [line for line in run.advice.splitlines() if not line.endswith(here)]
    for line in (run.about_claim, tampering, *evidence.splitlines(), *advice, error):
        if line:
            output.result(f"  {foreign(line)}")
    for warning in run.warnings:
        output.result(f"  {output.symbol('warning')} {foreign(warning)}")


def _ended(view: WorkspaceView, run: RunView) -> str:
    """How the last run ended. Where `verify` has judged since, its word counts."""
    proof = view.proof
    if proof is None or proof.purpose != "verify" or proof.passed is None or proof.run < run.id:
        return f"Ended: {run.reason}. {foreign(run.cause)}"
    return f"The last run ended as {run.reason}; verify has found since: {foreign(verdict(proof)[0])}"


def _print_next(view: WorkspaceView, program: str) -> None:
    """The next step, and what else can be done."""
    step = view.last_run.next if view.last_run is not None else ""
    names = view.last_run is not None and bool(step and view.last_run.reason)  # the status names that of a killed run
    if names and view.state != "new_task":
        output.result(output.heading(f"  Next: {foreign(step)}"))
    proven = view.proof is not None and view.proof.passed is True and view.known_by not in UNPROVEN
    tree = view.last_run.worktree if view.last_run is not None else None
    branch = tree.branch if tree is not None else ""
    held = view.last_run is not None and view.last_run.paused and view.state == "running"
    state = "paused" if held else view.state
    known = next_actions(view.name, state, view.files["INSTRUCTIONS.md"], program, step, proven, branch)
    found = [(command, what) for command, what in known if command != step or not names]
    width = max(len(command) for command, _ in found)
    output.result("You can:")
    for command, what in found:
        output.result(f"  {command.ljust(width)}  {output.dim(what)}")


def _breaker(view: WorkspaceView) -> str:
    """`no progress 2/3 · failures 0/3 · same error 0/5`, and whether it has ended a run."""
    counted = " · ".join(f"{counter.name} {counter.count}/{counter.limit}" for counter in view.breaker)
    run = view.last_run
    if run is None or run.breaker.tripped is None:
        return counted
    step = foreign(run.next) if "--reset" in run.next else f"claude-iterate run {view.name} --reset"
    advice = output.pasteable(f"go on with: {step}")
    return f"{counted}; stopped {foreign(run.breaker.tripped)}, {advice}"


def _before(view: WorkspaceView) -> str:
    """Said of what is about instructions that were replaced."""
    return " of the task before" if view.state == "new_task" else ""


def _print_progress(view: WorkspaceView) -> None:
    """As the report has it; without a report that counts, as the last run counted it."""
    report, run = view.report, view.last_run
    in_force = not (view.is_reset or view.report_of_task_before)
    if run is not None and run.plan is not None and run.progress is not None and in_force:
        _print_plan_progress(view, run.progress)
        return
    before = " of the task before" if view.report_of_task_before else ""
    believed = view.status == "completed" and not before
    claims = report.text is not None and report.complete is True and not believed
    refuted = before or (run is not None and run.reason == "completed")
    if claims:
        output.result(f"Last report{before}: {foreign(report.text or '')}")
    if before and view.state != "new_task":
        output.result("  No run has worked on the task that the instructions describe now.")
    if report.text is not None and not claims:
        output.result(f"Progress{before}: {foreign(report.text)}")
        left = (report.total or 0) - (report.completed or 0)
        if report.total and left > 0:
            output.result(f"  {formats.plural(left, 'item')} remaining")
    elif run is not None and run.progress is not None and not (claims and refuted) and not view.is_reset:
        counted = f"{run.progress.completed}/{run.progress.total} items"
        output.result(f"Progress{before}: {counted}, as the last run counted them")
    _print_problems(view)


def _print_plan_progress(view: WorkspaceView, progress: Progress) -> None:
    """In the modes plan and build the plan counts; what the report says beside it is its words."""
    output.result(f"Progress: {progress.completed}/{progress.total} tasks of the plan")
    left = progress.total - progress.completed
    if left > 0:
        output.result(f"  {formats.plural(left, 'task')} remaining")
    if view.report.summary:
        output.result(f"  Last report: {foreign(formats.one_line(view.report.summary))}")
    _print_problems(view)


def _print_problems(view: WorkspaceView) -> None:
    for problem in view.report.problems:
        output.result(f"  {output.symbol('warning')} .status.json: {foreign(problem)}")


def _going_on(view: WorkspaceView) -> str:
    """The command of the killed run, as it was typed."""
    return foreign(view.last_run.next if view.last_run is not None else "") or f"claude-iterate run {view.name}"


def _status(view: WorkspaceView, now: float) -> str:
    run = view.last_run
    if view.status == "running":
        who = view.running_now or {}
        since = f"began {local_times.when(str(who['started']), now)}" if "started" in who else "began a moment ago"
        doing = _waiting(run.waiting, now) if run and run.waiting else view.state
        exactly = f", {doing}" if doing != "running" else ""
        paused = f", {_paused(run)}" if run and run.paused and doing != "paused" else ""
        return f"running now (pid {who.get('pid', 'unknown')}, {since}){exactly}{paused}"
    if view.copy_of is not None:
        return f"a copy of a workspace that is running now (pid {view.copy_of.pid})"
    if view.status == "interrupted":
        return f"killed: the last run has no end. Go on with: {_going_on(view)}"
    if view.state == "new_task":
        return "new task: the instructions changed since it was completed"
    return state_words(view.state, view.known_by)


def _waiting(wait: Waiting, now: float) -> str:
    why = wait_lines.words_for(wait.why).short
    return f"waiting until {local_times.day_and_time(wait.until, now)} ({why})"


def _paused(run: RunView) -> str:
    """What `pause` comes to while something is under way."""
    return "pauses after this iteration" if run.condition == "running" and run.iteration else "paused"


def _now(run: RunView, at: float) -> str:
    """`iteration 3, Bash pytest for 12s, last sign of life 2s ago`."""
    now = run.now
    assert now is not None
    if run.waiting is not None:
        return _waiting(run.waiting, at)
    parts = [_doing(run)]
    if now.tool is not None and now.tool_duration is not None:
        parts.append(f"{formats.shorten(now.tool, _TOOL, '…')} for {_whole(now.tool_duration)}")
    if run.condition != "paused":
        parts.append(f"last sign of life {_whole(now.silence)} ago")
    return ", ".join(parts)


def _doing(run: RunView) -> str:
    if run.condition == "running" and run.purpose == "run":
        return f"iteration {run.iteration}" if run.iteration else "between two iterations"
    return f"{run.condition}, iteration {run.iteration}" if run.iteration else run.condition


def _whole(seconds: float) -> str:
    return f"{int(seconds)}s" if seconds < 60 else formats.duration(seconds)


def _words(why: str) -> str:
    return why.replace("_", " ")


def _print_run(view: WorkspaceView, now: float) -> None:
    run = view.last_run
    if run is None:
        ran = view.last_run_at if view.state != "new" else None  # the original kept no journal
        _aside(f"Last run: {local_times.when(foreign(ran), now)}, without a journal" if ran else "Last run: never")
        return
    title = "This run" if run.now is not None else "Last run"
    mode = f" ({run.mode} mode)" if run.mode != view.mode else ""
    mode += ", before the reset" if view.is_reset else ""
    _aside(f"{title}{mode}: {run.id}, began {local_times.when(run.started or '', now)}")
    if run.plan is not None:
        counts = run.plan
        doing = f", {counts.doing} under way" if counts.doing else ""
        _aside(f"  Plan: {counts.done} done{doing}, {counts.open} open")
    paid = formats.cost(run.cost_usd, run.cost_is_lower_bound)
    cost = f", {paid}" if run.cost_usd else ", cost not known" if run.cost_is_lower_bound else ""
    # A run that goes on after a kill may have done more than its own limit.
    most = f" of at most {run.max_iterations}" if run.max_iterations and run.iterations <= run.max_iterations else ""
    noun = "iteration" if (run.max_iterations if most else run.iterations) == 1 else "iterations"
    so_far = " so far" if run.now is not None else ""
    _aside(f"  {run.iterations}{most} {noun}, {formats.duration(run.duration)}{cost}{so_far}")
    if run.totals is not None and (work := work_line(run.totals)):
        _aside(f"  {work}")
    tokens = run.tokens
    if any((tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation)):
        _aside(
            f"  Tokens: {short_count(tokens.input)} in, {short_count(tokens.output)} out,"
            f" {short_count(tokens.cache_read)} read from the cache, {short_count(tokens.cache_creation)} written to it"
        )


def _print_worktree(view: WorkspaceView) -> None:
    """Its branch, and how to merge it when there is something to merge."""
    tree = view.last_run.worktree if view.last_run is not None else None
    if tree is None:
        return
    there = os.path.isdir(tree.path)  # noqa: PTH112 - Path.is_dir may raise
    _aside(f"Worktree: branch {foreign(tree.branch)}{f', in {foreign(tree.path)}' if there else ''}")
    if view.merge:
        _aside(f"  {'Commit and merge it' if ' && ' in view.merge else 'Merge it'}: {foreign(view.merge)}")


def _print_dry_run(run: RunView | None, now: float) -> None:
    """One line: a dry run changed nothing."""
    if run is None:
        return
    what = f"{run.purpose}, " if run.purpose != "run" else ""
    ended = run.reason or ("under way" if run.now is not None else "cut off")
    count = f"{formats.plural(run.iterations, 'iteration')}, " if run.purpose == "run" else ""
    began = local_times.when(run.started or "", now)
    _aside(f"Last dry run: {run.id}, {what}began {began}, {count}{ended}; it changed nothing here")


def _print_proof(proof: EvidenceView | None, live: RunView | None, before: str) -> None:
    """The evidence, check by check."""
    if proof is None:
        return
    words, look = verdict(proof)
    if proof.passed is None:
        words = "under way" if live is not None and live.id == proof.run else "it was cut off"
    tree = f", tree {proof.tree[:12]}" if proof.tree else ""
    claim = f", claim {proof.claim}" if proof.purpose == "run" else ""
    first = output.toned(f"Proof{before}: {foreign(words)}", look)
    output.result(f"{first} {output.dim(f'(run {proof.run}{claim}{tree})')}")
    for check in proof.checks:
        how = f"exit code {check.exit_code}" if check.exit_code is not None else CUTS.get(check.cut, "not run")
        how += f", {formats.join_names(check.gone)} is gone" if check.gone and check.exit_code != 0 else ""
        sign = output.symbol("good" if check.exit_code == 0 else "bad")
        flaky = ", flaky: it ended in another way before, and no file changed since" if check.flaky else ""
        output.result(f"  {sign} {foreign(check.command)}: {how} ({formats.duration(check.duration)}){flaky}")
        for line in tail(check.output, SHOWN, "in the log") if check.exit_code != 0 else ():
            output.result(f"      {foreign(line)}")
    review = proof.review
    if review is not None:
        sign = output.symbol("good" if review.verdict == "verified" else "bad")
        summary = f" - {foreign(review.summary)}" if review.summary else ""
        output.result(
            f"  {sign} review: {verdict_words(review.verdict)}{requirements_met(review.requirements)}{summary}"
        )
        for item in review.findings:
            output.result(f"      - {foreign(item)}")
    if proof.wavered:
        output.result(f"  {output.symbol('warning')} {WAVERED}")


def _described(changes: tuple[ChangeView, ...]) -> str:
    """The changes in the words of the closing message."""
    return describe_changes([ProofChange(one.kind, one.path, one.how, earlier=one.earlier) for one in changes])


def _print_files(view: WorkspaceView) -> None:
    """Those that are there, and those that are not."""
    there = [file for file, is_there in view.files.items() if is_there]
    missing = [file for file, is_there in view.files.items() if not is_there and file != "INSTRUCTIONS.md"]
    _aside(f"Files: {', '.join(there)}{f' (not there: {formats.join_names(missing, 9)})' if missing else ''}")
    if not view.files["INSTRUCTIONS.md"]:
        output.result(output.toned("  INSTRUCTIONS.md is missing", "bad"))
