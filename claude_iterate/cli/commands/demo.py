"""`demo`: a temporary project, a real run against the built-in fake Claude, and what to try next."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation, own_program
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.operations import demo_project
from claude_iterate.operations.launch import launch
from claude_iterate.system.files import require_temporary_files


@options.command("demo", workspace=False, json="")
def command(invocation: Invocation) -> int:
    """Show a whole run in a temporary project, in about ten seconds: a claim, a failing check, the fix.

    Claude is not called, so it costs nothing.
    """
    require_temporary_files()
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-demo-"))
    project, layout = demo_project.make_demo(invocation.environ, folder)
    program = own_program()
    there = (*program, "-C", str(folder))
    output.note(f"A task, and a check that must pass before it counts as done: {folder}")
    output.note(f"Now: {shlex.join((*there, 'run', 'demo'))}\n")
    asked = RunRequest(color=invocation.color, command_line=CommandLine(there))
    code = launch(project, layout, asked, TerminalUser()).exit_code
    output.note("\nThat was the real loop; a stand-in played Claude, and nothing was spent. Look around:")
    for words in (("show", "demo"), ("history", "demo"), ("logs", "demo")):
        output.result(shlex.join((*there, *words)))
    output.note("\nDelete it when you have seen enough:")
    output.result(shlex.join(("rm", "-r", str(folder))))
    output.note("\nThen, in a project of your own:")
    for command_line in ("doctor", "setup my-task", "run my-task"):
        output.result(f"{shlex.join(program)} {command_line}")
    return code
