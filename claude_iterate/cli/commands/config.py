"""`config`: read the effective settings, change one setting in one scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.commands import config_list
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.settings.declared import is_group, snake
from claude_iterate.core.settings.layers import Resolved, resolve
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.views.setting_values import as_text, masked_setting, masked_value
from claude_iterate.workspace.running import run_lock
from claude_iterate.workspace.settings_files import settings_reader, settings_writer
from claude_iterate.workspace.settings_files.settings_writer import setting_named

_DANGEROUS = "--dangerously-skip-permissions"


@options.command("config", workspace=False)
@click.argument("key", required=False)
@click.argument("value", required=False)
@options.flag("-l", "--list", "listing", help="Print every effective value.")
@options.flag("-k", "--keys", help="Explain every setting: kind, default, value, source.")
@options.flag("--origin", help="Say where each value comes from.")
@options.flag("-g", "--global", "user", help="The user's settings, for all projects.")
@click.option("-w", "--workspace", metavar="NAME", help="The settings of one workspace.")
@click.option("--add", metavar="V", help="Add to a list.")
@click.option("--remove", metavar="V", help="Remove from a list.")
@options.flag("--unset", help="Remove the setting.")
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
    given = {"VALUE": value is not None, "--add": add is not None, "--remove": remove is not None, "--unset": unset}
    changes = [name for name, is_given in given.items() if is_given]
    _check(key, changes, listing or keys, user, workspace)
    if key is None:
        resolved = _resolved(invocation, user, workspace)
        config_list.explain(resolved, as_json) if keys else config_list.values(resolved, "", origin, as_json)
    elif not changes:
        _read(_resolved(invocation, user, workspace), key, origin, as_json)
    else:
        _change(invocation, key, (value, add, remove), user, workspace, as_json)


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
        config_list.values(resolved, snake(key) + ".", origin, as_json)
        return
    setting = setting_named(key)
    found = config_list.entry(resolved, setting, cover=False)
    if as_json:
        output.document(found)
    elif found["value"] is None:
        output.note(f"`{setting.key}` is not set. {setting.sentence}")
    else:
        output.result(as_text(found["value"]) + (f"  ({config_list.source(found)})" if origin else ""))


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
            now, removed = _written(path, setting.key, *words)
    else:
        kind = "user" if user else "project"
        environ, root = invocation.environ, invocation.project.root
        path = settings_writer.user_target(environ) if user else settings_writer.project_target(root)
        now, removed = _written(path, setting.key, *words)
    if as_json:
        output.document({"key": setting.key, "value": masked_value(now), "scope": kind, "place": str(path)})
    else:
        _tell(setting.key, path, now, removed, _after(invocation, user, workspace))
    if setting.key == "claude.args" and any(_DANGEROUS in (word or "") for word in words[:2]):
        output.warn(f"{_DANGEROUS} turns permission checks off: Claude can run any command. Use it in sandboxes only.")
    _warn_if_overridden(_after(invocation, False, workspace), setting.key, kind)


def _written(path: Path, key: str, value: str | None, add: str | None, remove: str | None) -> tuple[Any, bool]:
    """Make the change; the value in the file now, if there is one, and whether the key was removed from it."""
    if value is not None:
        return settings_writer.set_text(path, key, value), False
    if add is not None:
        return settings_writer.add(path, key, add), False
    if remove is not None:
        return settings_writer.remove(path, key, remove), False
    return None, settings_writer.unset(path, key)


def _after(invocation: Invocation, user: bool, workspace: str | None) -> Resolved | None:
    """The effective values after the change; None when another key is bad, which the next command reports."""
    try:
        return _resolved(Invocation(invocation.folder, invocation.environ, invocation.color), user, workspace)
    except ExpectedError:
        return None


def _tell(key: str, path: Path, now: Any, removed: bool, after: Resolved | None) -> None:
    if now is not None:
        output.done(f"{key} = {as_text(masked_setting(key, now))}  ({path})")
    elif not removed:
        output.result(f"{key} was not set in {path}")
    else:
        found = config_list.entry(after, setting_named(key)) if after is not None else None
        value = "not set" if found is None or found["value"] is None else as_text(found["value"])
        effective = f"; now {value} ({found['source']})" if found is not None else ""
        output.done(f"Removed {key} from {path}{effective}")


def _warn_if_overridden(after: Resolved | None, key: str, kind: str) -> None:
    """A value that a stronger layer overrides changes nothing."""
    order = ("default", "user", "project", "workspace", "environment")
    if after is not None and order.index((origin := after.origin(key)).kind) > order.index(kind):
        output.warn(f"It has no effect here: {config_list.place(origin.kind, origin.place, key)} overrides it.")
