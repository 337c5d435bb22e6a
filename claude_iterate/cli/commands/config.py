"""`config`: read the effective settings, change one setting in one scope."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.commands import config_list
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option
from claude_iterate.core.settings.declared import is_group, snake
from claude_iterate.core.settings.layers import Resolved, resolve
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.views.setting_values import as_text, covered, shapeless
from claude_iterate.workspace.running import run_lock
from claude_iterate.workspace.settings_files import settings_reader, settings_writer
from claude_iterate.workspace.settings_files.settings_writer import setting_named

_DANGEROUS = "--dangerously-skip-permissions"


@click.command("config")
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("-l", "--list", "listing", is_flag=True, help="Print every effective value.")
@click.option("-k", "--keys", is_flag=True, help="Explain every setting: kind, default, value, source.")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("-g", "--global", "user", is_flag=True, help="The user's settings, for all projects.")
@click.option("-w", "--workspace", metavar="NAME", help="The settings of one workspace.")
@click.option("--add", metavar="V", help="Add to a list.")
@click.option("--remove", metavar="V", help="Remove from a list.")
@click.option("--unset", is_flag=True, help="Remove the setting.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    key: str | None,
    value: str | None,
    listing: bool,
    keys: bool,
    origin: bool,
    user: bool,
    workspace: str | None,
    add: str | None,
    remove: str | None,
    unset: bool,
    as_json: bool,
) -> None:
    """Read or change settings. KEY alone prints its effective value; KEY VALUE sets it in the project.

    \b
    Examples:
      claude-iterate config max_iterations
      claude-iterate config claude.model opus
      claude-iterate config claude.allowed_tools --add 'Bash(npm test:*)' --workspace my-task
      claude-iterate config --keys
    """
    changes = [name for name, given in _changes(value, add, remove, unset) if given]
    _check(key, changes, listing or keys, user, workspace)
    if key is None:
        resolved = _resolved(invocation, user, workspace)
        config_list.explain(resolved, as_json) if keys else config_list.values(resolved, "", origin, as_json)
    elif not changes:
        _read(_resolved(invocation, user, workspace), key, origin, as_json)
    else:
        _change(invocation, key, (value, add, remove), user, workspace, as_json)


def _changes(value: str | None, add: str | None, remove: str | None, unset: bool) -> list[tuple[str, bool]]:
    return [
        ("VALUE", value is not None),
        ("--add", add is not None),
        ("--remove", remove is not None),
        ("--unset", unset),
    ]


def _check(key: str | None, changes: list[str], overview: bool, user: bool, workspace: str | None) -> None:
    if len(changes) > 1:
        raise UsageProblem(f"Choose one of {' and '.join(changes)}.", "See: claude-iterate config --help")
    if changes and key is None:
        raise UsageProblem(f"{changes[0]} needs a KEY.", "See the keys: claude-iterate config --keys")
    if overview and key is not None:
        raise UsageProblem("--list and --keys take no KEY.", f"To read one: claude-iterate config {key}")
    if user and workspace is not None:
        raise UsageProblem(
            "Choose one of --global and --workspace.", "Without either, the project's settings are meant."
        )


def _resolved(invocation: Invocation, user: bool, workspace: str | None) -> Resolved:
    """Effective values as seen from a scope: a workspace's include its own, the user's only the user's."""
    if workspace is not None:
        project = invocation.project
        return project.settings_for(project.layout(workspace))
    if user:
        layer = settings_reader.file_layer("user", settings_reader.user_file(invocation.environ))
        return resolve([layer] if layer else [])
    return invocation.project.resolved


def _read(resolved: Resolved, key: str, origin: bool, as_json: bool) -> None:
    if is_group(key):
        config_list.values(resolved, setting_prefix(key), origin, as_json)
        return
    setting = setting_named(key)
    found = config_list.entry(resolved, setting, cover=False)
    if as_json:
        output.document(found)
    elif found["value"] is None:
        output.note(f"`{setting.key}` is not set. {setting.sentence}")
    else:
        output.result(as_text(found["value"]) + (f"  ({config_list.source(found)})" if origin else ""))


def setting_prefix(group: str) -> str:
    """The prefix of the settings in a group, however it is spelled."""
    return snake(group) + "."


def _change(
    invocation: Invocation,
    key: str,
    words: tuple[str | None, str | None, str | None],
    user: bool,
    workspace: str | None,
    as_json: bool,
) -> None:
    setting = setting_named(key)
    if workspace is not None:
        layout = invocation.project.layout(workspace)
        path, kind = layout.metadata, "workspace"
        # A running loop writes the same file; its settings were read when it began anyway.
        with run_lock.hold(layout.lock, workspace, "config"):
            now = _written(path, setting.key, *words)
    else:
        kind = "user" if user else "project"
        environ, root = invocation.environ, invocation.project.root
        path = settings_writer.user_target(environ) if user else settings_writer.project_target(root)
        now = _written(path, setting.key, *words)
    if as_json:
        output.document({"key": setting.key, "value": shapeless(now), "scope": kind, "place": str(path)})
    else:
        shown = f"= {as_text(covered(setting.key, now))}" if now is not None else "is not set"
        output.done(f"{setting.key} {shown}  ({path})")
    if setting.key == "claude.args" and any(_DANGEROUS in (word or "") for word in words[:2]):
        output.warn(f"{_DANGEROUS} lets Claude do everything, unasked. Use it only where nothing can be lost.")
    _tell_if_hidden(invocation, setting.key, kind, workspace)


def _written(path: Path, key: str, value: str | None, add: str | None, remove: str | None) -> Any:
    """Make the change; the value that stands in the file now, None when none does."""
    if value is not None:
        return settings_writer.set_text(path, key, value)
    if add is not None:
        return settings_writer.add(path, key, add)
    if remove is not None:
        return settings_writer.remove(path, key, remove)
    settings_writer.unset(path, key)
    return None


def _tell_if_hidden(invocation: Invocation, key: str, kind: str, workspace: str | None) -> None:
    """A value that a stronger layer overrides changes nothing; better said now than searched for later."""
    order = ("default", "user", "project", "workspace", "environment")
    with contextlib.suppress(ExpectedError):  # another key of the file may still be bad; the next command says so
        fresh = Invocation(invocation.folder, invocation.environ, invocation.colour)
        origin = _resolved(fresh, False, workspace).origin(key)
        if order.index(origin.kind) > order.index(kind):
            output.warn(f"It has no effect here: {config_list.place(origin.kind, origin.place, key)} overrides it.")
