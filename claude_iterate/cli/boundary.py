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
from claude_iterate.core.names import nearest
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.errors import ExpectedError, advice
from claude_iterate.sinks.safe_stream import discard
from claude_iterate.system.crash_reports import write_crash_report

BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
_REFUSALS = {ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, EIO, EMFILE, ENOMEM}
_MAKERS = {"init", "setup"}
"""Commands whose NAME is usually a new one."""
_GLOBAL = {"-C", "--project", "--no-color", "--no-colors", "--workspaces-dir", "--templates-dir", "--archive-dir"}


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
        return _tell(1, problem.format_message(), "")
    except click.Abort as interrupt:
        _print("")  # a question has no line end
        if isinstance(interrupt.__context__, EOFError):
            return _tell(1, "The question was not answered.", "")
        _print("Interrupted.")
        return INTERRUPTED
    except KeyboardInterrupt:
        _print("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        return _report_refusal(error, arguments)
    except Exception as bug:  # noqa: BLE001 - this is the boundary
        return _report_bug(bug, arguments)


def _run(arguments: list[str]) -> int:
    if "_CLAUDE_ITERATE_COMPLETE" in os.environ:
        application.main(arguments, prog_name="claude-iterate")
    # Not click's own main(): how it handles interrupts and broken pipes differs between its versions.
    try:
        with application.make_context("claude-iterate", arguments) as context:
            result: Any = _invoke(application, context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    return result if isinstance(result, int) else 0


def _invoke(application: click.Group, context: click.Context) -> Any:
    try:
        return application.invoke(context)
    except ExpectedError as problem:
        if context.obj is not None:
            problem.message = context.obj.make_pasteable(problem.message)
            problem.hint = context.obj.make_pasteable(problem.hint)
        raise


def _report_usage(problem: click.UsageError, arguments: list[str]) -> int:
    context = problem.ctx
    if context is not None:
        _print(context.get_usage())
    path = context.command_path if context is not None else f"claude-iterate {_command_in(arguments)}".rstrip()
    hint = f"See: {path} --help"
    if isinstance(problem, click.MissingParameter) and problem.param is not None and problem.param.name == "name":
        hint = _workspaces(context) or hint
    if isinstance(problem, click.NoSuchOption) and context is not None:
        return _report_unknown_option(problem.option_name, context, arguments, hint)
    return _tell(problem.exit_code, problem.format_message(), hint)


def _report_unknown_option(option: str, context: click.Context, arguments: list[str], hint: str) -> int:
    """Options of the program go before the command, its own behind it; else those are named that are meant perhaps."""
    meant = ""
    if context.parent is not None and option in _GLOBAL:
        hint = f"It goes before the command: claude-iterate {option} ... {context.info_name}"
    elif context.parent is None and option in _options_of(command := _command_in(arguments)):
        hint = f"It goes behind the command: claude-iterate {command} ... {option}"
    elif near := _near_options(option, context):
        meant = f" Did you mean {' or '.join(near)}?"
    return _tell(2, f"No such option '{option}'.{meant}", hint)


def _near_options(option: str, context: click.Context) -> list[str]:
    word = option.lstrip("-")
    known = [name.lstrip("-") for name in _long_options(context.command)]
    found = nearest(word, known, 2) or [name for name in known if word in name.split("-")]
    return [f"'--{name}'" for name in found]


def _long_options(command: click.Command) -> list[str]:
    shown = (option for option in command.params if isinstance(option, click.Option) and not option.hidden)
    return [name for option in shown for name in option.opts if name.startswith("--")]


def _options_of(name: str) -> list[str]:
    command = application.get_command(click.Context(application), name) if name else None
    return _long_options(command) if command is not None else []


def _command_in(arguments: list[str]) -> str:
    """The command that was meant, where click does not say: it has no context while it reads options."""
    known = {row.name for row in COMMANDS}
    return next((word for word in arguments if word in known), "")


def _workspaces(context: click.Context | None) -> str:
    """The names that could have been given to this command."""
    if context is None or context.obj is None or context.info_name in _MAKERS:
        return ""
    with contextlib.suppress(ExpectedError):
        if names := context.obj.project.workspaces():
            return f"Workspaces here: {', '.join(names)}"
        return f"There are none in {context.obj.project.root}. Make one: claude-iterate setup NAME"
    return ""


def _tell(code: int, message: str, hint: str) -> int:
    _print(f"Error: {message}")
    if hint:
        _print(f"  {hint}")
    return code


def _report_refusal(error: OSError, arguments: list[str]) -> int:
    """A full disk or a missing permission can occur anywhere, and is not a bug."""
    if error.errno not in _REFUSALS:
        return _report_bug(error, arguments)
    where = f": {error.filename}" if error.filename else ""
    return _tell(1, f"{error.strerror}{where}", f"{advice(error, '')}, then try again.")


def _release_streams() -> None:
    """Python flushes both at exit. If that failed, Python would print a message and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            discard(stream)


def _report_bug(bug: Exception, arguments: list[str]) -> int:
    said = f"This is a bug in claude-iterate: {type(bug).__name__}: {bug}"
    path, report = write_crash_report(bug, arguments)
    if not path:
        _print(report)
        return _tell(BUG, said, "No crash report could be written; it is printed above.")
    return _tell(BUG, said, f"A crash report is in {path} - please send it along with what you did.")


def _print(text: str) -> None:
    # When stderr is closed, the exit code is still right.
    with contextlib.suppress(OSError, ValueError):
        text = sanitize_terminal(text)  # a message may quote Claude, or a file from outside
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
