"""`run NAME`: the loop. This file turns options into settings; `launch` does the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import click
from msgspec.structs import replace

from claude_iterate.cli import completion, options, output, questions
from claude_iterate.cli.commands.attach import AttachedTerminal
from claude_iterate.cli.commands.watch import watch_runs
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.many import run_many
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.errors import UsageProblem
from claude_iterate.operations import run_checks
from claude_iterate.operations.launch import launch
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.system import front_process
from claude_iterate.system.front_process import Worker
from claude_iterate.views import documents
from claude_iterate.workspace.layout import Layout

JSON = "Print one JSON document about the run on standard output."
_OPTIONS = (
    options.setting_option("max_iterations", "-m", "--max-iterations"),
    options.setting_option("delay", "-d", "--delay", metavar="TIME"),
    options.flag("--no-delay", help="No pause between iterations."),
    options.setting_option("stagnation_threshold", "--stagnation-threshold"),
    options.verbose_option,
    options.quiet_option,
    options.setting_option("output", "--output", metavar="LEVEL", more="quiet, progress or verbose."),
    options.setting_option("claude.model", "--model", metavar="NAME"),
    options.setting_option("claude.max_turns", "--max-turns"),
    options.setting_option("limits.max_cost_usd", "--max-cost", metavar="USD"),
    options.setting_option("limits.max_duration", "--max-duration", metavar="TIME"),
    options.setting_option("session", "--session", metavar="MODE", more="fresh or resume."),
    options.setting_option("claude.permission_mode", "--permission-mode", metavar="MODE"),
    click.option(
        "--allow", multiple=True, metavar="TOOL", help="Allow a tool, for example 'Bash(npm test:*)'. Repeatable."
    ),
    options.dangerous_option,
    options.setting_option("sandbox.kind", "--sandbox", metavar="KIND", more="none, bwrap, docker or podman."),
    options.switch("--attended", help="Ask on the terminal before each iteration: go, skip, note, stop."),
    options.check_option,
    options.switch("--verify", help="Let Claude review a completion claim before it counts."),
    options.setting_option("worktree", "--worktree", metavar="[BRANCH[:BASE]]", otherwise="auto"),
    options.accept_option,
    options.flag("--reset", help="Go on after the breaker stopped the task; its counters begin again."),
    options.dry_run_option,
    click.option(
        "--cassette",
        metavar="RUN",
        shell_complete=completion.runs,
        help="With --dry-run: play this recorded run in place of Claude, by its id or its number.",
    ),
    options.flag("--again", help="Run a task although it is completed."),
    options.detailed_option,
    options.flag("--detach", help="Let it run without this terminal; `attach` shows it."),
    options.flag("--watch", help="Let it run without this terminal, and open `watch` on it."),
)


class RunCommand(options.Sections):
    """`run`, `plan` and `build`."""

    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Limits (TIME is 90, 90s, 5m or 1h30m)": (
            *("--max-iterations", "--max-cost", "--max-duration", "--max-turns"),
            *("--delay", "--no-delay", "--stagnation-threshold"),
        ),
        "What Claude may do": (
            *("--permission-mode", "--allow", "--dangerously-skip-permissions", "--sandbox", "--worktree"),
        ),
        "Proof": ("--check", "--verify", "--accept-changes"),
        "Claude": ("--model", "--session"),
        "Again, or to try it out": ("--again", "--reset", "--dry-run", "--cassette"),
        "You and the run": ("--attended", "--detach", "--watch"),
        "Output": ("--verbose", "--quiet", "--output", "--json", "--detailed-exit-code"),
    }


def run_options(function: options.Function) -> options.Function:
    """The options that `run`, `plan` and `build` share, in the order of the help page."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@options.command("run", workspace=False, cls=RunCommand, json=JSON)
@options.names_argument
@options.flag("--all", "every", help="Run all workspaces of the project, each in a process of its own.")
@click.option("--parallel", type=options.whole(0), default=0, metavar="N", help="Of several at most so many at a time.")
@run_options
def command(invocation: Invocation, /, name: tuple[str, ...], every: bool, parallel: int, **given: Any) -> int:
    """Call Claude again and again until the task NAME is done; of several, each in a process of its own.

    The first Ctrl-C lets the iteration finish, the second ends it now. Key d lets it go on without this terminal.

    \b
    Examples:
      claude-iterate run my-task                     until done, at most 50 iterations
      claude-iterate run my-task --output verbose    watch every tool
      claude-iterate run my-task -m 5 --max-cost 3   a careful start
      claude-iterate run my-task --dry-run           try it without Claude
      claude-iterate run one two --parallel 2        several at once; --all for every workspace
    """
    way = _way(given)
    asked = _request(invocation, **given)
    if every or len(name) > 1:
        if way:
            raise UsageProblem(f"--{way} is for one run.", "For several: nohup claude-iterate run ONE TWO &")
        return _many(invocation, name, every, asked, parallel)
    if not name:
        context = click.get_current_context()
        name = (questions.choose_workspace(context, context.command.params[0]),)
    return _one(invocation, name[0], asked, way)


def run_in_mode(invocation: Invocation, name: str, mode: str, given: dict[str, Any]) -> int:
    """One run in a mode that is not the workspace's own."""
    way = _way(given)
    asked = _request(invocation, **given)
    return _one(invocation, name, replace(asked, mode=mode, command_line=replace(asked.command_line, verb=mode)), way)


def _many(invocation: Invocation, names: tuple[str, ...], every: bool, asked: RunRequest, parallel: int) -> int:
    project = invocation.project
    options.choose_one({"NAME": names, "--all": every})
    found = project.workspaces() if every else names
    if not found:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate setup NAME")
        return 0
    if asked.cassette:
        line = f"claude-iterate run {found[0]} --dry-run --cassette {asked.cassette}"
        raise UsageProblem("A recorded run is played by one workspace.", f"Run one: {line}")
    if asked.settings.get("attended"):
        raise UsageProblem("Attended mode is for one run.", f"Run one: claude-iterate run {found[0]} --attended")
    return run_many(project, found, asked, parallel, quiet=asked.settings.get("output") == "quiet")


def _way(given: dict[str, Any]) -> str:
    """`detach` or `watch`, if the run is to go on without this terminal."""
    detach, watch = given.pop("detach"), given.pop("watch")
    options.choose_one({"--detach": detach, "--watch": watch}, "Both let it run without this terminal.")
    way = "detach" if detach else "watch" if watch else ""
    options.choose_one({f"--{way}": way, "--json": given["as_json"]}, "The document is about a run that is over.")
    options.choose_one({f"--{way}": way, "--attended": given["attended"]}, "An attended run asks on its terminal.")
    return way


def _one(invocation: Invocation, name: str, asked: RunRequest, way: str) -> int:
    project = invocation.project
    layout = project.layout(name)
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
    return AttachedTerminal(layout, invocation.program, "", invocation.color, asked.detailed).leave()


def _run(
    invocation: Invocation, layout: Layout, asked: RunRequest, worker: Worker | None = None, detaches: bool = False
) -> int:
    project, user, as_json = invocation.project, TerminalUser(worker, detaches), asked.as_json
    if (done := run_checks.leave_completed(project, layout, asked, user)) is not None:
        if as_json:  # the answer is that of the run that completed the task
            output.view(documents.ended_run(layout, done.run, done.exit_code))
        return done.exit_code
    performed = launch(project, layout, asked, user)
    if as_json:
        output.view(documents.ended_run(layout, performed.run, performed.exit_code, performed.state))
    return performed.exit_code


def _request(invocation: Invocation, dry_run: bool, cassette: str | None, **given: Any) -> RunRequest:
    """The options as a request; the shorthands become the settings they mean."""
    if cassette is not None and not cassette.strip():
        raise UsageProblem("--cassette names no run.", "Name one by its number: --dry-run --cassette 1")
    if cassette is not None and not dry_run:
        raise UsageProblem("--cassette is for a dry run.", f"Add it: --dry-run --cassette {cassette}")
    verbose, quiet, no_delay = (given.pop(name) for name in ("verbose", "quiet", "no_delay"))
    if verbose + quiet + (given["output"] is not None) > 1:
        raise UsageProblem("Choose one of --verbose, --quiet and --output.", "They all set the output level.")
    options.choose_one({"--delay": given["delay"] is not None, "--no-delay": no_delay})
    request = {
        "again": given.pop("again"),
        "skip_permissions": given.pop("dangerously_skip_permissions"),
        "detailed": given.pop("detailed_exit_code"),
        "accept_changes": given.pop("accept_changes"),
        "reset": given.pop("reset"),
        "allow": given.pop("allow"),
        "as_json": given.pop("as_json"),
    }
    given["output"] = options.output_level(verbose, quiet) or given["output"]
    given["delay"] = "0" if no_delay else given["delay"]
    given["verification__auto_verify"] = given.pop("verify")
    settings = options.settings_from(given)
    return options.run_request(invocation, dry_run=dry_run, cassette=cassette or "", settings=settings, **request)
