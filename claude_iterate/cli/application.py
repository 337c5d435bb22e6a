"""The program: its options, its commands from a static table, its help on one screen. `--help` imports no command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from claude_iterate import __version__
from claude_iterate.cli.command_table import ALIASES, COMMANDS, Group, Row
from claude_iterate.cli.invocation import Invocation, places
from claude_iterate.errors import UsageProblem
from claude_iterate.sinks.safe_stream import forces_color

_OPTIONS = "-C DIR, --no-color, -V, -h; all: claude-iterate help options"
_HELP = "claude-iterate help COMMAND. New here? Try: claude-iterate demo"
_TOGETHER = {
    "config": ("trust", "Read and change settings; accept what Claude made."),
    "edit": ("validate", "Improve the instructions; have Claude grade them."),
    "plan": ("build", "Make a plan; carry it out, one task per iteration."),
    "list": ("show", "List the workspaces; show one: progress, run, proof."),
    "watch": ("attach", "See runs live: on a full screen; on this terminal."),
    "report": ("replay", "Write a report of the task; show a run again."),
    "pause": ("resume", "Hold after the running iteration; continue."),
    "skip": ("reboot", "End the iteration: begin the next, or repeat it."),
    "reset": ("clean", "Reset the counters; archive and delete a workspace."),
    "notify": ("hook", "Send a test notification; list and test your hooks."),
    "selftest": ("demo", "Run the built-in fault tests; see a whole demo run."),
}
"""Commands that share a line with the one after them."""
_FOLDER = click.Path(file_okay=False, readable=False)


class CommandTable(Group):
    """A group that looks its commands up in COMMANDS and imports only the one that is called."""

    aliases = ALIASES

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [row.name for row in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        wanted = self.aliases.get(cmd_name, cmd_name)
        row = next((row for row in COMMANDS if row.name == wanted), None)
        if row is None:
            return HIDDEN.get(wanted)
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
        offered = [CompletionItem(row.name, help=row.summary) for row in COMMANDS if row.name.startswith(incomplete)]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for: few enough lines for a small terminal."""
        formatter.write_text(self.short_help or "")
        formatter.write_usage(ctx.command_path, "[OPTIONS] COMMAND ...")
        formatter.write_paragraph()
        groups = groupby(COMMANDS, lambda row: row.group)
        formatter.write_dl([line for title, rows in groups for line in _lines(title, rows)])
        formatter.write_paragraph()
        formatter.write_dl([("Options", _OPTIONS), ("Help", _HELP)])


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
    type=click.Path(exists=True, file_okay=False),
    help="Work in the project that DIR belongs to, instead of the current folder.",
)
@click.option("--no-color", "--no-colors", "no_color", is_flag=True, help="No colour, even on a terminal.")
@click.option(
    "--workspaces-dir", metavar="DIR", type=_FOLDER, help="Where the workspaces are, instead of paths.workspaces_dir."
)
@click.option("--templates-dir", metavar="DIR", type=_FOLDER, help="Where the project's templates are.")
@click.option("--archive-dir", metavar="DIR", type=_FOLDER, help="Where the archives are.")
@click.option("--verbose", is_flag=True, help="Show Claude's words and tools as they come, whatever the command.")
@click.version_option(__version__, "--version", "-V", prog_name="claude-iterate")
@click.pass_context
def application(context: click.Context, /, project: str | None, no_color: bool, verbose: bool, **given: Any) -> None:
    """Give Claude Code a task, walk away, come back to proven work.

    A workspace holds a task; `run` calls Claude Code in a loop, each time with fresh context, until the work is done
    or a limit stops it.
    """
    try:
        folder = Path(project or "").absolute()
    except FileNotFoundError:
        raise UsageProblem("The current folder no longer exists.", "Change to another one, and try again.") from None
    forced = forces_color(os.environ)
    colorless = no_color or bool(os.environ.get("NO_COLOR")) or (os.environ.get("TERM") == "dumb" and not forced)
    context.color = False if colorless else forced or None
    flags = places(folder, **given) | ({"output": "verbose"} if verbose else {})
    context.obj = Invocation(folder, os.environ, not colorless, flags)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _lines(title: str, rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Names, and what they do; the title of the group stands before the first."""
    shared = {second for second, _ in _TOGETHER.values()}
    for row in rows:
        if row.name not in shared:
            second, summary = _TOGETHER.get(row.name, ("", row.summary))
            yield f"{title:8}{row.name}{f', {second}' if second else ''}", summary
            title = ""


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def _help(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or of the whole program."""
    found = context.find_root()
    if words == ("options",):  # those that go before the command
        formatter = found.make_formatter()
        found.command.format_usage(found, formatter)
        click.Command.format_options(found.command, found, formatter)
        click.echo(formatter.getvalue().rstrip("\n"))
        return
    for word in words:
        group = found.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{found.command_path} has no command '{word}'.", found)
        name, command, _ = group.resolve_command(found, [word])
        assert command is not None
        found = click.Context(command, found, name, **command.context_settings)
    click.echo(found.get_help())


@click.command("version")
def _version() -> None:
    """Show the version."""
    click.echo(f"claude-iterate, version {__version__}")


HIDDEN = {"help": _help, "version": _version}
"""Commands that no list has: options do the same."""
