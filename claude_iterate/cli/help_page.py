"""`--help` of the whole program, on one screen, and the commands `help` and `version`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import click

from claude_iterate import __version__
from claude_iterate.cli.command_rows import COMMANDS, Row

_OPTIONS = "-C DIR, --no-color, -V, -h; all of them: claude-iterate help options"
_HELP = "claude-iterate help COMMAND. New here? Try: claude-iterate demo"
_TOGETHER = {
    "edit": ("validate", "Improve the instructions; let Claude grade them."),
    "plan": ("build", "Make a plan; work it off, one task per iteration."),
    "list": ("show", "List the workspaces; show one: progress, run, proof."),
    "report": ("replay", "Write a run into one file; show it again as it was."),
    "reset": ("clean", "Counters to 0; archive a workspace, then delete it."),
    "notify": ("hook", "Try out notifications; list and try your hooks."),
    "selftest": ("demo", "Play every fault; see a whole run, without Claude."),
    "pause": ("resume", "Hold after the running iteration; go on after that."),
    "watch": ("attach", "See runs live: on a full screen; on this terminal."),
    "skip": ("reboot", "End the iteration: begin the next, or do it again."),
}
"""Commands that share a line with the one after them."""


def write(context: click.Context, formatter: click.HelpFormatter) -> None:
    """The commands by what they are for: few enough lines for a small terminal."""
    formatter.write_text(context.command.short_help or "")
    formatter.write_usage(context.command_path, "[OPTIONS] COMMAND ...")
    formatter.write_paragraph()
    lines = [line for title, rows in groupby(COMMANDS, lambda row: row.group) for line in _lines(title, rows)]
    _write_columns(formatter, lines)
    formatter.write_paragraph()
    _write_columns(formatter, [("Options", _OPTIONS), ("Help", _HELP)])


def _lines(title: str, rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """The title of a group, names, what they do; the title stands in the first line only."""
    shared = {second for second, _ in _TOGETHER.values()}
    for row in rows:
        if row.name in shared:
            continue
        second, summary = _TOGETHER.get(row.name, ("", row.summary))
        yield title, f"{row.name}, {second}" if second else row.name, summary
        title = ""


def _write_columns(formatter: click.HelpFormatter, lines: list[tuple[str, ...]]) -> None:
    """Each line in columns as wide as they need to be; the last one is wrapped."""
    widths = [max(len(line[column]) for line in lines) + 2 for column in range(len(lines[0]) - 1)]
    room = max(20, formatter.width - sum(widths))
    for line in lines:
        first, *rest = click.wrap_text(line[-1], room).splitlines()
        before = "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
        formatter.write(f"{click.style(before, bold=True) if line[0] else before}{first}\n")
        for more in rest:
            formatter.write(" " * sum(widths) + f"{more}\n")


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def _help(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or of the whole program."""
    found = context.find_root()
    if words == ("options",):
        _print_options(found)
        return
    for word in words:
        group = found.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{found.command_path} has no command '{word}'.", found)
        name, command, _ = group.resolve_command(found, [word])
        assert command is not None
        found = click.Context(command, found, name, **command.context_settings)
    click.echo(found.get_help())


def _print_options(context: click.Context) -> None:
    """Options that go before the command."""
    formatter = context.make_formatter()
    context.command.format_usage(context, formatter)
    click.Command.format_options(context.command, context, formatter)
    click.echo(formatter.getvalue().rstrip("\n"))


@click.command("version")
def _version() -> None:
    """Show the version."""
    click.echo(f"claude-iterate, version {__version__}")


HIDDEN = {"help": _help, "version": _version}
"""Commands that no list has: options do the same."""
