"""`config`: read the effective settings, change one setting in one scope. Secrets are masked in lists."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.command_line import SKIP
from claude_iterate.agent.command.permissions import EVERYTHING
from claude_iterate.cli import completion, options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.formats import plain
from claude_iterate.core.redact import mask_setting, mask_value
from claude_iterate.core.settings.declared import Setting, canonical, catalogue, is_group, snake, value_of
from claude_iterate.core.settings.layers import Resolved, resolve
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.views import settings_view
from claude_iterate.views.settings_view import (
    EntryView,
    KeysView,
    SettingReadView,
    SettingsView,
    as_text,
    as_words,
)
from claude_iterate.workspace import settings_reader, settings_writer
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.settings_writer import find_setting


def _keys(_context: click.Context) -> Iterable[tuple[str, str]]:
    return ((key, setting.sentence) for key, setting in catalogue().items())


def _values(_context: click.Context) -> Iterable[str]:
    """The values of the setting that was named before, if it has only some."""
    key = next(found for word in completion.command_line_words()[1:] if (found := canonical(word)) is not None)
    return catalogue()[key].kind.words


@options.command("config", workspace=False)
@click.argument("key", required=False, shell_complete=completion.words(_keys))
@click.argument("value", required=False, shell_complete=completion.words(_values))
@options.flag("-l", "--list", "listing", help="Print every effective value.")
@options.flag("-k", "--keys", help="Explain every setting: kind, default, value, source.")
@options.flag("--origin", help="Say where each value comes from.")
@options.flag("-g", "--global", "user", help="Your own settings, for all projects.")
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
    changes = {way: words for way, words in given.items() if words}
    options.choose_one(changes, "See: claude-iterate config --help")
    if changes and key is None:
        raise UsageProblem(f"{next(iter(changes))} needs a KEY.", "See the keys: claude-iterate config --keys")
    if (listing or keys) and key is not None:
        raise UsageProblem("--list and --keys take no KEY.", f"To read one: claude-iterate config {key}")
    scopes = {"--global": user, "--workspace": workspace is not None}
    options.choose_one(scopes, "Without either, the project's settings are meant.")
    scope = _Scope(invocation, user, workspace)
    if key is not None and changes:
        _change(scope, key, *next(iter(changes.items())))
    elif keys:
        _explain(scope.resolve())
    elif key is None or is_group(key):
        _list(scope.resolve(), snake(key) + "." if key else "", origin)
    else:
        _read(scope.resolve(), key, origin)


_ORDER = ("default", "user", "project", "workspace", "environment")
"""Where settings come from; each overrides those before it."""


class _Scope(msgspec.Struct, frozen=True):
    """Whose settings are meant: those of a workspace, of the user, or else of the project."""

    invocation: Invocation
    user: bool
    workspace: str | None

    @property
    def kind(self) -> str:
        return "workspace" if self.workspace is not None else "user" if self.user else "project"

    def resolve(self) -> Resolved:
        """Effective values as seen from here: a workspace's include its own, the user's only the user's."""
        if self.workspace is not None:
            project = self.invocation.project
            return project.settings_for(project.layout(self.workspace))
        if self.user:
            layer = settings_reader.file_layer("user", settings_reader.user_file(self.invocation.environ))
            return resolve([layer] if layer else [])
        return self.invocation.project.resolved

    @contextlib.contextmanager
    def open(self) -> Iterator[Path]:
        """The file that holds them, to be changed."""
        if self.workspace is not None:
            layout = self.invocation.project.layout(self.workspace)
            # A running loop writes the same file; its settings were read when it began anyway.
            with run_lock.hold(layout.lock, self.workspace, "config"):
                yield layout.metadata
        elif self.user:
            yield settings_writer.user_target(self.invocation.environ)
        else:
            yield settings_writer.project_target(self.invocation.project.root)

    def read_again(self, setting: Setting) -> EntryView | None:
        """The effective value after a change; None when another key is bad, which the next command reports."""
        with contextlib.suppress(ExpectedError):
            now = replace(self, invocation=replace(self.invocation, flags={}, warns=False))
            return settings_view.entry(now.resolve(), setting)
        return None

    def weaker_items(self, setting: Setting) -> tuple[str, ...]:
        """A list as weaker layers set it: one in a stronger layer hides it."""
        with contextlib.suppress(ExpectedError):  # another key is bad, which the next command reports
            resolved = self.resolve()
            weaker = _ORDER[: _ORDER.index(self.kind)]
            if setting.kind.form == "list" and resolved.origin(setting.key).kind in weaker:
                return tuple(value_of(resolved.settings, setting.key) or ())
        return ()


def _source(found: EntryView) -> str:
    """Where an entry's value comes from, for people."""
    place = catalogue()[found.key].variable if found.source == "environment" else found.place
    return f"{found.source}: {place}" if place else found.source


def _read(resolved: Resolved, spelled: str, origin: bool) -> None:
    key, name = settings_writer.split_entry(spelled)
    setting = find_setting(key)
    found = settings_view.entry(resolved, setting, cover=False)
    shown = f"{setting.key}.{name}" if name else setting.key
    value = found.value.get(name) if name else found.value
    if output.wants_json():
        output.view(SettingReadView(shown, value=value, source=found.source, place=found.place))
    elif value is None:
        output.note(f"`{shown}` is not set. {setting.sentence}")
    else:
        text = as_text(value) if name else as_words(setting.key, value)
        output.result(text + (f"  ({_source(found)})" if origin else ""))


def _list(resolved: Resolved, prefix: str, origin: bool) -> None:
    """`key = value` for every setting whose key begins with `prefix`."""
    wanted = (setting for key, setting in catalogue().items() if key.startswith(prefix))
    found = tuple(settings_view.entry(resolved, setting) for setting in wanted)
    if output.wants_json():
        output.view(SettingsView(found))
        return
    for item in found:
        shown = "(not set)" if item.value is None else as_words(item.key, item.value)
        output.result(f"{item.key} = {shown}" + (f"  ({_source(item)})" if origin else ""))


def _explain(resolved: Resolved) -> None:
    """Everything about every setting."""
    if output.wants_json():
        every = (settings_view.describe_setting(resolved, setting) for setting in catalogue().values())
        output.view(KeysView(tuple(every)))
        return
    for setting in catalogue().values():
        found = settings_view.entry(resolved, setting)
        output.result(output.heading(setting.key) + f"  {setting.sentence}")
        default, value = (as_words(setting.key, it) for it in (setting.default, found.value))
        output.result(f"    {setting.kind.expected}; default {default}; now {value} ({_source(found)})")


def _change(scope: _Scope, spelled: str, way: str, words: tuple[str, ...]) -> None:
    table, name = settings_writer.split_entry(spelled)
    setting = find_setting(table)
    key = f"{setting.key}.{name}" if name else setting.key
    if name and way in {"--add", "--remove"}:
        raise UsageProblem(f"`{key}` is not a list.", f"Set it with: claude-iterate config {key} VALUE")
    inherited = scope.weaker_items(setting) if way == "--add" else ()
    now: Any = None
    removed = False
    with scope.open() as path:
        if way == "--unset":
            unset = settings_writer.unset_entry
            removed = unset(path, table, name) if name else settings_writer.unset(path, key)
        elif way == "--add":
            now = settings_writer.add(path, key, *words, inherited=inherited)
        elif way == "--remove":
            now = settings_writer.remove(path, key, *words)
        elif name:
            now = settings_writer.set_entry(path, table, name, *words)[name]
        else:
            now = settings_writer.set_text(path, key, *words)
    shown = mask_setting(setting.key, {name: now})[name] if name and now is not None else mask_setting(key, now)
    if output.wants_json():
        output.document({"key": key, "value": mask_value(now), "scope": scope.kind, "place": str(path)})
    elif now is None and not removed:
        output.result(f"{key} was not set in {path}")
    elif now is None:
        after = None if name else scope.read_again(setting)
        effect = "" if after is None else f"; now {as_words(after.key, after.value)} ({after.source})"
        output.success(f"Removed {key} from {path}{effect}")
    else:
        output.success(f"{key} = {as_text(shown)}  ({path})")
    if scope.kind == "project" and shown != plain(now):
        output.warn(f"{key} holds a secret, and {path} is shared with all who have the project.")
        output.note(f"  Keep it to yourself: claude-iterate config {key} VALUE --global")
    if way != "--remove" and (dangerous := _dangerous_word(key, words)):
        output.warn(f"{dangerous} turns permission checks off: Claude can run any command. Use it in sandboxes only.")
    # A value that a stronger layer overrides changes nothing.
    after = replace(scope, user=False).read_again(setting)
    if after is not None and _ORDER.index(after.source) > _ORDER.index(scope.kind):
        output.warn(f"It has no effect here: {_source(after)} overrides it.")


def _dangerous_word(key: str, words: tuple[str, ...]) -> str:
    """The word among them that allows Claude everything."""
    if key == "claude.permission_mode" and words == (EVERYTHING,):
        return EVERYTHING
    return SKIP if key == "claude.args" and SKIP in " ".join(words) else ""
