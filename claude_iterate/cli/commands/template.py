"""`template save|use|list|show|delete`: begin a workspace with what another one was taught."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.commands import template_display
from claude_iterate.cli.commands.template_display import settings_of
from claude_iterate.cli.group import group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument_of
from claude_iterate.cli.terminal import confirmation
from claude_iterate.workspace.files.folders import remove
from claude_iterate.workspace.templates import template_files

_template = name_argument_of("template", "template")
_workspace = name_argument_of("workspace", "workspace")
_global = click.option("-g", "--global", "globally", is_flag=True, help="Your own template, for all projects.")


@click.command("save")
@_workspace
@name_argument_of("template", "template", required=False)
@click.option("-d", "--description", metavar="TEXT", help="What it is for.")
@click.option("-t", "--tags", metavar="A,B", help="Words to find it by, separated by commas.")
@click.option(
    "-e", "--estimated-iterations", metavar="N", type=click.IntRange(1), help="How many iterations it usually takes."
)
@_global
@click.option(
    "-f", "--force", is_flag=True, help="Replace a template of that name; what you do not give again is kept."
)
@json_option
@click.pass_obj
def save(
    invocation: Invocation,
    workspace: str,
    template: str | None,
    description: str | None,
    tags: str | None,
    estimated_iterations: int | None,
    globally: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Save the instructions and settings of WORKSPACE as TEMPLATE.

    Without TEMPLATE it is called like the workspace.
    """
    from claude_iterate.workspace.templates import template_creation

    project = invocation.project
    layout = project.layout(workspace)
    name = template or workspace
    folder = (project.global_templates_folder if globally else project.templates_folder) / name
    words = None if tags is None else list(dict.fromkeys(tag.strip() for tag in tags.split(",") if tag.strip()))
    about = template_creation.About(description, words, estimated_iterations)
    left_out = template_creation.save(layout, folder, about, force)
    if as_json:
        scope = "global" if globally else "project"
        output.document({"name": name, "scope": scope, "path": str(folder), "notCarried": left_out})
    else:
        output.done(f"Saved the template {name}: {folder}")
        output.note(f"Use it: claude-iterate template use {name} WORKSPACE")
    if left_out:
        output.warn(f"Secrets are not carried: {', '.join(left_out)}. Set them again in each new workspace.")


@click.command("use")
@_template
@_workspace
@json_option
@click.pass_obj
def use(invocation: Invocation, template: str, workspace: str, as_json: bool) -> None:
    """Make the workspace WORKSPACE from TEMPLATE.

    A template of this project is taken before one of your own.
    """
    project = invocation.project
    found = template_files.find(project, template)
    layout = template_files.use(project, found, workspace)
    settings = settings_of(found)
    if as_json:
        output.document(
            {
                "name": workspace,
                "path": str(layout.folder),
                "template": template,
                "scope": found.scope,
                "mode": found.mode,
                "settings": settings,
            }
        )
        return
    output.done(f"Made the workspace {workspace} from the {found.scope} template {template}: {layout.folder}")
    for line in template_display.lines(settings):
        output.note(f"  {line}")
    output.note(f"Next: claude-iterate run {workspace}")


@click.command("delete")
@_template
@_global
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def delete(invocation: Invocation, template: str, globally: bool, force: bool, as_json: bool) -> int:
    """Delete TEMPLATE of this project; with --global, your own."""
    found = template_files.find(invocation.project, template, "global" if globally else "project")
    flags = " --global --force" if globally else " --force"
    again = f"claude-iterate template delete {template}{flags}"
    question = f"Delete the {found.scope} template {found.folder}?"
    if not force and not confirmation.confirmed(f"the template {template}", question, again):
        output.note("Nothing was deleted.")
        return 1
    remove(found.folder)
    if as_json:
        output.document({"name": template, "scope": found.scope, "deleted": str(found.folder)})
    else:
        output.done(f"Deleted the template {found.folder}")
    return 0


command = group(
    "template",
    "Keep instructions and settings of a workspace, to begin other workspaces with.",
    (save, use, template_display.listing, template_display.show, delete),
)
