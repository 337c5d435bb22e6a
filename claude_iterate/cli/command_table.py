"""The table of commands: what people type, where it is, what it is for. `--help` is made from it alone.

A module in `commands/` offers a click command called `command`, or several by their names in `commands`; what a command
returns is the exit code (None: 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import click
import msgspec

from claude_iterate.core.names import nearest


class Row(msgspec.Struct, frozen=True):
    """One command: its group, the name people type, its module in `cli/commands`, its line in the help."""

    group: str
    name: str
    module: str
    summary: str


COMMANDS = (
    Row("Task", "setup", "setup", "Write the instructions, and make the workspace."),
    Row("Task", "init", "setup", "Make a workspace without instructions."),
    Row("Task", "edit", "setup", "Improve the instructions with Claude."),
    Row("Task", "validate", "validate", "Have Claude grade the instructions."),
    Row("Run", "run", "run", "Run Claude in a loop until the task is done."),
    Row("Run", "plan", "run", "Make or update the plan: tasks for `build`."),
    Row("Run", "build", "run", "Carry out the plan, one task per iteration."),
    Row("Run", "verify", "verify", "Prove that the task is done: checks and a review."),
    Row("Look", "list", "list_and_show", "List the workspaces."),
    Row("Look", "show", "list_and_show", "Show one workspace: progress, last run, proof."),
    Row("Look", "history", "history", "Show each iteration: time, cost, work, outcome."),
    Row("Look", "watch", "watch", "Watch runs live, and steer them with keys."),
    Row("Look", "attach", "attach", "Show a run on this terminal, with its keys."),
    Row("Look", "dashboard", "dashboard", "Show and steer all runs on a local web page."),
    Row("Look", "report", "report", "Write a report of the task into one file."),
    Row("Look", "replay", "replay", "Show a recorded run again, or draw it as a picture."),
    Row("Look", "logs", "logs", "Print or follow the log of a run."),
    Row("Steer", "pause", "steer", "Finish the running iteration, then hold."),
    Row("Steer", "resume", "steer", "Continue after a pause."),
    Row("Steer", "stop", "steer", "End a run after its iteration, or now."),
    Row("Steer", "skip", "steer", "End the running iteration and begin the next."),
    Row("Steer", "reboot", "steer", "Repeat the running iteration with fresh context."),
    Row("Steer", "retry", "steer", "End a wait for a limit and try again now."),
    Row("Steer", "note", "steer", "Leave a note for the next iteration."),
    Row("Keep", "reset", "reset", "Reset the counters, and set a stale claim aside."),
    Row("Keep", "clean", "archive", "Archive a workspace, then delete it."),
    Row("Keep", "template", "template", "Reuse instructions and settings in new workspaces."),
    Row("Keep", "archive", "archive", "Archive workspaces, and restore them."),
    Row("Set up", "config", "config", "Read and change settings."),
    Row("Set up", "trust", "trust", "Accept what Claude changed in a sandbox."),
    Row("Set up", "notify", "notify", "Send a test notification."),
    Row("Set up", "hook", "hook", "List and test your hooks."),
    Row("Set up", "doctor", "doctor", "Find problems on this computer and in the project."),
    Row("Set up", "selftest", "selftest", "Run the built-in fault tests."),
    Row("Set up", "demo", "demo", "See a whole run in ten seconds, without Claude."),
)
ALIASES = {
    "status": "",
    "ls": "list",
    "ps": "list",
    "start": "run",
    "new": "setup",
    "create": "setup",
    "rm": "clean",
    "remove": "clean",
    "delete": "clean",
    "log": "logs",
    "tail": "logs",
    "cancel": "stop",
    "tpl": "template",
    "templates": "template",
    "archives": "archive",
    "settings": "config",
}
"""Words that people type for a command. `status` is `show` with a NAME, and `list` without."""


class Group(click.Group):
    """Knows short names, and suggests a command for a word that it does not know."""

    aliases: ClassVar[Mapping[str, str]] = {"ls": "list", "rm": "delete", "remove": "delete"}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = self.get_command(ctx, args[0])
        if found is not None:
            return found.name, found, args[1:]  # by its own name, so that messages have that
        if ctx.resilient_parsing:  # a shell asks for completion: it is no place for messages
            return None, None, args[1:]
        if args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = nearest(args[0], self.list_commands(ctx)) or nearest(args[0], self.aliases)
        meant = f" Did you mean '{self.aliases.get(near[0]) or near[0]}'?" if near else self.advice(args[0])
        raise click.UsageError(f"No such command '{args[0]}'.{meant}", ctx)

    def advice(self, _word: str) -> str:
        """What to say when no command is similar."""
        return f" There are: {', '.join(self.commands)}."

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)  # in the order in which they are needed, not by letter


def group(name: str, sentence: str, commands: Iterable[click.Command]) -> click.Group:
    """The group; alone it prints its help."""
    return Group(
        name,
        {command.name or "": command for command in commands},
        callback=_help_when_alone,
        invoke_without_command=True,
        help=sentence,
    )


@click.pass_context
def _help_when_alone(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
