"""How commands are declared: `command`, and the parameters that several commands share.

A flag that overrides a setting is judged by that setting's own kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from claude_iterate.cli import completion, output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.core import names
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings import kinds
from claude_iterate.core.settings.declared import catalogue
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.tones import state_words
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import UsageProblem
from claude_iterate.views.workspace_view import state_of
from claude_iterate.workspace.project import Project

Function = TypeVar("Function", bound=Callable[..., Any])
_SHOWING = {"json", "verbose", "quiet", "output", "detailed", "show_report"}
_SHOWING |= {"accept_changes", "parallel", "every", "reset", "detach", "watch"}
"""Options that change what is printed and nothing else, and two that are not to be repeated without a thought."""


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


def setting_option(
    key: str, *flags: str, metavar: str = "N", more: str = "", otherwise: str | None = None, repeatable: bool = False
) -> Callable[[Function], Function]:
    """An option for one setting; its help is the setting's sentence. `otherwise` is its value when it has none;
    `repeatable`: it is given once for each item of a list. The command gets it as it was typed, under the name of the
    setting with `__` for each dot; `settings_from` reads it."""
    setting = catalogue()[key]

    def check(context: click.Context, parameter: click.Parameter, typed: Any) -> Any:
        try:
            settings_from({key: typed})
        except ValueError as refused:
            given = ", ".join(map(repr, typed)) if isinstance(typed, tuple) else repr(typed)
            raise click.BadParameter(
                f"{given} is not {str(refused).removeprefix('a list, each ')}.", context, parameter
            ) from None
        return typed

    without_value: dict[str, Any] = {} if otherwise is None else {"is_flag": False, "flag_value": otherwise}
    return click.option(
        *flags,
        key.replace(".", "__"),
        callback=check,
        metavar=metavar,
        help=f"{setting.sentence} {more}".rstrip(),
        shell_complete=completion.words(lambda _context: setting.kind.words),
        multiple=repeatable,
        **without_value,
    )


def settings_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, by dotted key, that these options set: texts as they were typed, or values. None and an empty list
    mean not given."""
    found: dict[str, Any] = {}
    for name, typed in given.items():
        if typed is not None and typed != ():
            key = name.replace("__", ".")
            kind = catalogue()[key].kind
            found[key] = kind.from_text(typed) if isinstance(typed, str) else kind.accept(typed)
    return found


def output_level(verbose: bool, quiet: bool, level: str | None = None) -> str | None:
    """The setting `output` as the flags say it."""
    given = {"--verbose": verbose, "--quiet": quiet, "--output": level is not None}
    choose_one(given, "Each sets the output level.")
    return "verbose" if verbose else "quiet" if quiet else level


def choose_one(given: Mapping[str, object], why: str = "They exclude each other.") -> None:
    """Refuse options that exclude each other; `given` are their names and what was given."""
    names_given = [name for name, value in given.items() if value]
    if len(names_given) > 1:
        raise UsageProblem(f"Choose one of {' and '.join(names_given)}.", why)


def run_request(invocation: Invocation, purpose: str = "run", **given: Any) -> RunRequest:
    """What this command asks of a run. An option is a field of the request, if there is one of its name, or else a
    setting."""
    level = output_level(given.pop("verbose", False), given.pop("quiet", False), given.pop("output", None))
    fields = {name: given.pop(name) for name in RunRequest.__struct_fields__ if name in given}
    return RunRequest(
        purpose=Purpose(purpose),
        color=invocation.color,
        as_json=output.wants_json(),
        command_line=command_line_again(invocation),
        settings=settings_from({**given, "output": level}),
        **fields,
    )


def command_line_again(invocation: Invocation) -> CommandLine:
    """The command that is being executed, so that the next step can repeat it: without what concerns the output alone,
    and with -C only if the project is not found from here."""
    context = click.get_current_context()
    typed = [
        words
        for option in context.command.params
        if isinstance(option, click.Option)
        and option.name not in _SHOWING
        and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        for words in _words(option, context.params[option.name or ""])
    ]
    return CommandLine(invocation.program, tuple(typed))


def _words(option: click.Option, value: Any) -> list[tuple[str, ...]]:
    flag = max(option.secondary_opts if value is False else option.opts, key=len)
    if option.is_flag:
        return [(flag,)]
    return [(flag, str(item)) for item in (value if option.multiple else [value])]


flag = partial(click.option, is_flag=True)


def switch(name: str, *parameter: str, help: str) -> Callable[[Function], Function]:  # noqa: A002 - click calls it so
    """`--verify` and `--no-verify`: a flag that can also take back what a settings file says; None when not given."""
    return click.option(f"{name}/--no-{name.removeprefix('--')}", *parameter, default=None, help=help)


run_option = partial(click.option, "--run", metavar="ID", shell_complete=completion.runs)
workspace_option = partial(click.option, "-w", "--workspace", metavar="NAME", shell_complete=completion.workspaces)
force_option = flag("-f", "--force", help="Do not ask.")
verbose_option = flag("-v", "--verbose", help="Show Claude's words and tools as they come.")
quiet_option = flag("-q", "--quiet", help="Show errors only.")
dangerous_option = flag(
    "--dangerously-skip-permissions", "skip_permissions", help="Allow everything. For sandboxes; never saved."
)
check_option = setting_option(
    "verification.checks",
    "--check",
    metavar="COMMAND",
    more="Repeatable; replaces the checks that are set.",
    repeatable=True,
)
accept_option = flag(
    "--accept-changes",
    help="Accept the files that define the proof as they are, even if an earlier run changed them.",
)
dry_run_option = flag(
    "--dry-run", help="Use the built-in fake Claude: no login, no cost. Its calls: /tmp/mock-claude.log."
)
detailed_option = flag(
    "--detailed-exit-code", "detailed", help="Use a different exit code for each group of reasons to end."
)
mode_option = click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    help="; ".join(f"{mode.name}: {mode.summary}" for mode in MODES.values()) + ". Default: loop.",
)
