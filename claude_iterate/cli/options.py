"""Parameters that several commands share. A flag that overrides a setting is judged by that setting's own kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import click
from click.core import ParameterSource

from claude_iterate.cli import completion, picker
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core import names
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.catalogue import catalogue
from claude_iterate.core.settings.layers import Layer
from claude_iterate.core.settings.modes import MODES
from claude_iterate.errors import UsageProblem

Function = TypeVar("Function", bound=Callable[..., Any])
_TYPED = "claude_iterate.typed"
"""Values of settings as they were typed, in the context of the command."""
_SHOWING = frozenset(
    {
        "as_json",
        "verbose",
        "quiet",
        "output",
        "detailed_exit_code",
        "show_report",
        "accept_changes",
        "parallel",
        "every",
        "reset",
        "detach",
        "watch",
    }
)
"""Options that change what is printed and nothing else, and two that are not to be repeated without a thought."""


class SettingOption(click.Option):
    """An option whose parameter is called like its setting, dots and all, so that `**given` is a layer."""

    def __init__(self, declarations: Any, setting: str, **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.name = setting


class Whole(click.IntRange):
    """A whole number within bounds, without `[x>=0]` in the help."""

    def _describe_range(self) -> str:
        return ""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number, or a sentence that says which ones there are."""
        try:
            return super().convert(value, parameter, context)
        except click.BadParameter:
            bounds = f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"{value!r} is not a whole number {bounds}.", parameter, context)


def setting_option(
    key: str, *flags: str, metavar: str = "N", more: str = "", otherwise: str | None = None, repeatable: bool = False
) -> Callable[[Function], Function]:
    """An option for one setting; its help is the setting's sentence. `otherwise` is its value when it has none;
    `repeatable`: it is given once for each item of a list."""
    setting = catalogue()[key]

    def value(context: click.Context, parameter: click.Parameter, text: str | tuple[str, ...] | None) -> Any:
        context.meta[f"{_TYPED}.{key}"] = text
        try:
            if isinstance(text, tuple):
                return setting.kind.accept(text) if text else None
            return None if text is None else setting.kind.from_text(text)
        except ValueError as refused:
            given = ", ".join(map(repr, text)) if isinstance(text, tuple) else repr(text)
            raise click.BadParameter(f"{given} is not {refused}.", context, parameter) from None

    sentence = f"{setting.sentence} {more}".rstrip()
    offered = completion.of_kind(setting.kind)
    return click.option(
        *flags,
        cls=SettingOption,
        setting=key,
        callback=value,
        metavar=metavar,
        help=sentence,
        shell_complete=offered,
        multiple=repeatable,
        **({} if otherwise is None else {"is_flag": False, "flag_value": otherwise}),
    )


def typed_again(invocation: Invocation) -> CommandLine:
    """The command that is being executed, so that the next step can repeat it: without what concerns the output alone,
    and with -C only if the project is not found from here."""
    context = click.get_current_context()
    given = (
        option
        for option in context.command.params
        if isinstance(option, click.Option)
        and option.name not in _SHOWING
        and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    )
    return CommandLine(invocation.program, tuple(words for option in given for words in _words(context, option)))


def _words(context: click.Context, option: click.Option) -> list[tuple[str, ...]]:
    value = context.params[option.name or ""]
    flag = max(option.secondary_opts if value is False else option.opts, key=len)
    if option.is_flag:
        return [(flag,)]
    if option.multiple:
        return [(flag, str(item)) for item in value]
    return [(flag, context.meta.get(f"{_TYPED}.{option.name}") or str(value))]


def layer_from_options(given: dict[str, Any]) -> Layer:
    """The settings that a command's options set, by dotted key; None means not given."""
    return Layer("flag", "command line", {key: value for key, value in given.items() if value is not None})


def output_level(verbose: bool, quiet: bool) -> str | None:
    """The setting `output` that two flags stand for."""
    if verbose and quiet:
        raise UsageProblem("Choose one of --verbose and --quiet.", "They exclude each other.")
    return "verbose" if verbose else "quiet" if quiet else None


def _checked(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    return names.check_name(value)


def _choose(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    return picker.choose_workspace(context, parameter) if value is None else names.check_name(value)


def workspace_argument(required: bool = False) -> click.Argument:
    """NAME: a workspace. Unless it is `required`, it can be left out on a terminal."""
    callback = _checked if required else _choose
    return click.Argument(["name"], required=required, callback=callback, shell_complete=completion.workspaces)


class Sections(click.Command):
    """A command with many options: its help shows them in sections. Those that no section names come last."""

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*self.sections, "Other")}
        for option in self.get_params(ctx):
            row = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if row is not None:
                named = (title for title, flags in self.sections.items() if not {*flags}.isdisjoint(option.opts))
                rows[next(named, "Other")].append(row)
        for title, found in rows.items():
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def command(
    name: str,
    workspace: bool = True,
    name_required: bool = False,
    cls: type[click.Command] = click.Command,
    json: str = "Print one JSON document.",
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that gets the Invocation and can answer in JSON.

    If it is about a workspace, its first argument is a NAME; a bad one is refused before the command begins.
    `name_required`: the command makes the workspace, deletes it, or takes words behind its name; so none is proposed.
    """

    def made(function: Callable[..., Any]) -> click.Command:
        found = click.command(name, cls=cls)(click.pass_obj(function))
        if workspace:
            found.params.insert(0, workspace_argument(name_required))
        found.params.append(click.Option(["--json", "as_json"], is_flag=True, help=json))
        return found

    return made


def _all_checked(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(names.check_name, value))


def named_workspace(function: Function) -> Function:
    """NAME as the first argument of a command that is made by click alone."""
    return click.argument("name", required=False, callback=_choose, shell_complete=completion.workspaces)(function)


names_argument = click.argument(
    "name", nargs=-1, metavar="NAME...", callback=_all_checked, shell_complete=completion.workspaces
)
"""One workspace or several."""


def name_argument_of(
    what: str, required: bool = True, offered: completion.Completer = completion.workspaces
) -> Callable[[Function], Function]:
    """The name of a workspace or template, where a command takes more than one; it is None when left out."""

    def checked(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
        return None if value is None else names.check_name(value, what)

    return click.argument(what, required=required, callback=checked, shell_complete=offered)


flag = partial(click.option, is_flag=True)


def switch(name: str, help: str) -> Callable[[Function], Function]:  # noqa: A002 - click calls it so, too
    """`--verify` and `--no-verify`: a flag that can also take back what a settings file says; None when not given."""
    return click.option(f"{name}/--no-{name.removeprefix('--')}", default=None, help=help)


force_option = flag("-f", "--force", help="Do not ask.")

verbose_option = flag("-v", "--verbose", help="Show Claude's words and tools as they come.")

dangerous_option = flag("--dangerously-skip-permissions", help="Allow everything. For sandboxes; never saved.")

check_option = setting_option(
    "verification.checks",
    "--check",
    metavar="COMMAND",
    more="Repeatable; in place of those that are set.",
    repeatable=True,
)

accept_option = flag(
    "--accept-changes",
    help="Take the files that define the proof as they are, even if an earlier run changed them.",
)
dry_run_option = flag(
    "--dry-run", help="Use the built-in fake Claude: no login, no cost. Its calls: /tmp/mock-claude.log."
)

mode_option = click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    help="; ".join(f"{mode.name}: {mode.summary}" for mode in MODES.values()) + ". Default: loop.",
)
