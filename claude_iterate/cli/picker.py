"""Which workspace is meant when none was named."""

from __future__ import annotations

from collections.abc import Mapping

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.core.tones import state_words
from claude_iterate.views.listing_view import state_of
from claude_iterate.workspace.project import Project


def choose_workspace(context: click.Context, parameter: click.Parameter) -> str:
    """On a terminal the only workspace, or the one that the user picks. What a script leaves out is an error, for it
    may be an empty variable."""
    if context.resilient_parsing:
        return ""
    project: Project = context.obj.project
    found = project.workspaces() if on_terminal() else []
    if not found:
        raise click.MissingParameter(ctx=context, param=parameter, param_hint="'NAME'")
    if len(found) == 1:
        output.note(f"{found[0]} is the only workspace here.")
        return found[0]
    states = {name: state_of(project.layout(name)) for name in found}
    words = {name: state_words(it.state, it.known_by) if it else "damaged" for name, it in states.items()}
    return _pick(words)


def _pick(states: Mapping[str, str]) -> str:
    """One of these workspaces, by its number or its name."""
    width = max(map(len, states))
    output.note("Which workspace?")
    for number, (name, state) in enumerate(states.items(), 1):
        output.note(f"  {number}  {name.ljust(width)}  {state}".rstrip())
    by_number = {str(number): name for number, name in enumerate(states, 1)}
    while True:
        typed = click.prompt("Your choice", err=True).strip()
        if typed in states or typed in by_number:
            return typed if typed in states else by_number[typed]
        output.note(f"{output.printable(typed)!r} is neither a number of the list nor a name.")
