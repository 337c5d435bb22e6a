"""Writes the pages in docs/reference from the code, so that they cannot disagree with it.

Run `python docs/generate.py` after a change; `--check` writes nothing and fails when a page is out of date.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import claude_versions_page
import click
import json_forms
import msgspec

from claude_iterate import errors
from claude_iterate.cli import boundary
from claude_iterate.cli.application import application
from claude_iterate.cli.command_table import ALIASES, COMMANDS, Group
from claude_iterate.core import events
from claude_iterate.core.events import enums
from claude_iterate.core.events.enums import ENDINGS, NOT_PROVEN
from claude_iterate.core.formats import typed_duration
from claude_iterate.core.outcomes.classes import CLASSES, COUNTED_FAILURES, ENDING_FAILURES, RETRIED
from claude_iterate.core.reports import status
from claude_iterate.core.rules.between import BETWEEN_RULES, PROOF_RULES, nothing_can_be_recorded
from claude_iterate.core.rules.during import CHECK_RULES, HOOK_RULES, RUNNING_RULES
from claude_iterate.core.rules.hooks import FACTS, PREFIX
from claude_iterate.core.rules.steering import REQUEST_RULES, stop_signal
from claude_iterate.core.settings.declared import Setting, catalogue
from claude_iterate.core.state.condition import CONDITIONS, KILLED

REFERENCE = Path(__file__).parent / "reference"
NOTICE = "<!-- Made from the code by docs/generate.py. Change the code, then run it again. -->"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def code(text: str) -> str:
    """Text as code, or nothing for nothing."""
    return f"`{text}`" if text else ""


def sentence(text: str | None) -> str:
    """A docstring on one line."""
    return " ".join((text or "").split())


def conditions() -> list[str]:
    """What a run is doing: the words and what they mean."""
    words = [*CONDITIONS.items(), (KILLED, "The runner was killed. `run` continues where it was.")]
    return [
        "# What a run is doing",
        "",
        "One word, the same in `list`, `show` and JSON (`condition` of a run, `state` of a workspace): what the run is",
        "doing, or why it ended.",
        "",
        *table(("Word", "Means"), ((f"`{word}`", meaning) for word, meaning in words)),
        "The reasons: " + ", ".join(f"`{reason}`" for reason in ENDINGS) + "; see [exit codes](exit-codes.md).",
        "",
        "A run that continues a killed one begins where that one was. A run that is killed in any condition is",
        f"`{KILLED}`.",
    ]


def hook_facts() -> list[str]:
    """What a hook receives: the variables and the keys of the JSON object, from the one table."""
    return [
        "# What a hook receives",
        "",
        "As variables in its environment, and as one JSON object on a line on its standard input. All variables are",
        "set; what is not known is empty, or `null` in JSON. How to write one: [hooks](../how-to/hooks.md).",
        "",
        "| Variable | Key | Says |",
        "| --- | --- | --- |",
        *(f"| `{PREFIX}{fact.name}` | `{fact.key}` | {fact.sentence} |" for fact in FACTS),
        "",
        "The object has three more keys: `format` (1), `status` (the last report, or `null`) and `lastIteration` (the",
        "[event](events.md) `IterationFinished` of the last iteration, or `null`).",
    ]


def commands() -> list[str]:
    """Every command with its arguments and options."""
    lines = ["# Commands", "", "Every command takes `-h` for its help. Options of the program itself come first:", ""]
    lines += ["`claude-iterate [OPTIONS] COMMAND ...`", "", *_options(application)]
    lines += table(("Command", "Does"), ((f"[`{row.name}`](#{row.name})", row.summary) for row in COMMANDS))
    context = click.Context(application, info_name="claude-iterate")
    for row in COMMANDS:
        command = application.get_command(context, row.name)
        assert command is not None
        lines += [f"## {row.name}", "", code(_usage(row.name, command)), "", *_prose(command.help or "")]
        others = [
            alias for alias, name in ALIASES.items() if name == row.name or (not name and row.name in {"list", "show"})
        ]
        if others:
            lines += [f"Also: {', '.join(code(alias) for alias in others)}.", ""]
        lines += _options(command)
        if isinstance(command, click.Group):
            lines += _members(row.name, command)
    return lines


def _members(name: str, group: click.Group) -> list[str]:
    lines: list[str] = []
    for member, command in group.commands.items():
        lines += [f"### {name} {member}", "", code(_usage(f"{name} {member}", command)), ""]
        lines += _prose(command.help or "")
        names = group.aliases if isinstance(group, Group) else {}
        others = [alias for alias, name_of in names.items() if name_of == member]
        if others:
            lines += [f"Also: {', '.join(code(alias) for alias in others)}.", ""]
        lines += _options(command)
    return lines


def _usage(name: str, command: click.Command) -> str:
    words = ["claude-iterate", name, "COMMAND ..." if isinstance(command, click.Group) else "[OPTIONS]"]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            word = parameter.metavar or (parameter.name or "").upper()
            words.append(word if parameter.required else f"[{word}]")
    return " ".join(words)


def _prose(text: str) -> list[str]:
    """Help text: paragraphs, and as they are those that click must not wrap."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines += ["```text", *paragraph.removeprefix("\b\n").split("\n"), "```", ""]
        else:
            lines += [sentence(paragraph), ""]
    return lines


def _options(command: click.Command) -> list[str]:
    options = [
        parameter for parameter in command.params if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    rows = [
        (
            ", ".join(code(f"{flag}{_metavar(option)}") for flag in (*option.opts, *option.secondary_opts)),
            option.help or "",
        )
        for option in options
    ]
    return table(("Option", "Meaning"), rows) if rows else []


def _metavar(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return " " + "|".join(str(choice) for choice in option.type.choices)
    return f" {option.metavar or option.type.name.upper()}"


def all_settings() -> list[str]:
    """Every setting, group by group, and its other names."""
    lines = ["# Settings", ""]
    lines += ["Later layers win, key by key: default, user file, project file, workspace, environment, flag.", ""]
    lines += [
        "A duration is a number of seconds or a text such as `90s`, `5m` or `1h30m`. One entry of a table is set by its"
    ]
    lines += ["name behind the key: `claude-iterate config claude.env.PAGER cat`.", ""]
    for group in dict.fromkeys(key.rpartition(".")[0] for key in catalogue()):
        members = [setting for key, setting in catalogue().items() if key.rpartition(".")[0] == group]
        lines += [f"## {group or 'General'}", ""]
        lines += table(("Setting", "Accepts", "Default", "Meaning"), (_setting_row(setting) for setting in members))
    lines += ["## Names in the environment and in older files", ""]
    rows = ((code(s.key), code(s.variable), ", ".join(map(code, s.original))) for s in catalogue().values())
    return lines + table(("Setting", "Environment variable", "Also understood as"), rows)


def _setting_row(setting: Setting) -> tuple[str, ...]:
    return code(setting.key), setting.kind.expected, _default(setting), setting.sentence


def _default(setting: Setting) -> str:
    value = setting.default
    if value is None:
        return "not set"
    if setting.kind.form == "duration":
        return code(typed_duration(value))
    return code(msgspec.json.encode(value).decode())


def all_events() -> list[str]:
    """Every event of the journal with its fields."""
    printed = typing.get_args(events.StreamEvent)
    ours = [kind for kind in typing.get_args(events.Event) if kind not in printed]
    parts = (events.Tokens, events.Outcome, events.Carried, events.Denial, status.Status, status.Change)
    example = events.Entry(7, 1767225600.25, 12.5, events.AgentStarted(pid=4711, raw="0001"))
    lines = [
        "# Events",
        "",
        "The journal of a run is `runs/<run id>/events.ndjson` in the workspace: one JSON object per",
    ]
    lines += ["line, in order. A field that has its default value is left out. Long texts are shortened; a `cut` that"]
    lines += ["is a number says by how many characters. The whole output of Claude is in `raw/` beside it.", ""]
    lines += ["```json", msgspec.json.encode(example).decode(), "```", "", *_struct(events.Entry)]
    for title, kinds in (("The run and its iterations", ours), ("What Claude prints", printed), ("Parts", parts)):
        lines += [f"## {title}", ""]
        for kind in kinds:
            lines += _struct(kind)
    lines += ["## Words", "", "A journal of another version may hold others.", ""]
    rows = [(code(kind.__name__), sentence(kind.__doc__), ", ".join(map(code, kind))) for kind in _vocabularies()]
    return lines + table(("Type", "Says", "Words"), rows)


def _vocabularies() -> list[type[enums.Word]]:
    return [
        enums.Kind,
        enums.Cause,
        enums.Reboot,
        enums.Verb,
        enums.Why,
        enums.Purpose,
        enums.Point,
        enums.Meaning,
    ]


def _struct(kind: Any) -> list[str]:
    lines = [f"### {kind.__name__}", "", sentence(kind.__doc__).replace("None", "null"), ""]
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    types = {name: said for base in kind.__mro__ for name, said in vars(base).get("__annotations__", {}).items()}
    rows = [(code(name), code(types[name]), _field(name, defaults)) for name in kind.__struct_fields__]
    return lines + table(("Field", "Type", "Default"), rows)


def _field(name: str, defaults: dict[str, Any]) -> str:
    if name not in defaults:
        return "always there"
    value = defaults[name]
    if isinstance(value, str | int | float | tuple) or value is None:
        return code(msgspec.json.encode(value).decode())
    return "empty"


def exit_codes() -> list[str]:
    """The table of endings, and the codes of errors outside a run."""
    lines = [
        "# Exit codes",
        "",
        "A run ends for one reason. `simple` is the default; `--detailed-exit-code` or the setting",
    ]
    lines += ['`exit_codes = "detailed"` chooses the other column.', ""]
    unproven = {f"`completed`, known by `{how}`": end for how, end in NOT_PROVEN.items()}
    endings = {code(why): end for why, end in ENDINGS.items()} | unproven
    rows = ((why, str(end.simple), str(end.detailed), end.meaning) for why, end in endings.items())
    lines += table(("Reason", "Simple", "Detailed", "Meaning"), rows)
    lines += [
        "A run whose last iteration finished and completed the task is `completed`, even if a signal or `stop`",
        "came meanwhile. An iteration that was cut short completes nothing: then the code is 130, 143, or that of",
        "`stopped`.",
        "",
    ]
    lines += ["## Errors", "", "These apply to every command. The message is on standard error.", ""]
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ExpectedError)
    ]
    rows_of_errors = [(str(kind.exit_code), sentence(kind.__doc__)) for kind in kinds]
    rows_of_errors += [
        (str(boundary.BUG), "A bug in claude-iterate. The message names the crash report."),
        (str(boundary.INTERRUPTED), "Ctrl-C outside a run."),
        (str(boundary.BROKEN_PIPE), "The program that read the output is gone."),
    ]
    return lines + table(("Code", "Meaning"), rows_of_errors)


def rules() -> list[str]:
    """The rules of the decision, in order."""
    lines = ["# Rules", "", "## Between two iterations", "", "The first rule that applies decides.", ""]
    lines += table(("", "Rule", "Says"), _rule_rows(BETWEEN_RULES))
    lines += [
        "## While Claude works",
        "",
        "Each rule names the moment at which it would end Claude; the earliest moment decides.",
        "",
    ]
    lines += table(("", "Rule", "Ends Claude when"), _rule_rows(RUNNING_RULES))
    lines += ["## Before something begins", "", "Asked before an iteration, a proof or a one-off call.", ""]
    lines += table(("", "Rule", "Says"), _rule_rows([nothing_can_be_recorded]))
    lines += [
        "## In a proof",
        "",
        "The first rule that applies decides.",
        "",
    ]
    lines += table(("", "Rule", "Says"), _rule_rows(PROOF_RULES))
    lines += ["While a check works, each rule names the moment at which it would end it; the earliest wins.", ""]
    lines += table(("", "Rule", "Ends the check when"), _rule_rows(CHECK_RULES))
    lines += ["", "## While a hook works", ""]
    lines += table(("", "Rule", "Ends the hook when"), _rule_rows(HOOK_RULES))
    lines += ["## When the user steers", ""]
    return lines + table(("", "Rule", "Says"), _rule_rows((stop_signal, *REQUEST_RULES)))


def _rule_rows(found: Iterable[Callable[..., Any]]) -> Iterable[tuple[str, ...]]:
    return [(str(number), code(rule.__name__), sentence(rule.__doc__)) for number, rule in enumerate(found, 1)]


def outcomes() -> list[str]:
    """The classes of outcome, in order."""
    lines = [
        "# Outcomes",
        "",
        "How one call of Claude ended. The classes are tried from top to bottom; the first that matches is",
    ]
    lines += [
        "the outcome. Only Claude's own result, exit code and error channels count, never what the model wrote.",
        "",
    ]
    rows = (
        (code(row.kind), row.meaning, _effect(row.kind), row.advice.format(rules="`--allow ...`")) for row in CLASSES
    )
    return lines + table(("Outcome", "Meaning", "Then", "Advice"), rows)


def _effect(kind: str) -> str:
    if kind in ENDING_FAILURES:
        return "the run ends"
    if kind == "budget":
        return "the run ends; with `limits.max_cost_per_iteration_usd` it continues as after `timeout`"
    if kind in COUNTED_FAILURES:
        return "the run continues until there were `stop.failures` of these without progress in between"
    if kind in RETRIED:
        return "the same iteration is repeated"
    return "the run ends" if kind == "interrupted" else "the run continues"


PAGES: dict[str, Callable[[], list[str]]] = {
    "commands": commands,
    "settings": all_settings,
    "events": all_events,
    "exit-codes": exit_codes,
    "rules": rules,
    "outcomes": outcomes,
    "conditions": conditions,
    "hooks": hook_facts,
    "claude-code-versions": claude_versions_page.page,
    "json": json_forms.page,
}


def render(name: str) -> str:
    """One page as text."""
    return "\n".join([NOTICE, "", *PAGES[name]()]).rstrip("\n") + "\n"


def texts() -> dict[Path, str]:
    """Every file in docs/reference."""
    pages = {REFERENCE / f"{name}.md": render(name) for name in PAGES}
    return pages | {REFERENCE / "json-schema.json": json_forms.schema_text()}


def out_of_date() -> list[Path]:
    """The files that differ from the code."""
    return [path for path, text in texts().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` name those that would change."""
    stale = out_of_date()
    if arguments == ["--check"]:
        for path in stale:
            sys.stderr.write(f"{path} is out of date. Run: python docs/generate.py\n")
        return 1 if stale else 0
    REFERENCE.mkdir(exist_ok=True)
    for path in stale:
        path.write_text(texts()[path], encoding="utf-8")
        sys.stdout.write(f"Wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
