"""`plan NAME` makes the plan, `build NAME` works it off: `run` in another mode. `plan --show` prints how it stands."""

from __future__ import annotations

from typing import Any

from claude_iterate.cli import options, output
from claude_iterate.cli.commands.run import JSON, RunCommand, run_in_mode, run_options
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.formats import plural
from claude_iterate.core.reports.plan_tasks import DOING, DONE
from claude_iterate.views.plan_view import PlanView, plan_view

_BOXES = {DOING: "[~]", DONE: "[x]"}


@options.command("plan", cls=RunCommand, json=JSON)
@run_options
@options.flag("--show", help="Print how the plan stands; Claude is not called.")
def plan(invocation: Invocation, /, name: str, show: bool, **given: Any) -> int:
    """Make or update IMPLEMENTATION_PLAN.md of NAME from its instructions, the specifications and the code.

    It is `run` in plan mode: nothing is implemented. `build NAME` works off the plan.

    \b
    Examples:
      claude-iterate plan my-task             make the plan, at most 5 iterations
      claude-iterate plan my-task --show      tasks by state, and by specification
      claude-iterate plan my-task --dry-run   try it without Claude
    """
    if show:
        return _show(invocation, name, given["as_json"])
    return run_in_mode(invocation, name, "plan", given)


@options.command("build", cls=RunCommand, json=JSON)
@run_options
def build(invocation: Invocation, /, name: str, **given: Any) -> int:
    """Work off the plan of NAME, one task per iteration, until nothing in it is open.

    It is `run` in build mode. A finished plan is a claim: checks and review still prove it.

    \b
    Examples:
      claude-iterate build my-task             until every task is ticked
      claude-iterate build my-task -m 1        one task
      claude-iterate build my-task --dry-run   try it without Claude
    """
    return run_in_mode(invocation, name, "build", given)


commands = {"plan": plan, "build": build}


def _show(invocation: Invocation, name: str, as_json: bool) -> int:
    project = invocation.project
    view: PlanView = plan_view(project, project.layout(name))
    if as_json:
        output.view(view)
        return 1 if view.problem else 0
    if view.problem:
        output.warn(f"The plan cannot be used: {view.problem}.")
        output.note(f"Fix it: {view.path}")
        return 1
    if not view.tasks:
        what = "has no tasks" if view.present else "does not exist"
        output.note(f"The plan {what}: {view.path}. Make one: claude-iterate plan {name}")
        return 0
    counts = f"{view.done} done, {view.doing} under way, {view.open} open"
    output.result(output.heading(f"{plural(view.tasks, 'task')}: {counts}"))
    for one in view.list:
        line = f"  {_BOXES.get(one.state, '[ ]')} {output.sanitize(one.text)}"
        output.result(output.dim(line) if one.state == DONE else line)
    if view.without_refs:
        output.result(f"Without refs: {view.without_refs}")
        for task in view.bare:
            output.result(f"  line {task.line} of {task.file}: {output.sanitize(task.text)}")
        left = view.without_refs - len(view.bare)
        if left:
            output.result(f"  and {left} more")
    if view.specifications:
        rows = [(it.file, str(it.tasks), str(it.open)) for it in view.specifications]
        output.table(rows, ("SPECIFICATION", "TASKS", "LEFT"))
    elif not view.has_specifications:
        output.note(f"No specifications in {view.spec_dir} (setting `paths.spec_dir`).")
    return 0
