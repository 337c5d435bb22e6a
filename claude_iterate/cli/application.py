"""The group of commands: a static table, so that `--help` imports no command.

A command's module offers a click command called `command`, or several by their names in `commands`; what a command
returns is the exit code (None: 0).
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from claude_iterate import __version__
from claude_iterate.cli.group import Group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.records import Record
from claude_iterate.errors import UsageProblem


class Row(Record):
    """One command: the name people type, its module in this package, its line in the help."""

    name: str
    module: str
    summary: str


COMMANDS = (
    Row("init", "init", "Make a workspace."),
    Row("setup", "setup", "Write the instructions of a workspace; makes it if there is none."),
    Row("edit", "edit", "Improve the instructions with Claude."),
    Row("validate", "validate", "Let Claude grade the instructions."),
    Row("run", "run", "Call Claude again and again until the task is done."),
    Row("verify", "verify", "Prove that a task is done: checks, then an independent review."),
    Row("list", "list", "List the workspaces."),
    Row("show", "show", "Show one workspace: progress, last run, settings, files."),
    Row("history", "history", "Show what each iteration took and what came of it."),
    Row("logs", "logs", "Print or follow the log of a run."),
    Row("pause", "steer", "Let the running iteration finish, then hold."),
    Row("resume", "steer", "Go on after a pause."),
    Row("stop", "steer", "End a run after its iteration, or now."),
    Row("skip", "steer", "End the running iteration and begin the next."),
    Row("reboot", "steer", "Do the running iteration again with fresh context."),
    Row("retry", "steer", "End a wait for a limit and try again now."),
    Row("note", "note", "Tell the next iteration something."),
    Row("reset", "reset", "Set the counters to 0 and a stale claim aside."),
    Row("clean", "clean", "Archive a workspace, then delete it."),
    Row("template", "template", "Keep instructions and settings, to begin other workspaces with."),
    Row("archive", "archive", "Put workspaces away as compressed files, and bring them back."),
    Row("config", "config", "Read and change settings."),
    Row("notify", "notify", "Try out notifications."),
    Row("doctor", "doctor", "Check this computer and project; says how to fix what is wrong."),
    Row("selftest", "selftest", "Play every fault that a run must survive, against the real loop."),
    Row("demo", "demo", "See a whole run in a temporary project, without calling Claude."),
)
ALIASES = {"ls": "list", "tpl": "template"}


class CommandTable(Group):
    """A group that looks its commands up in COMMANDS and imports only the one that is called."""

    aliases = ALIASES

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [row.name for row in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        wanted = self.aliases.get(cmd_name, cmd_name)
        row = next((row for row in COMMANDS if row.name == wanted), None)
        if row is None:
            return None
        module = import_module(f"claude_iterate.cli.commands.{row.module}")
        command: click.Command = module.commands[wanted] if hasattr(module, "commands") else module.command
        return command

    def advice(self, word: str) -> str:
        return " Did you mean 'claude-iterate --help'?" if word == "help" else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.summary) for row in COMMANDS])


@click.group(
    cls=CommandTable,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="New here? Try: claude-iterate demo",
)
@click.option(
    "-C", "--project", metavar="DIR", help="Work in the project that DIR belongs to, instead of the current folder."
)
@click.option("--no-color", "--no-colors", "no_color", is_flag=True, help="No colour, even on a terminal.")
@click.option("--workspaces-dir", metavar="DIR", help="Where the workspaces are, instead of paths.workspaces_dir.")
@click.option("--templates-dir", metavar="DIR", help="Where the project's templates are.")
@click.option("--archive-dir", metavar="DIR", help="Where the archives are.")
@click.option("--verbose", is_flag=True, help="Show Claude's words and tools as they come, whatever the command.")
@click.version_option(__version__, "--version", "-V", prog_name="claude-iterate")
@click.pass_context
def application(context: click.Context, /, project: str | None, no_color: bool, **given: Any) -> None:
    """Give Claude Code a task, walk away, come back to proven work.

    A workspace holds a task; `run` calls Claude Code again and again, each time with fresh context, until the work
    is done or something says stop.
    """
    folder = _folder(context, project)
    colorless = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    context.color = False if colorless else None
    context.obj = Invocation(folder, os.environ, not colorless, _flags(folder, **given))
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _flags(folder: Path, verbose: bool, **places: str | None) -> dict[str, str]:
    """As settings. A relative path is one from the folder that we work in, as people who type it expect."""
    found = {f"paths.{name}": _place(folder, text) for name, text in places.items() if text is not None}
    return found | ({"output": "verbose"} if verbose else {})


def _place(folder: Path, text: str) -> str:
    if not text:
        raise UsageProblem("The name of a folder is empty.", "See: claude-iterate --help")
    return text if text.startswith("~") else str(folder / text)


def _folder(context: click.Context, project: str | None) -> Path:
    try:
        folder = Path(project or "").absolute()
    except FileNotFoundError:
        raise UsageProblem("The current folder no longer exists.", "Change to another one, and try again.") from None
    if not folder.is_dir():
        raise click.BadParameter(f"there is no folder {project}", context, param_hint="'--project'")
    return folder
