"""The one error boundary: every way a command can end becomes a message on stderr and an exit code, here only."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from errno import EACCES, EDQUOT, EFBIG, EIO, EMFILE, ENOMEM, ENOSPC, EPERM, EROFS
from typing import Any

import click

from claude_iterate.cli.application import application
from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.core.redact import Redactor
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.errors import ExpectedError, advice
from claude_iterate.sinks.safe_stream import discard
from claude_iterate.system import crash_reports
from claude_iterate.system.untrusted_files import NotAFile

BUG = crash_reports.EXIT_CODE
INTERRUPTED = 130
BROKEN_PIPE = 141
_REFUSALS = {ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, EIO, EMFILE, ENOMEM}
_MAKERS = {"init", "setup"}
"""Commands whose NAME is usually a new one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit code and never raises what a user should see as a message."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _open_missing_streams()
    _never_fail_on_characters()
    try:
        return _report_errors(arguments)
    finally:
        _release_streams()


def _report_errors(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except ExpectedError as problem:
        return _tell(problem.exit_code, problem.message, problem.hint)
    except click.UsageError as problem:
        return _report_usage(problem, arguments)
    except click.ClickException as problem:
        return _tell(1, problem.format_message())
    except (click.Abort, KeyboardInterrupt) as interrupt:
        if isinstance(interrupt, click.Abort):
            _print("")  # a question has no line end
        if isinstance(interrupt.__context__, EOFError):
            return _tell(1, "The question was not answered.")
        _print("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        return _report_refusal(error, arguments)
    except Exception as bug:  # noqa: BLE001 - this is the boundary
        return _tell(BUG, *crash_reports.report_crash(bug, arguments))


def _run(arguments: list[str]) -> int:
    if "_CLAUDE_ITERATE_COMPLETE" in os.environ:
        application.main(arguments, prog_name="claude-iterate")
    # Not click's own main(): how it handles interrupts and broken pipes differs between its versions.
    try:
        with application.make_context("claude-iterate", arguments) as context:
            try:
                result: Any = application.invoke(context)
            except ExpectedError as problem:
                if context.obj is not None:
                    problem.message = context.obj.make_pasteable(problem.message)
                    problem.hint = context.obj.make_pasteable(problem.hint)
                raise
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    return result if isinstance(result, int) else 0


def _report_usage(problem: click.UsageError, arguments: list[str]) -> int:
    context = problem.ctx
    # click has no context while it reads the options of the program itself: the command is looked for.
    command = next((word for word in arguments if word in {row.name for row in COMMANDS}), "")
    if context is not None:
        _print(context.get_usage())
    message = problem.format_message()
    hint = f"See: {context.command_path if context is not None else f'claude-iterate {command}'.rstrip()} --help"
    if context is not None and isinstance(problem, click.MissingParameter):
        hint = _list_workspaces(context, problem) or hint
    if context is not None and isinstance(problem, click.NoSuchOption):
        option, message = problem.option_name, f"No such option '{problem.option_name}'."
        own = application.get_command(context, command) if command and context.parent is None else None
        if context.parent is not None and any(option in known.opts for known in application.params):
            hint = f"It goes before the command: claude-iterate {option} ... {context.info_name}"
        elif own is not None and any(option in known.opts for known in own.params):
            hint = f"It goes after the command: claude-iterate {command} ... {option}"
        elif problem.possibilities:
            message += f" Did you mean '{problem.possibilities[0]}'?"
    return _tell(problem.exit_code, message, hint)


def _list_workspaces(context: click.Context, problem: click.MissingParameter) -> str:
    """The names that could have been given to this command."""
    if problem.param is None or problem.param.name != "name" or context.obj is None or context.info_name in _MAKERS:
        return ""
    with contextlib.suppress(ExpectedError):
        if names := context.obj.project.workspaces():
            return f"Workspaces here: {', '.join(names)}"
        return f"There are none in {context.obj.project.root}. Make one: claude-iterate setup NAME"
    return ""


def _tell(code: int, message: str, hint: str = "") -> int:
    _print(f"Error: {message}")
    if hint:
        _print(f"  {hint}")
    return code


def _report_refusal(error: OSError, arguments: list[str]) -> int:
    """A full disk or a missing permission can occur anywhere, and is not a bug."""
    if isinstance(error, NotAFile):
        return _tell(1, f"{error.said}.", error.hint)
    if error.errno not in _REFUSALS:
        return _tell(BUG, *crash_reports.report_crash(error, arguments))
    where = f": {error.filename}" if error.filename else ""
    return _tell(1, f"{error.strerror}{where}", f"{advice(error, '')}, then try again.")


def _release_streams() -> None:
    """Python flushes both at exit. If that failed, Python would print a message and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            discard(stream)


def _print(text: str) -> None:
    # When stderr is closed, the exit code is still right.
    with contextlib.suppress(OSError, ValueError):
        text = sanitize_terminal(Redactor(os.environ).clean(text))  # it may quote Claude, or a file from outside
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - click may be what failed


def _open_missing_streams() -> None:
    """A closed standard stream becomes /dev/null, before a file of ours gets its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="replace", closefd=False))


def _never_fail_on_characters() -> None:
    """A name with odd bytes, or a terminal without Unicode, gives a `?`, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
