"""What the fake Claude does without a script: it works through the items of the instructions.

It really reads, ticks and reports, so that a dry run goes through everything that a real run goes through.
"""

from __future__ import annotations

import os

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.json_alone import compact, indented, loads
from claude_iterate.fake_claude.printer import Stream, timestamp
from claude_iterate.fake_claude.replies import other_purpose
from claude_iterate.fake_claude.report_id import asked_for
from claude_iterate.fake_claude.todo_list import Todo, items_in

BATCH = 3
"""Items per call when the prompt does not ask for one."""
PLANS = "Make or update the plan"
BUILDS = "Complete ONE task of the plan"


def work(stream: Stream, workspace: str | None, prompt: str) -> None:
    """One whole call, from the opening event to the result."""
    stream.init()
    if prompt.startswith("/"):
        # As in Claude Code: such a prompt counts as a command, nothing is done, and the result is a success.
        stream.result(result=f"Unknown command: {prompt.split(maxsplit=1)[0]}", num_turns=0)
        return
    if workspace is None or not os.path.isdir(workspace):
        stream.say("There is no workspace here, so there is nothing to do.")
    elif (purpose := other_purpose(prompt)) is not None:
        purpose(stream, workspace, prompt)
    else:
        _iterate(stream, workspace, prompt)
    stream.result()


def _iterate(stream: Stream, workspace: str, prompt: str) -> None:
    stream.say("I will read the instructions and see what is left to do.")
    instructions = tools.read(stream, f"{workspace}/INSTRUCTIONS.md") or ""
    reported = tools.load(f"{workspace}/.status.json")
    if reported is not None:
        tools.read(stream, f"{workspace}/.status.json")
    asked = prompt.replace(instructions, "") if instructions else prompt
    if PLANS in asked or BUILDS in asked:
        _plan_or_build(stream, workspace, instructions, prompt, PLANS in asked)
        return
    one_by_one = "ONE item" in asked
    todo = _steps(stream, workspace, instructions, _says_complete(reported))
    doing = todo.open[: 1 if one_by_one else BATCH]
    for item in doing:
        todo.tick(item)
        tools.edit(stream, f"{workspace}/TODO.md", f"- [ ] {item}", f"- [x] {item}", todo.render())
    tools.echo(stream, f"{len(doing)} done")
    left = len(todo.open)
    summary = f"Did: {'; '.join(doing)}" if doing else "Nothing was left to do"
    counted = {"completed": len(todo.boxes) - left, "total": len(todo.boxes)}
    kind: dict[str, object] = {"progress": counted} if one_by_one else {"worked": bool(doing)}
    status = {"complete": left == 0, **kind, "summary": summary, **asked_for(prompt), "lastUpdated": timestamp()}
    tools.write(stream, f"{workspace}/.status.json", indented(status, "  ", compact) + "\n")
    stream.say(f"{summary}. {left} left." if left else f"{summary}. Everything is done.")


def _plan_or_build(stream: Stream, workspace: str, instructions: str, prompt: str, plans: bool) -> None:
    """The modes plan and build: the plan takes the place of TODO.md."""
    from claude_iterate.fake_claude import plan_work

    done, total, said = (
        plan_work.make_plan(stream, workspace, instructions) if plans else plan_work.build(stream, workspace)
    )
    tools.echo(stream, f"{done} of {total}")
    counted = {"completed": done, "total": total}
    status = {"complete": plans or done == total, "progress": counted, "summary": said, **asked_for(prompt)}
    status["lastUpdated"] = timestamp()
    tools.write(stream, f"{workspace}/.status.json", indented(status, "  ", compact) + "\n")
    stream.say(f"{said}. {done} of {total} tasks are done.")


def _steps(stream: Stream, workspace: str, instructions: str, claimed: bool) -> Todo:
    """TODO.md in step with the instructions. A list finished by an earlier run starts over; one finished in this
    run stays finished, for instance when the claim was refused."""
    path = f"{workspace}/TODO.md"
    text = tools.read(stream, path) if os.path.exists(path) else ""
    todo = Todo(text or "")
    run = os.environ.get("CLAUDE_ITERATE_RUN", "")
    finished_before = bool(todo.boxes) and not todo.open and claimed and not (run and run == todo.run)
    before = todo.run, todo.boxes
    todo.follow(items_in(instructions), run, finished_before)
    if (todo.run, todo.boxes) != before:
        tools.write(stream, path, todo.render())
    return todo


def _says_complete(reported: str | None) -> bool:
    try:
        status = loads(reported or "null")
    except ValueError:
        return False
    return isinstance(status, dict) and status.get("complete") is True
