"""`run`, and `plan` and `build`, which are `run` in another mode. This file turns options into a request; `launch` does
the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
from msgspec.structs import replace

from claude_iterate.cli import completion, options, output, run_options
from claude_iterate.cli.commands.attach import AttachedTerminal
from claude_iterate.cli.commands.watch import watch_runs
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.many import run_many
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.formats import plural
from claude_iterate.core.reports.plan_tasks import DOING, DONE
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import UsageProblem
from claude_iterate.operations import run_checks
from claude_iterate.operations.launch import RunResult, launch
from claude_iterate.system import front_process
from claude_iterate.system.front_process import Worker
from claude_iterate.views import documents
from claude_iterate.views.plan_view import PlanView, plan_view
from claude_iterate.workspace.layout import Layout

_JSON = "Print one JSON document about the run on standard output."
_BOXES = {DOING: "[~]", DONE: "[x]"}
_SECTIONS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "Limits (TIME is 90, 90s, 5m or 1h30m)": (
        run_options.setting_option("max_iterations", "-m", "--max-iterations"),
        run_options.setting_option("delay", "-d", "--delay", metavar="TIME"),
        options.flag("--no-delay", help="Do not pause between iterations."),
        run_options.setting_option("stagnation_threshold", "--stagnation-threshold"),
        run_options.setting_option("claude.max_turns", "--max-turns"),
        run_options.setting_option("limits.max_cost_usd", "--max-cost", metavar="USD"),
        run_options.setting_option("limits.max_duration", "--max-duration", metavar="TIME"),
    ),
    "What Claude may do": (
        run_options.setting_option("claude.permission_mode", "--permission-mode", metavar="MODE"),
        click.option(
            "--allow", multiple=True, metavar="TOOL", help="Allow a tool, for example 'Bash(npm test:*)'. Repeatable."
        ),
        run_options.dangerous_option,
        run_options.setting_option("sandbox.kind", "--sandbox", metavar="KIND", more="none, bwrap, docker or podman."),
        run_options.setting_option("worktree", "--worktree", metavar="[BRANCH[:BASE]]", otherwise="auto"),
    ),
    "Proof": (
        run_options.check_option,
        options.switch(
            "--verify", "verification__auto_verify", help="Let Claude review a completion claim before it counts."
        ),
        run_options.accept_option,
    ),
    "Claude": (
        run_options.setting_option("claude.model", "--model", metavar="NAME"),
        run_options.setting_option("session", "--session", metavar="MODE", more="fresh or resume."),
    ),
    "Run again, or try it out": (
        options.flag("--reset", help="Continue after the breaker stopped the task; its counters restart at 0."),
        run_options.dry_run_option,
        click.option(
            "--cassette",
            metavar="RUN",
            shell_complete=completion.runs,
            help="With --dry-run: play this recorded run (its id or number) instead of Claude.",
        ),
        options.flag("--again", help="Run a task even if it is completed."),
    ),
    "While it runs": (
        options.switch("--attended", help="Ask on the terminal before each iteration: go, skip, note, stop."),
        options.flag("--detach", help="Run it without this terminal; `attach` shows it."),
        options.flag("--watch", help="Run it without this terminal, and open `watch` on it."),
    ),
    "Output": (
        options.verbose_option,
        options.quiet_option,
        run_options.setting_option("output", "--output", metavar="LEVEL", more="quiet, progress or verbose."),
        run_options.detailed_option,
    ),
}
"""The options that `run`, `plan` and `build` share, in the order of the help page."""
_TITLES = {"json": "Output"} | {
    click.command()(option(lambda: None)).params[0].name: title
    for title, section in _SECTIONS.items()
    for option in section
}
"""The section of each option, by the name of its parameter."""


def run_flags(function: options.Function) -> options.Function:
    """Declare them."""
    for option in reversed([option for section in _SECTIONS.values() for option in section]):
        function = option(function)
    return function


class RunCommand(click.Command):
    """`run`, `plan` and `build`: their help shows the options in sections. What is one command's own comes last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, "Other")}
        for option in self.get_params(ctx):
            row = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if row is not None:
                rows[_TITLES.get(option.name, "Other")].append(row)
        for title, found in rows.items():
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


@options.command("run", workspace=False, cls=RunCommand, json=_JSON)
@options.names_argument
@options.flag("--all", "every", help="Run all workspaces of the project, each in a process of its own.")
@click.option("--parallel", type=options.whole(0), default=0, metavar="N", help="Run at most N at a time; 0 = all.")
@run_flags
def run(invocation: Invocation, /, name: tuple[str, ...], every: bool, parallel: int, **given: Any) -> int:
    """Run Claude in a loop until the task NAME is done; several tasks run in a process each.

    The first Ctrl-C lets the iteration finish, the second ends it now. Key d detaches the run from this terminal.

    \b
    Examples:
      claude-iterate run my-task                     until done, at most 50 iterations
      claude-iterate run my-task --output verbose    watch every tool
      claude-iterate run my-task -m 5 --max-cost 3   a careful start
      claude-iterate run my-task --dry-run           try it without Claude
      claude-iterate run one two --parallel 2        several at once; --all for every workspace
    """
    if not every and len(name) <= 1:
        context = click.get_current_context()
        return _run_one(invocation, *(name or [options.choose_workspace(context, context.command.params[0])]), **given)
    if way := _way(given):
        which = "--all" if every else " ".join(name)
        raise UsageProblem(f"--{way} is for one run.", f"For several: nohup claude-iterate run {which} &")
    return _run_several(invocation, name, every, parallel, _request(invocation, **given))


@options.command("plan", cls=RunCommand, json=_JSON)
@run_flags
@options.flag("--show", help="Print how the plan stands; Claude is not called.")
def plan(invocation: Invocation, /, name: str, show: bool, **given: Any) -> int:
    """Make or update IMPLEMENTATION_PLAN.md of NAME from its instructions, the specifications and the code.

    It is `run` in plan mode: nothing is implemented. `build NAME` carries out the plan.

    \b
    Examples:
      claude-iterate plan my-task             make the plan, at most 5 iterations
      claude-iterate plan my-task --show      tasks by state, and by specification
      claude-iterate plan my-task --dry-run   try it without Claude
    """
    if not show:
        return _run_one(invocation, name, mode="plan", **given)
    view = plan_view(invocation.project, invocation.project.layout(name))
    if output.wants_json():
        output.view(view)
    else:
        _print_plan(view)
    return 1 if view.problem else 0


@options.command("build", cls=RunCommand, json=_JSON)
@run_flags
def build(invocation: Invocation, /, name: str, **given: Any) -> int:
    """Carry out the plan of NAME, one task per iteration, until no task is open.

    It is `run` in build mode. A finished plan is a claim: checks and review still prove it.

    \b
    Examples:
      claude-iterate build my-task             until every task is ticked
      claude-iterate build my-task -m 1        one task
      claude-iterate build my-task --dry-run   try it without Claude
    """
    return _run_one(invocation, name, mode="build", **given)


commands = {"run": run, "plan": plan, "build": build}


def _run_one(invocation: Invocation, name: str, /, mode: str = "", **given: Any) -> int:
    """One run: on a terminal behind a front, so that it can be detached."""
    way = _way(given)
    asked = _request(invocation, mode, **given)
    layout = invocation.project.layout(name)
    if not way and (not on_terminal() or os.getpid() == 1):
        return _run(invocation, layout, asked)
    if os.getpid() == 1:
        refused = f"--{way} is not possible here: this is the first process of a container, which ends with it."
        raise UsageProblem(refused, "Let the container run in the background: docker run --detach ...")
    side = front_process.split()
    if isinstance(side, front_process.Worker):
        return _run(invocation, layout, replace(asked, silent=way == "watch"), side, bool(way))
    code = side.wait()
    if code is not None or way != "watch":
        return code or 0
    watch_runs(lambda: [layout], only=True, asks=True)
    return AttachedTerminal(invocation, layout, asked.detailed).leave()


def _run(
    invocation: Invocation, layout: Layout, asked: RunRequest, worker: Worker | None = None, detaches: bool = False
) -> int:
    project, user = invocation.project, TerminalUser(worker, detaches)
    # Of a completed task the answer is that of the run that completed it.
    found = run_checks.leave_completed(project, layout, asked, user)
    done = found if isinstance(found, run_checks.CompletedTask) else launch(project, layout, found, user)
    if asked.as_json:
        state = done.state if isinstance(done, RunResult) else None
        output.view(documents.ended_run(layout, done.run, done.exit_code, state))
    return done.exit_code


def _run_several(invocation: Invocation, names: tuple[str, ...], every: bool, parallel: int, asked: RunRequest) -> int:
    project = invocation.project
    options.choose_one({"NAME": names, "--all": every})
    found = project.workspaces() if every else names
    if not found:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate setup NAME")
        return 0
    if asked.cassette:
        line = f"claude-iterate run {found[0]} --dry-run --cassette {asked.cassette}"
        raise UsageProblem("Only one workspace can play a recorded run.", f"Run one: {line}")
    if asked.settings.get("attended"):
        raise UsageProblem("Attended mode is for one run.", f"Run one: claude-iterate run {found[0]} --attended")
    return run_many(project, found, asked, parallel, quiet=asked.settings.get("output") == "quiet")


def _way(given: dict[str, Any]) -> str:
    """`detach` or `watch`, if the run is to go on without this terminal."""
    detach, watch = given.pop("detach"), given.pop("watch")
    options.choose_one({"--detach": detach, "--watch": watch}, "Both run it without this terminal.")
    way = "detach" if detach else "watch" if watch else ""
    options.choose_one({f"--{way}": way, "--json": output.wants_json()}, "The document is about a run that is over.")
    options.choose_one({f"--{way}": way, "--attended": given["attended"]}, "An attended run asks on its terminal.")
    return way


def _request(
    invocation: Invocation, mode: str = "", *, cassette: str | None, no_delay: bool, **given: Any
) -> RunRequest:
    """The options as a request; the shorthands become the settings they mean."""
    if cassette is not None and not cassette.strip():
        raise UsageProblem("--cassette names no run.", "Name one by its number: --dry-run --cassette 1")
    if cassette is not None and not given["dry_run"]:
        raise UsageProblem("--cassette is for a dry run.", f"Add it: --dry-run --cassette {cassette}")
    options.choose_one({"--delay": given["delay"] is not None, "--no-delay": no_delay})
    given["delay"] = "0" if no_delay else given["delay"]
    asked = run_options.run_request(invocation, mode=mode, cassette=cassette or "", **given)
    return replace(asked, command_line=replace(asked.command_line, verb=mode))


def _print_plan(view: PlanView) -> None:
    if view.problem:
        output.warn(f"The plan cannot be used: {view.problem}.")
        output.note(f"Fix it: {view.path}")
        return
    if not view.tasks:
        what = "has no tasks" if view.present else "does not exist"
        output.note(f"The plan {what}: {view.path}. Make one: claude-iterate plan {view.workspace}")
        return
    counts = f"{view.done} done, {view.doing} under way, {view.open} open"
    output.result(output.heading(f"{plural(view.tasks, 'task')}: {counts}"))
    for one in view.list:
        line = f"  {_BOXES.get(one.state, '[ ]')} {output.sanitize(one.text)}"
        output.result(output.dim(line) if one.state == DONE else line)
    if view.without_refs:
        output.result(f"Without refs: {view.without_refs}")
        for task in view.bare:
            output.result(f"  line {task.line} of {task.file}: {output.sanitize(task.text)}")
        if left := view.without_refs - len(view.bare):
            output.result(f"  and {left} more")
    if view.specifications:
        rows = [(it.file, str(it.tasks), str(it.open)) for it in view.specifications]
        output.table(rows, ("SPECIFICATION", "TASKS", "LEFT"))
    elif not view.has_specifications:
        output.note(f"No specifications in {view.spec_dir} (setting `paths.spec_dir`).")
