"""A command that is a group of commands, such as `template save`: short names, advice, help when called alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import click

from claude_iterate.core.names import nearest


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
