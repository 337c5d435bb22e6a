"""`config`: read the effective settings, change one setting in one scope. Secrets are masked in lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.formats import plain
from claude_iterate.core.redact import mask_setting, mask_value
from claude_iterate.core.settings.catalogue import Setting, canonical, catalogue, is_group, snake
from claude_iterate.core.settings.layers import Resolved, resolve
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.operations.permissions import EVERYTHING, SKIP
from claude_iterate.views import settings_view
from claude_iterate.views.settings_view import EntryView, KeysView, SettingReadView, SettingsView, as_text, as_words
from claude_iterate.views.workspace_view import value_of
from claude_iterate.workspace import settings_reader, settings_writer
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.settings_writer import setting_named

_WRITERS: dict[str, Callable[..., Any]] = {"VALUE": settings_writer.set_text, "--remove": settings_writer.remove}


def _keys(_context: click.Context) -> Iterable[tuple[str, str]]:
    return ((key, setting.sentence) for key, setting in catalogue().items())


def _values(_context: click.Context) -> Iterable[str]:
    """The values of the setting that was named before, if it has only some."""
    key = next(found for word in completion.typed_words()[1:] if (found := canonical(word)) is not None)
    return catalogue()[key].kind.words


@options.command("config", workspace=False)
@click.argument("key", required=False, shell_complete=completion.words(_keys))
@click.argument("value", required=False, shell_complete=completion.words(_values))
@options.flag("-l", "--list", "listing", help="Print every effective value.")
@options.flag("-k", "--keys", help="Explain every setting: kind, default, value, source.")
@options.flag("--origin", help="Say where each value comes from.")
@options.flag("-g", "--global", "user", help="The user's settings, for all projects.")
@options.workspace_option(help="The settings of one workspace.")
@click.option(
    "--add", multiple=True, metavar="V", shell_complete=completion.words(_values), help="Add to a list. Repeatable."
)
@click.option("--remove", multiple=True, metavar="V", help="Remove from a list. Repeatable.")
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
    add: tuple[str, ...],
    remove: tuple[str, ...],
    unset: bool,
    as_json: bool,
) -> None:
    """Read or change settings. KEY alone prints its effective value; KEY VALUE sets it in the project.

    \b
    Examples:
      claude-iterate config max_iterations
      claude-iterate config claude.model opus
      claude-iterate config claude.env.PAGER cat
      claude-iterate config claude.allowed_tools --add 'Bash(npm test:*)' --workspace my-task
      claude-iterate config --keys
    """
    given = {"VALUE": () if value is None else (value,), "--add": add, "--remove": remove, "--unset": ("",) * unset}
    changes = [(way, words) for way, words in given.items() if words]
    _check(key, [way for way, _ in changes], listing or keys, user, workspace)
    if key is not None and changes:
        _change(invocation, key, *changes[0], user, workspace, as_json)
        return
    resolved = _resolved(invocation, user, workspace)
    if keys:
        _explain(resolved, as_json)
    elif key is None or is_group(key):
        _list(resolved, snake(key) + "." if key else "", origin, as_json)
    else:
        _read(resolved, key, origin, as_json)


def _check(key: str | None, changes: list[str], overview: bool, user: bool, workspace: str | None) -> None:
    options.choose_one(dict.fromkeys(changes, True), "See: claude-iterate config --help")
    if changes and key is None:
        raise UsageProblem(f"{changes[0]} needs a KEY.", "See the keys: claude-iterate config --keys")
    if overview and key is not None:
        raise UsageProblem("--list and --keys take no KEY.", f"To read one: claude-iterate config {key}")
    scopes = {"--global": user, "--workspace": workspace is not None}
    options.choose_one(scopes, "Without either, the project's settings are meant.")


def _resolved(invocation: Invocation, user: bool, workspace: str | None) -> Resolved:
    """Effective values as seen from a scope: a workspace's include its own, the user's only the user's."""
    if workspace is not None:
        project = invocation.project
        return project.settings_for(project.layout(workspace))
    if user:
        layer = settings_reader.file_layer("user", settings_reader.user_file(invocation.environ))
        return resolve([layer] if layer else [])
    return invocation.project.resolved


def _source(found: EntryView) -> str:
    """Where an entry's value comes from, for people."""
    place = catalogue()[found.key].variable if found.source == "environment" else found.place
    return f"{found.source}: {place}" if place else found.source


def _read(resolved: Resolved, spelled: str, origin: bool, as_json: bool) -> None:
    key, name = settings_writer.entry_named(spelled)
    setting = setting_named(key)
    found = settings_view.entry(resolved, setting, cover=False)
    shown = f"{setting.key}.{name}" if name else setting.key
    value = found.value.get(name) if name else found.value
    if as_json:
        output.view(SettingReadView(shown, value, found.source, found.place))
    elif value is None:
        output.note(f"`{shown}` is not set. {setting.sentence}")
    else:
        text = as_text(value) if name else as_words(setting.key, value)
        output.result(text + (f"  ({_source(found)})" if origin else ""))


def _list(resolved: Resolved, prefix: str, origin: bool, as_json: bool) -> None:
    """`key = value` for every setting whose key begins with `prefix`."""
    wanted = (setting for key, setting in catalogue().items() if key.startswith(prefix))
    found = tuple(settings_view.entry(resolved, setting) for setting in wanted)
    if as_json:
        output.view(SettingsView(found))
        return
    for item in found:
        shown = "(not set)" if item.value is None else as_words(item.key, item.value)
        output.result(f"{item.key} = {shown}" + (f"  ({_source(item)})" if origin else ""))


def _explain(resolved: Resolved, as_json: bool) -> None:
    """Everything about every setting."""
    if as_json:
        every = (settings_view.describe_setting(resolved, setting) for setting in catalogue().values())
        output.view(KeysView(tuple(every)))
        return
    for setting in catalogue().values():
        found = settings_view.entry(resolved, setting)
        output.result(output.heading(setting.key) + f"  {setting.sentence}")
        default, value = (as_words(setting.key, it) for it in (setting.default, found.value))
        output.result(f"    {setting.kind.expected}; default {default}; now {value} ({_source(found)})")


def _change(
    invocation: Invocation,
    spelled: str,
    way: str,
    words: tuple[str, ...],
    user: bool,
    workspace: str | None,
    as_json: bool,
) -> None:
    key, name = settings_writer.entry_named(spelled)
    setting = setting_named(key)
    key = f"{setting.key}.{name}" if name else setting.key
    inherited = _inherited(invocation, setting, user, workspace) if way == "--add" else ()
    if workspace is not None:
        layout = invocation.project.layout(workspace)
        path, kind = layout.metadata, "workspace"
        # A running loop writes the same file; its settings were read when it began anyway.
        with run_lock.hold(layout.lock, workspace, "config"):
            now, removed = _written(path, key, way, words, inherited)
    else:
        kind = "user" if user else "project"
        environ, root = invocation.environ, invocation.project.root
        path = settings_writer.user_target(environ) if user else settings_writer.project_target(root)
        now, removed = _written(path, key, way, words, inherited)
    shown = _shown(setting, name, now)
    if as_json:
        output.document({"key": key, "value": mask_value(now), "scope": kind, "place": str(path)})
    elif now is None and not removed:
        output.result(f"{key} was not set in {path}")
    elif now is None:
        effect = "" if name else _effective(_after(invocation, setting, user, workspace))
        output.done(f"Removed {key} from {path}{effect}")
    else:
        output.done(f"{key} = {as_text(shown)}  ({path})")
    if kind == "project" and shown != plain(now):
        output.warn(f"{key} holds a secret, and {path} is shared with all who have the project.")
        output.note(f"  Keep it to yourself: claude-iterate config {key} VALUE --global")
    if way != "--remove" and (dangerous := _dangerous(key, words)):
        output.warn(f"{dangerous} turns permission checks off: Claude can run any command. Use it in sandboxes only.")
    _warn_if_overridden(_after(invocation, setting, False, workspace), kind)


def _dangerous(key: str, words: tuple[str, ...]) -> str:
    """The word among them that allows Claude everything."""
    if key == "claude.permission_mode" and words == (EVERYTHING,):
        return EVERYTHING
    return SKIP if key == "claude.args" and SKIP in " ".join(words) else ""


def _shown(setting: Setting, name: str, now: Any) -> Any:
    """The value in the file, secrets masked; only the entry that was set."""
    if not name or now is None:
        return mask_setting(setting.key, now)
    return mask_setting(setting.key, {name: now})[name]


def _inherited(invocation: Invocation, setting: Setting, user: bool, workspace: str | None) -> tuple[str, ...]:
    """The list as weaker layers set it: a list in a stronger one hides it."""
    try:
        resolved = _resolved(invocation, user, workspace)
    except ExpectedError:
        return ()  # another key is bad, which the next command reports
    weaker = ("default", *(() if user else ("user",) if workspace is None else ("user", "project")))
    inherits = setting.kind.form == "list" and resolved.origin(setting.key).kind in weaker
    return tuple(value_of(resolved.settings, setting.key) or ()) if inherits else ()


def _written(path: Path, key: str, way: str, words: tuple[str, ...], inherited: tuple[str, ...]) -> tuple[Any, bool]:
    """Make the change; the value in the file now, if there is one, and whether the key was removed from it."""
    table, name = settings_writer.entry_named(key)
    if way == "--unset":
        return None, settings_writer.unset_entry(path, table, name) if name else settings_writer.unset(path, key)
    if name and way == "VALUE":
        return settings_writer.set_entry(path, table, name, *words)[name], False
    if name:
        raise UsageProblem(f"`{key}` is not a list.", f"Set it with: claude-iterate config {key} VALUE")
    if way == "--add":
        return settings_writer.add(path, key, *words, inherited=inherited), False
    return _WRITERS[way](path, key, *words), False


def _after(invocation: Invocation, setting: Setting, user: bool, workspace: str | None) -> EntryView | None:
    """The effective value after the change; None when another key is bad, which the next command reports."""
    try:
        return settings_view.entry(_resolved(replace(invocation, flags={}, warns=False), user, workspace), setting)
    except ExpectedError:
        return None


def _effective(after: EntryView | None) -> str:
    return "" if after is None else f"; now {as_words(after.key, after.value)} ({after.source})"


def _warn_if_overridden(after: EntryView | None, kind: str) -> None:
    """A value that a stronger layer overrides changes nothing."""
    order = ("default", "user", "project", "workspace", "environment")
    if after is not None and order.index(after.source) > order.index(kind):
        output.warn(f"It has no effect here: {_source(after)} overrides it.")
