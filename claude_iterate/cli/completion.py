"""What a shell offers when Tab is pressed: workspaces, runs, archives, templates, settings and their values, files.

No command is run for it, and nothing but settings files and names of folders is read. What goes wrong offers nothing:
a prompt is no place for messages.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from claude_iterate.cli.invocation import Invocation, places

if TYPE_CHECKING:  # every command imports this module, few are asked to complete something
    from click.shell_completion import CompletionItem

    from claude_iterate.core.settings.kinds import Kind
    from claude_iterate.workspace.lifecycle.project import Project

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _words(find: Callable[[click.Context], Iterable[str | tuple[str, str]]]) -> Completer:
    """Offers what is found and fits; an item is a word, or a word and its explanation."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        with contextlib.suppress(Exception):
            found = [item if isinstance(item, tuple) else (item, "") for item in find(context)]
            return [CompletionItem(word, help=about or None) for word, about in found if word.startswith(begun)]
        return []

    return complete


def _project(context: click.Context) -> Project:
    """The project that the command line so far is about."""
    given: dict[str, Any] = dict(context.find_root().params)
    folder = Path(given.get("project") or "").absolute()
    named = {name: given.get(name) for name in ("workspaces_dir", "templates_dir", "archive_dir")}
    return Invocation(folder, os.environ, False, places(folder, **named)).project


def _typed() -> list[str]:
    """The words of the command line. click hands on none of them when the last one is an option without its value."""
    return os.environ.get("COMP_WORDS", "").split()


def _workspaces(context: click.Context) -> Iterable[str]:
    """Those that the command line does not name yet."""
    given = context.params.get("name") or ()
    given = (given,) if isinstance(given, str) else given
    return (name for name in _project(context).workspaces() if name not in given)


def _runs(context: click.Context) -> Iterable[str]:
    """The runs of the workspace that was named before, newest first."""
    project = _project(context)
    name = next(word for word in _typed()[1:] if word in project.workspaces())
    return reversed(project.layout(name).run_ids())


def _archives(context: click.Context) -> Iterable[str]:
    """Each archive, and each workspace that has one: its newest is meant then."""
    from claude_iterate.workspace.archives.archive_list import names_in

    found = names_in(_project(context).archive_folder)
    return dict.fromkeys([*(re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+$", "", name) for name in found), *found])


def _templates(context: click.Context) -> Iterable[str]:
    from claude_iterate.workspace.templates.template_files import names_in

    return names_in(_project(context))


def _values(_context: click.Context) -> Iterable[str]:
    """The values of the setting that was named before, if it has only some."""
    from claude_iterate.core.settings.catalogue import canonical, catalogue

    key = next(found for word in _typed()[1:] if (found := canonical(word)) is not None)
    return catalogue()[key].kind.words


def _keys(_context: click.Context) -> Iterable[tuple[str, str]]:
    from claude_iterate.core.settings.catalogue import catalogue

    return ((key, setting.sentence) for key, setting in catalogue().items())


def _path(kind: str) -> Completer:
    """The shell itself knows its files."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(begun, type=kind)]

    return complete


def of_kind(kind: Kind) -> Completer | None:
    """For an option that sets a setting of this kind; None: nothing can be offered."""
    return _words(lambda _context: kind.words) if kind.words else None


workspaces = _words(_workspaces)
runs = _words(_runs)
archives = _words(_archives)
templates = _words(_templates)
keys = _words(_keys)
values = _words(_values)
files = _path("file")
folders = _path("dir")
