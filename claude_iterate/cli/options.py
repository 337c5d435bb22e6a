"""How commands are declared: `command`, and the parameters that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import click

from claude_iterate.cli import completion, output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.core import names
from claude_iterate.core.settings import kinds
from claude_iterate.core.tones import state_words
from claude_iterate.errors import UsageProblem
from claude_iterate.views.workspace_view import state_of
from claude_iterate.workspace.project import Project

Function = TypeVar("Function", bound=Callable[..., Any])


def command(
    name: str,
    workspace: bool = True,
    name_required: bool = False,
    cls: type[click.Command] = click.Command,
    json: str = "Print one JSON document.",
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that gets the Invocation and can answer in JSON, unless `json` is empty.

    If it is about a workspace, its first argument is a NAME; a bad one is refused before the command begins.
    `name_required`: the command makes the workspace, deletes it, or takes words behind its name; so none is proposed.
    """

    def declare(function: Callable[..., Any]) -> click.Command:
        if workspace:
            check = _name_check(proposes=not name_required)
            function = click.argument(
                "name", required=name_required, callback=check, shell_complete=completion.workspaces
            )(function)
        made = click.command(name, cls=cls)(click.pass_obj(function))
        if json:
            option = click.Option(["--json"], is_flag=True, expose_value=False, callback=_keep_json, help=json)
            made.params.append(option)
        return made

    return declare


def _keep_json(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.meta[output.JSON] = value


def _name_check(what: str = "workspace", proposes: bool = False) -> Callable[..., Any]:
    """The callback of an argument that takes a name, or several."""

    def check(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value is None:
            return choose_workspace(context, parameter) if proposes else None
        each = [names.check_name(name, what) for name in (value if isinstance(value, tuple) else (value,))]
        return tuple(each) if isinstance(value, tuple) else each[0]

    return check


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
    output.note("Which workspace?")
    for number, name in enumerate(found, 1):
        state = state_of(project.layout(name))
        words = state_words(state.state, state.known_by) if state else "damaged"
        output.note(f"  {number}  {name.ljust(max(map(len, found)))}  {words}".rstrip())
    by_number = {str(number): name for number, name in enumerate(found, 1)}
    choices = click.Choice([*found, *by_number])
    typed: str = click.prompt("Your choice", type=choices, show_choices=False, err=True)
    return typed if typed in found else by_number[typed]


def confirm_deletion(what: str, question: str, again: str, warning: str = "") -> None:
    """Ends the command unless the user says yes. `again` is the command that does not ask: the advice where there is no
    terminal."""
    if not on_terminal():
        raise UsageProblem(
            f"Deleting {what} must be confirmed, and there is no terminal to ask on.", f"If you are sure: {again}"
        )
    if warning:
        output.warn(warning)
    if not click.confirm(question, err=True):
        output.note("Nothing was deleted.")
        raise click.exceptions.Exit(1)


names_argument = click.argument(
    "name", nargs=-1, metavar="NAME...", callback=_name_check(), shell_complete=completion.workspaces
)
"""One workspace or several."""


def name_argument_of(
    what: str, required: bool = True, offered: completion.Completer = completion.workspaces
) -> Callable[[Function], Function]:
    """The name of a workspace or template, where a command takes more than one; it is None when left out."""
    return click.argument(what, required=required, callback=_name_check(what), shell_complete=offered)


def whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    """The type of an option that takes a whole number, judged as that of a setting."""
    kind = kinds.whole(least, most)

    def whole_number(value: Any) -> int:
        try:
            return int(kind.from_text(str(value)))
        except ValueError as refused:
            raise click.BadParameter(f"{value!r} is not {refused}.") from None

    return whole_number


def choose_one(given: Mapping[str, object], why: str = "They exclude each other.") -> None:
    """Refuse options that exclude each other; `given` are their names and what was given."""
    names_given = [name for name, value in given.items() if value]
    if len(names_given) > 1:
        raise UsageProblem(f"Choose one of {' and '.join(names_given)}.", why)


flag = partial(click.option, is_flag=True)


def switch(name: str, *parameter: str, help: str) -> Callable[[Function], Function]:  # noqa: A002 - click calls it so
    """`--verify` and `--no-verify`: a flag that can also take back what a settings file says; None when not given."""
    return click.option(f"{name}/--no-{name.removeprefix('--')}", *parameter, default=None, help=help)


run_option = partial(click.option, "--run", metavar="ID", shell_complete=completion.runs)
workspace_option = partial(click.option, "-w", "--workspace", metavar="NAME", shell_complete=completion.workspaces)
force_option = flag("-f", "--force", help="Do not ask.")
verbose_option = flag("-v", "--verbose", help="Show Claude's words and tools as they come.")
quiet_option = flag("-q", "--quiet", help="Show errors only.")
