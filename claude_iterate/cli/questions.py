"""Questions that end before a command goes on: which workspace, may this be deleted, how much may Claude do."""

from __future__ import annotations

from collections.abc import Mapping

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.core.settings.kinds import AMOUNT
from claude_iterate.core.tones import state_words
from claude_iterate.errors import UsageProblem
from claude_iterate.operations.permissions import EVERYTHING, Permissions
from claude_iterate.views.workspace_view import state_of
from claude_iterate.workspace.project import Project

_QUESTION = """\
How much may Claude do in this workspace? Claude cannot ask during a run, so decide now:
  1  edit files in this project
  2  edit files, and run the commands you name{}
  3  everything{}"""
_BARE = " (only inside a disposable sandbox or container)"
_CLOSED_IN = """, in a sandbox ({}): it can write only this project, and your other files are not there
  4  everything, without a sandbox"""
_SURE = "Everything means any command: it can delete your files and send your data away. Are you sure?"


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


def confirm_deletion(what: str, question: str, again: str, warning: str = "") -> None:
    """Ends the command unless the user says yes. `again` is the command that does not ask; it is the advice where there
    is no terminal."""
    if not on_terminal():
        raise UsageProblem(
            f"Deleting {what} must be confirmed, and there is no terminal to ask on.", f"If you are sure: {again}"
        )
    if warning:
        output.warn(warning)
    if not click.confirm(question, err=True):
        output.note("Nothing was deleted.")
        raise click.exceptions.Exit(1)


def choose_permissions(suggested: tuple[str, ...] = (), sandbox: str = "") -> Permissions:
    """How much Claude may do. Asked once, before the first run: during a run Claude cannot ask. Where the project's
    files suggest commands, these are offered: without them Claude cannot test what it did. Everything is offered in a
    sandbox first, where one works."""
    everything = _CLOSED_IN.format(sandbox) if sandbox else _BARE
    output.note(_QUESTION.format(f" (found here: {', '.join(suggested)})" if suggested else "", everything))
    default = "2" if suggested else "1"
    choices = ["1", "2", "3", *(["4"] if sandbox else [])]
    while True:
        answer = click.prompt("Your choice", type=click.Choice(choices), default=default, err=True)
        if answer == "1":
            return Permissions("acceptEdits")
        if answer == "2":
            return Permissions("acceptEdits", _ask_commands(suggested))
        if answer == "3" and sandbox:
            return Permissions(EVERYTHING, sandbox=sandbox)
        if click.confirm(_SURE, err=True):
            return Permissions(EVERYTHING)


def ask_amount(question: str) -> float | None:
    """An amount in US dollars; Enter is none."""
    while True:
        text = click.prompt(question, default="", show_default=False, err=True)
        if not text.strip():
            return None
        try:
            return float(AMOUNT.from_text(text))
        except ValueError as refused:
            output.note(f"{text!r} is not {refused}.")


def _ask_commands(suggested: tuple[str, ...]) -> tuple[str, ...]:
    example = "" if suggested else " (for example: npm test, git commit)"
    while True:
        question, offered = f"Commands, separated by commas{example}", ", ".join(suggested)
        text = click.prompt(question, default=offered, show_default=bool(offered), err=True)
        if commands := [command.strip() for command in text.split(",") if command.strip()]:
            return tuple(f"Bash({command}:*)" for command in commands)
        output.note("Name at least one, or press Ctrl-C and choose 1.")
