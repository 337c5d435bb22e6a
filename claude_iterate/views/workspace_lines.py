"""All there is to know of a workspace as lines for people: what `show` prints."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Literal

from claude_iterate.core import formats
from claude_iterate.core.tones import UNPROVEN, Line, state_words, tone
from claude_iterate.system.files import near
from claude_iterate.text import local_times
from claude_iterate.text.proof_lines import SHOWN, check_result, describe_changes, review_result, tail
from claude_iterate.text.run_lines import WAITS
from claude_iterate.views.history_view import lost_journals, work_line
from claude_iterate.views.run_view import RunView
from claude_iterate.views.settings_view import as_words, short_count
from claude_iterate.views.story import EvidenceView, verdict
from claude_iterate.views.workspace_view import WorkspaceView
from claude_iterate.workspace.run_folder.run_lock import Holder

_TOOL = 80
"""Characters of what Claude is doing."""
_RUNNING = (
    ("logs {name} --follow", "watch it"),
    ('note {name} "..."', "tell the next iteration something"),
)
_BEGIN = (("run {name}", "begin"), ("validate {name}", "let Claude grade the instructions"))
_AFTER = (
    ("report {name}", "the whole task on one page"),
    ("history {name}", "time and cost of each iteration"),
    ("logs {name}", "everything that Claude did"),
)
_STEER = (*_RUNNING, ("pause {name}", "hold after this iteration"), ("stop {name}", "end after this iteration"))
ACTIONS = {
    "new": _BEGIN,
    "new_task": (*_BEGIN, *_AFTER),
    **dict.fromkeys(("starting", "running", "verifying"), _STEER),
    "stopping": (("stop {name} --now", "end it at once"), *_RUNNING[:1]),
    "paused": (("resume {name}", "continue"), ("stop {name}", "end the run"), *_RUNNING),
    "waiting": (("retry {name}", "try now"), ("stop {name}", "end the run"), *_RUNNING),
    "copy": (("reset {name}", "start again here, beside the original"), *_AFTER),
    "planned": (
        ("build {name}", "work off the plan"),
        ("plan {name} --show", "see the tasks"),
        ("plan {name}", "plan again"),
        *_AFTER,
    ),
    "completed": (*_AFTER, ("verify {name}", "prove it"), ("archive save {name}", "put it away")),
}
CONTINUE = (("run {name}", "continue"), *_AFTER, ("edit {name}", "improve the instructions"))
"""Commands and what they are for, the likeliest first."""


def workspace_lines(view: WorkspaceView, now: float, program: str, paste: Callable[[str], str]) -> Iterator[Line]:
    """The whole page. `program` is how we are called; `paste` makes commands work from the current folder."""
    yield from _state(view, now)
    if view.proof is not None:
        yield from _proof(view.proof, view)
    yield from _progress(view)
    yield from _next(view, program)
    yield from _last_run(view, now)
    if view.last_dry_run is not None:
        yield _dim(_dry_run(view.last_dry_run, now))
    counters = view.counters
    paid = formats.cost(counters.cost_usd, counters.cost_is_lower_bound)
    spent = f"; {paid} in all" if counters.cost_usd else ""
    yield _dim(f"Iterations: {counters.execution} in runs, {counters.setup} in setup{spent}")
    if view.without_journal:
        yield Line(lost_journals(view.without_journal), sign="warning")
    if view.breaker:
        yield _dim(f"Breaker: {_breaker(view, paste)}")
    yield _dim(f"Next run: {view.next_run}")
    yield _dim("Settings:" if view.settings else "Settings: all defaults")
    for item in view.settings:
        yield _dim(f"  {item.key} = {as_words(item.key, item.value)}  ({item.origin})")
    yield _dim(f"Created: {local_times.when(view.created, now) if view.created else 'unknown'}")
    there = [file for file, is_there in view.files.items() if is_there]
    missing = [file for file, is_there in view.files.items() if not is_there and file != "INSTRUCTIONS.md"]
    yield _dim(f"Files: {', '.join(there)}{f' (not there: {formats.join_names(missing, 9)})' if missing else ''}")
    if not view.files["INSTRUCTIONS.md"]:
        yield Line("  INSTRUCTIONS.md is missing", "bad")
    yield _dim(f"Log: {near(view.log) if view.log else 'none yet'}")


def _dim(text: str) -> Line:
    return Line(text, dim=True)


def _state(view: WorkspaceView, now: float) -> Iterator[Line]:
    """What it does or how it ended, in its colour; why, and what has to be known of that."""
    yield Line(f"{view.name}  ({view.mode} mode)", bold=True)
    yield _dim(f"  {near(view.path)}")
    yield Line(f"Status: {_status(view, now)}", tone(view.state, view.known_by), bold=True)
    if view.running_run is not None:
        yield Line(f"Now{' (dry run)' if view.running_run.dry_run else ''}: {_now(view.running_run, now)}")
    run = view.last_run
    if run is None:
        return
    proof = view.proof
    judged_since = proof is not None and proof.purpose == "verify" and proof.passed is not None and proof.run > run.id
    if run.reason and proof is not None and judged_since:
        yield Line(f"  The last run ended as {run.reason}; verify has found since: {verdict(proof)[0]}")
    elif run.reason:
        yield Line(f"  Ended: {run.reason}. {run.cause}")
    # The last iteration's error is news only if the run did not end with it.
    error = "" if run.last_error.partition(": ")[2] in f"{run.detail}\n{run.cause}" else run.last_error
    tampering = describe_changes(run.changes)
    evidence = run.detail if run.cause.endswith("...") else ""
    here = f" show {view.name}"  # the advice that led to this page
    advice = [line for line in run.advice.splitlines() if not line.endswith(here)]
    for line in (run.about_claim, tampering, *evidence.splitlines(), *advice, error):
        if line:
            yield Line(f"  {line}")
    for warning in run.warnings:
        yield Line(warning, sign="warning")


def _status(view: WorkspaceView, now: float) -> str:
    run = view.last_run
    if view.status == "running":
        who = view.running_now or Holder()
        since = f"began {local_times.when(who.started, now)}" if who.started else "began a moment ago"
        exactly = f", {view.state}" if view.state != "running" else ""
        return f"running now (pid {who.pid or 'unknown'}, {since}){exactly}"
    if view.copy_of is not None:
        return f"a copy of a workspace that is running now (pid {view.copy_of.pid})"
    if view.status == "interrupted":
        step = (run.next if run is not None else "") or f"claude-iterate run {view.name}"
        return f"killed: the last run has no end. Continue: {step}"
    if view.state == "new_task":
        return "new task: the instructions changed since it was completed"
    return state_words(view.state, view.known_by)


def _now(run: RunView, at: float) -> str:
    """`iteration 3, Bash pytest for 12s, last sign of life 2s ago`."""
    now, wait = run.now, run.waiting
    assert now is not None
    pauses = "pauses after this iteration" if run.iteration else "paused"
    then = f", {pauses}" if run.paused and run.condition != "paused" else ""
    if wait is not None:
        return f"waiting until {local_times.day_and_time(wait.until, at)}: {WAITS.get(wait.why, wait.why)}{then}"
    doing = f"{run.condition}, iteration {run.iteration}" if run.iteration else run.condition
    if run.condition == "running" and run.purpose == "run":
        doing = f"iteration {run.iteration}" if run.iteration else "between two iterations"
    parts = [doing]
    if now.tool is not None and now.tool_duration is not None:
        parts.append(f"{formats.shorten(now.tool, _TOOL, '…')} for {formats.age(now.tool_duration)}")
    if run.condition != "paused":
        parts.append(f"last sign of life {formats.age(now.silence)} ago")
    return ", ".join(parts) + then


def _proof(proof: EvidenceView, view: WorkspaceView) -> Iterator[Line]:
    """The evidence, check by check."""
    words, look = verdict(proof)
    live = view.running_run
    if proof.passed is None:
        words = "under way" if live is not None and live.id == proof.run else "it was cut off"
    before = _proof_before(view)
    look = "plain" if before else look
    tree = f", tree {proof.tree[:12]}" if proof.tree else ""
    claim = f", claim {proof.claim}" if proof.purpose == "run" else ""
    yield Line(f"Proof{before}: {words}", look, aside=f"(run {proof.run}{claim}{tree})")
    for check in proof.checks:
        flaky = ", flaky: it ended in another way before, and no file changed since" if check.flaky else ""
        sign: Literal["good", "bad"] = "good" if check.code == 0 else "bad"
        yield Line(f"{check.command}: {check_result(check)}{flaky}", sign=sign)
        if sign == "bad":
            yield from (Line(f"      {line}") for line in tail(check.output, SHOWN))
    review = proof.review
    if review is not None:
        yield Line(f"review: {review_result(review)}", sign="good" if review.verdict == "verified" else "bad")
        yield from (Line(f"      - {item}") for item in review.findings)


def _proof_before(view: WorkspaceView) -> str:
    """What the proof is of, where it is not of the task and the work as they are now. A run that did no work leaves the
    task completed, and its proof stands."""
    if view.state == "new_task":
        return " of the task before"
    run, proof = view.last_run, view.proof
    overtaken = run is not None and proof is not None and proof.run < run.id and view.status != "completed"
    return " of the run before" if overtaken else ""


def _progress(view: WorkspaceView) -> Iterator[Line]:
    """As `list` has it, and the last report."""
    report, run, found = view.report, view.last_run, view.progress
    if found is not None:
        noun, of = ("task", " of the plan") if run is not None and run.plan is not None else ("item", "")
        left = found.total - found.completed
        yield Line(f"Progress: {found.completed}/{found.total} {noun}s{of}")
        if left > 0:
            yield Line(f"  {formats.plural(left, noun)} remaining")
    if report.text is not None:
        yield Line(f"Last report{' of the task before' if view.report_of_task_before else ''}: {report.text}")
    if view.report_of_task_before and view.state != "new_task":
        yield Line("  No run has worked on the task that the instructions describe now.")
    for problem in report.problems:
        yield Line(f".status.json: {problem}", sign="warning")


def _next(view: WorkspaceView, program: str) -> Iterator[Line]:
    """The next step, and what else can be done."""
    run = view.last_run
    step = run.next if run is not None else ""
    names = run is not None and bool(step and run.reason)  # the status names that of a killed run
    if names and view.state != "new_task":
        yield Line(f"  Next: {step}", bold=True)
    stands = view.proof is not None and view.proof.passed is True and not _proof_before(view)
    proven = stands and view.known_by not in UNPROVEN
    state = "paused" if run is not None and run.paused and view.state == "running" else view.state
    actions = ACTIONS.get(state, CONTINUE)
    if not view.files["INSTRUCTIONS.md"]:
        actions = (("setup {name}", "write the instructions"),)
    there = f" --worktree={shlex.quote(run.worktree.branch)}" if run is not None and run.worktree is not None else ""
    known = [
        (f"{program} {command.format(name=view.name)}{there if command.startswith('verify') else ''}", what)
        for command, what in actions
        if not (proven and command.startswith("verify"))
    ]
    if step and actions is CONTINUE:
        known[0] = step, "the next step"
    found = [(command, what) for command, what in known if command != step or not names]
    width = max(len(command) for command, _ in found)
    yield Line("You can:")
    for command, what in found:
        yield Line(f"  {command.ljust(width)} ", aside=what)


def _last_run(view: WorkspaceView, now: float) -> Iterator[Line]:
    run = view.last_run
    if run is None:
        ran = view.last_run_at if view.state != "new" else None  # the original kept no journal
        yield _dim(f"Last run: {local_times.when(ran, now)}, without a journal" if ran else "Last run: never")
        return
    title = "This run" if run.now is not None else "Last run"
    mode = f" ({run.mode} mode)" if run.mode != view.mode else ""
    mode += ", before the reset" if view.is_reset else ""
    yield _dim(f"{title}{mode}: {run.id}, began {local_times.when(run.started or '', now)}")
    paid = formats.cost(run.cost_usd, run.cost_is_lower_bound)
    cost = f", {paid}" if run.cost_usd else ", cost not known" if run.cost_is_lower_bound else ""
    most = f" of at most {run.max_iterations}" if run.max_iterations else ""
    so_far = " so far" if run.now is not None else ""
    yield _dim(f"  {formats.plural(run.iterations, 'iteration')}{most}, {formats.duration(run.duration)}{cost}{so_far}")
    if run.totals is not None and (work := work_line(run.totals)):
        yield _dim(f"  {work}")
    tokens = run.tokens
    if tokens.total:
        yield _dim(
            f"  Tokens: {short_count(tokens.input)} in, {short_count(tokens.output)} out,"
            f" {short_count(tokens.cache_read)} read from the cache, {short_count(tokens.cache_creation)} written to it"
        )
    if run.worktree is not None:
        there = os.path.isdir(run.worktree.path)  # noqa: PTH112 - Path.is_dir may raise
        yield _dim(f"Worktree: branch {run.worktree.branch}{f', in {run.worktree.path}' if there else ''}")
    if view.merge:
        yield _dim(f"  {'Commit and merge it' if ' && ' in view.merge else 'Merge it'}: {view.merge}")


def _dry_run(run: RunView, now: float) -> str:
    """One line: a dry run changed nothing."""
    what = f"{run.purpose}, " if run.purpose != "run" else ""
    ended = run.reason or ("under way" if run.now is not None else "cut off")
    count = f"{formats.plural(run.iterations, 'iteration')}, " if run.purpose == "run" else ""
    began = local_times.when(run.started or "", now)
    return f"Last dry run: {run.id}, {what}began {began}, {count}{ended}; it changed nothing here"


def _breaker(view: WorkspaceView, paste: Callable[[str], str]) -> str:
    """`no progress 2/3 · failures 0/3 · same error 0/5`, and whether it has ended a run."""
    counters = " · ".join(f"{counter.name} {counter.count}/{counter.limit}" for counter in view.breaker)
    run = view.last_run
    if run is None or run.breaker.tripped is None:
        return counters
    step = run.next if "--reset" in run.next else f"claude-iterate run {view.name} --reset"
    return f"{counters}; stopped {run.breaker.tripped}, {paste(f'continue with: {step}')}"
