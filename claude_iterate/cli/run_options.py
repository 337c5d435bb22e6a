"""The options of commands that start a run, and the request that they make.

A flag that overrides a setting is judged by that setting's own kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from claude_iterate.cli import completion, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import Function, choose_one, flag
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import catalogue
from claude_iterate.core.settings.modes import MODES
from claude_iterate.engine.run_request import RunRequest

_SHOWING = {"json", "verbose", "quiet", "output", "detailed", "show_report"}
_SHOWING |= {"accept_changes", "parallel", "every", "reset", "detach", "watch"}
"""Options that change what is printed and nothing else, and two that are not to be repeated without a thought."""


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
