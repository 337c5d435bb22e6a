"""The group of commands, from a static table: `--help` imports no command.

A command's module offers a click command called `command`, or several by their names in `commands`; what a command
returns is the exit code (None: 0).
"""

from __future__ import annotations

import os
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from claude_iterate import __version__
from claude_iterate.cli import completion, help_page
from claude_iterate.cli.command_rows import ALIASES, COMMANDS
from claude_iterate.cli.group import Group
from claude_iterate.cli.invocation import Invocation, places
from claude_iterate.errors import UsageProblem
from claude_iterate.sinks.console.safe_stream import forces_color


class CommandTable(Group):
    """A group that looks its commands up in COMMANDS and imports only the one that is called."""

    aliases = ALIASES

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [row.name for row in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        wanted = self.aliases.get(cmd_name, cmd_name)
        row = next((row for row in COMMANDS if row.name == wanted), None)
        if row is None:
            return help_page.HIDDEN.get(wanted)
        module = import_module(f"claude_iterate.cli.commands.{row.module}")
        command: click.Command = module.commands[wanted] if hasattr(module, "commands") else module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "status":
            named = any(not word.startswith("-") and before != "--status" for before, word in pairwise(args))
            args = ["show" if named or ctx.resilient_parsing else "list", *args[1:]]
        return super().resolve_command(ctx, args)

    def advice(self, word: str) -> str:
        return " Did you mean 'stop'? With --now it ends Claude at once." if word in {"kill", "abort", "quit"} else ""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands from the table, so that none is imported."""
        found = [CompletionItem(row.name, help=row.summary) for row in COMMANDS if row.name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        help_page.write(ctx, formatter)


@click.group(
    cls=CommandTable,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    short_help="Give Claude Code a task, walk away, come back to proven work.",
)
@click.option(
    "-C",
    "--project",
    metavar="DIR",
    shell_complete=completion.folders,
    help="Work in the project that DIR belongs to, instead of the current folder.",
)
@click.option("--no-color", "--no-colors", "no_color", is_flag=True, help="No colour, even on a terminal.")
@click.option(
    "--workspaces-dir",
    metavar="DIR",
    shell_complete=completion.folders,
    help="Where the workspaces are, instead of paths.workspaces_dir.",
)
@click.option(
    "--templates-dir", metavar="DIR", shell_complete=completion.folders, help="Where the project's templates are."
)
@click.option("--archive-dir", metavar="DIR", shell_complete=completion.folders, help="Where the archives are.")
@click.option("--verbose", is_flag=True, help="Show Claude's words and tools as they come, whatever the command.")
@click.version_option(__version__, "--version", "-V", prog_name="claude-iterate")
@click.pass_context
def application(context: click.Context, /, project: str | None, no_color: bool, **given: Any) -> None:
    """Give Claude Code a task, walk away, come back to proven work.

    A workspace holds a task; `run` calls Claude Code again and again, each time with fresh context, until the work
    is done or something says stop.
    """
    folder = _folder(context, project)
    forced = forces_color(os.environ)
    colorless = no_color or bool(os.environ.get("NO_COLOR")) or (os.environ.get("TERM") == "dumb" and not forced)
    context.color = False if colorless else forced or None
    verbose = {"output": "verbose"} if given.pop("verbose") else {}
    flags = places(folder, **given) | verbose
    context.obj = Invocation(folder, os.environ, not colorless, flags, elsewhere=bool(project))
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _folder(context: click.Context, project: str | None) -> Path:
    try:
        folder = Path(project or "").absolute()
    except FileNotFoundError:
        raise UsageProblem("The current folder no longer exists.", "Change to another one, and try again.") from None
    if not folder.is_dir():
        raise click.BadParameter(f"there is no folder {project}", context, param_hint="'--project'")
    return folder
