"""`template save|use|list|show|delete`: start a workspace with what another one was taught."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.command_table import group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.output import printable
from claude_iterate.core.formats import head, plain, plural
from claude_iterate.core.redact import mask_setting
from claude_iterate.errors import SettingsProblem
from claude_iterate.system.untrusted_files import remove
from claude_iterate.views.settings_view import as_words
from claude_iterate.workspace import templates

_SHOWN_LINES = 10
_offered = completion.words(lambda context: templates.list_names(completion.project_of(context)))
_template = options.name_argument_of("template", offered=_offered)
_workspace = options.name_argument_of("workspace")
_global = options.flag("-g", "--global", "globally", help="Your own template, for all projects.")


@options.command("save", workspace=False)
@_workspace
@options.name_argument_of("template", required=False, offered=_offered)
@click.option("-d", "--description", metavar="TEXT", help="What it is for.")
@click.option("-t", "--tags", metavar="A,B", help="Words to find it by, separated by commas.")
@click.option(
    "-e", "--estimated-iterations", metavar="N", type=options.whole(1), help="How many iterations it usually takes."
)
@_global
@options.flag("-f", "--force", help="Replace a template of that name; it keeps what you do not give again.")
def save(
    invocation: Invocation,
    workspace: str,
    template: str | None,
    description: str | None,
    tags: str | None,
    estimated_iterations: int | None,
    globally: bool,
    force: bool,
) -> None:
    """Save the instructions and settings of WORKSPACE as TEMPLATE; without TEMPLATE, under the workspace's name.

    \b
    Examples:
      claude-iterate template save port-tests -d 'Port a test suite'
      claude-iterate template use port-tests next-task
    """
    project = invocation.project
    layout = project.layout(workspace)
    name = template or workspace
    folder = (project.global_templates_folder if globally else project.templates_folder) / name
    words = None if tags is None else list(dict.fromkeys(tag.strip() for tag in tags.split(",") if tag.strip()))
    about = {"description": description, "tags": words, "estimatedIterations": estimated_iterations}
    given = {key: value for key, value in about.items() if value is not None}
    left_out = templates.save(layout, folder, given, force)
    scope = "global" if globally else "project"
    document = {"name": name, "scope": scope, "path": str(folder), "notCarried": left_out}
    then = f"Use it: claude-iterate template use {name} WORKSPACE"
    output.answer(document, f"Saved the template {name}: {folder}", then)
    if left_out:
        output.warn(f"Secrets are not carried: {', '.join(left_out)}. Set them again in each new workspace.")


@options.command("use", workspace=False)
@_template
@_workspace
def use(invocation: Invocation, template: str, workspace: str) -> None:
    """Make the workspace WORKSPACE from TEMPLATE: one of this project, else one of your own."""
    project = invocation.project
    found = templates.find(project, template)
    layout = templates.use(project, found, workspace)
    settings = _settings_of(found)
    document = {
        "name": workspace,
        "path": str(layout.folder),
        "template": template,
        "scope": found.scope,
        "mode": found.mode,
        "settings": settings,
    }
    made = f"Made the workspace {workspace} from the {found.scope} template {template}: {layout.folder}"
    then = "\n".join([*_lines(settings), f"Next: claude-iterate run {workspace}"])
    output.answer(document, made, then)


@options.command("list", workspace=False)
def listing(invocation: Invocation) -> None:
    """List the templates of this project and your own."""
    project = invocation.project
    found = templates.list_templates(project)
    ours = {template.name for template in found if template.scope == "project"}
    rows = [_row(template, template.scope == "global" and template.name in ours) for template in found]
    if output.wants_json():
        places = {scope: str(folder) for scope, folder in templates.template_folders(project).items()}
        output.document({"folders": places, "templates": rows})
    elif not rows:
        output.note(f"No templates in {project.templates_folder} or {project.global_templates_folder}.")
        output.note("Make one: claude-iterate template save WORKSPACE")
    else:
        output.table([_line(row) for row in rows], ("NAME", "SCOPE", "MODE", "TAGS", "DESCRIPTION"))
    for row in rows:
        if row["problem"]:
            output.warn(row["problem"])


@options.command("show", workspace=False)
@_template
def show(invocation: Invocation, template: str) -> None:
    """Show what TEMPLATE says and sets, and how its instructions begin."""
    found = templates.find(invocation.project, template)
    text = found.instructions().decode("utf-8", "replace")
    row = _row(found, False) | {"settings": {}, "instructions": text}
    try:
        row["settings"] = _settings_of(found)
    except SettingsProblem as wrong:
        row["problem"] = row["problem"] or wrong.message
    if output.wants_json():
        output.document(row)
    else:
        _print(row)


@options.command("delete", workspace=False)
@_template
@_global
@options.force_option
def delete(invocation: Invocation, template: str, globally: bool, force: bool) -> None:
    """Delete TEMPLATE of this project; with --global, your own."""
    found = templates.find(invocation.project, template, "global" if globally else "project")
    if not force:
        again = f"claude-iterate template delete {template}{' --global' if globally else ''} --force"
        question = f"Delete the {found.scope} template {found.folder}?"
        options.confirm_deletion(f"the template {template}", question, again)
    remove(found.folder)
    document = {"name": template, "scope": found.scope, "deleted": str(found.folder)}
    output.answer(document, f"Deleted the template {found.folder}")


def _settings_of(template: templates.Template) -> dict[str, Any]:
    """What the template sets, as JSON has it; what looks secret is masked."""
    return {key: plain(mask_setting(key, value)) for key, value in template.settings.values.items()}


def _lines(settings: dict[str, Any]) -> list[str]:
    return [f"  {key} = {printable(as_words(key, value))}" for key, value in settings.items()]


def _row(template: templates.Template, hidden: bool) -> dict[str, Any]:
    return {
        "name": template.name,
        "scope": template.scope,
        "hidden": hidden,
        "description": template.description or None,
        "mode": template.mode,
        "tags": template.tags,
        **{key: template.document.get(key) for key in ("estimatedIterations", "version", "author", "created")},
        "path": str(template.folder),
        "problem": template.problem or None,
    }


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    scope = f"{row['scope']} (hidden)" if row["hidden"] else row["scope"]
    mode = "damaged" if row["problem"] else printable(row["mode"])
    return row["name"], scope, mode, printable(",".join(row["tags"])), printable(row["description"] or "")


def _print(row: dict[str, Any]) -> None:
    output.result(output.heading(row["name"]) + f"  {printable(row['description'] or '')}".rstrip())
    for label, value in (
        ("Scope", f"{row['scope']}, {row['path']}"),
        ("Mode", row["mode"]),
        ("Tags", ", ".join(row["tags"])),
        ("Takes about", f"{row['estimatedIterations']} iterations" if row["estimatedIterations"] else ""),
        *((key.capitalize(), row[key]) for key in ("version", "author", "created")),
    ):
        if value:
            output.result(f"{label}: {printable(value)}")
    output.result("Settings:" if row["settings"] else "Settings: none")
    beginning, more = head(row["instructions"].rstrip(), _SHOWN_LINES)
    instructions = [f"  {printable(line)}".rstrip() for line in beginning.split("\n")]
    for line in (*_lines(row["settings"]), "Instructions:", *instructions):
        output.result(line)
    if more:
        output.result(f"  ... ({plural(more, 'more line')})")
    if row["problem"]:
        output.warn(row["problem"])


command = group(
    "template",
    "Keep the instructions and settings of a workspace, to start other workspaces with them.",
    (save, use, listing, show, delete),
)
