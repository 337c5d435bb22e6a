"""`template list` and `template show`. They look and change nothing."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument_of
from claude_iterate.cli.output import printable
from claude_iterate.core.formats import counted, plain
from claude_iterate.errors import SettingsProblem
from claude_iterate.text.line_blocks import head
from claude_iterate.views.setting_values import as_text, masked_setting
from claude_iterate.workspace.templates import template_files

_SHOWN_LINES = 10


@click.command("list")
@json_option
@click.pass_obj
def listing(invocation: Invocation, as_json: bool) -> None:
    """List the templates of this project and your own."""
    project = invocation.project
    found = template_files.templates(project)
    ours = {template.name for template in found if template.scope == "project"}
    rows = [_row(template, template.scope == "global" and template.name in ours) for template in found]
    if as_json:
        places = {scope: str(folder) for scope, folder in template_files.folders(project).items()}
        output.document({"folders": places, "templates": rows})
    elif not rows:
        output.note(f"No templates in {project.templates_folder} or {project.global_templates_folder}.")
        output.note("Make one: claude-iterate template save WORKSPACE")
    else:
        output.table([_line(row) for row in rows], ("NAME", "SCOPE", "MODE", "TAGS", "DESCRIPTION"))
    for row in rows:
        if row["problem"]:
            output.warn(printable(row["problem"]))


@click.command("show")
@name_argument_of("template", "template")
@json_option
@click.pass_obj
def show(invocation: Invocation, template: str, as_json: bool) -> None:
    """Show what TEMPLATE says and sets, and how its instructions begin."""
    found = template_files.find(invocation.project, template)
    problem = ""
    try:
        settings = settings_of(found)
    except SettingsProblem as wrong:
        settings, problem = {}, wrong.message
    text = found.instructions().decode("utf-8", "replace")
    row = _row(found, False)
    row |= {"problem": row["problem"] or problem or None, "settings": settings, "instructions": text}
    if as_json:
        output.document(row)
    else:
        _print(row)


def settings_of(template: template_files.Template) -> dict[str, Any]:
    """What the template sets, as JSON has it; what looks secret is masked."""
    values = template.settings.values
    return {key: plain(masked_setting(key, value)) for key, value in values.items()}


def lines(settings: dict[str, Any]) -> list[str]:
    """One line per setting."""
    return [f"{key} = {printable(as_text(value))}" for key, value in settings.items()]


def _row(template: template_files.Template, hidden: bool) -> dict[str, Any]:
    document = template.document
    return {
        "name": template.name,
        "scope": template.scope,
        "hidden": hidden,
        "description": template.description or None,
        "mode": template.mode,
        "tags": template.tags,
        "estimatedIterations": document.get("estimatedIterations"),
        "version": document.get("version"),
        "author": document.get("author"),
        "created": document.get("created"),
        "path": str(template.folder),
        "problem": template.problem or None,
    }


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    scope = f"{row['scope']} (hidden)" if row["hidden"] else row["scope"]
    mode = "damaged" if row["problem"] else printable(row["mode"])
    return row["name"], scope, mode, printable(",".join(row["tags"])), printable(row["description"] or "")


def _print(row: dict[str, Any]) -> None:
    output.result(output.heading(row["name"]) + f"  {printable(row['description'] or '')}".rstrip())
    output.result(f"Scope: {row['scope']}, {row['path']}")
    output.result(f"Mode: {printable(row['mode'])}")
    for label, value in (
        ("Tags", ", ".join(row["tags"])),
        ("Takes about", f"{row['estimatedIterations']} iterations" if row["estimatedIterations"] else ""),
        ("Version", row["version"]),
        ("Author", row["author"]),
        ("Created", row["created"]),
    ):
        if value:
            output.result(f"{label}: {printable(value)}")
    output.result("Settings:" if row["settings"] else "Settings: none")
    for line in lines(row["settings"]):
        output.result(f"  {line}")
    output.result("Instructions:")
    beginning, more = head(row["instructions"].rstrip(), _SHOWN_LINES)
    for line in beginning:
        output.result(f"  {printable(line)}".rstrip())
    if more:
        output.result(f"  ... ({counted(more, 'more line')})")
    if row["problem"]:
        output.warn(printable(row["problem"]))
