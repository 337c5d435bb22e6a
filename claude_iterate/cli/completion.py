"""What a shell offers when Tab is pressed: workspaces, runs, archives, templates, settings and their values.

No command is run for it, and nothing but settings files and names of folders is read. What goes wrong offers nothing:
a prompt is no place for messages.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from claude_iterate.cli.invocation import Invocation, places
from claude_iterate.workspace.project import Project

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def words(find: Callable[[click.Context], Iterable[str | tuple[str, str]]]) -> Completer:
    """Offers what is found and fits; an item is a word, or a word and its explanation."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        with contextlib.suppress(Exception):
            found = [item if isinstance(item, tuple) else (item, "") for item in find(context)]
            return [CompletionItem(word, help=about or None) for word, about in found if word.startswith(begun)]
        return []

    return complete


def project_of(context: click.Context) -> Project:
    """The project that the command line so far is about."""
    given: dict[str, Any] = dict(context.find_root().params)
    folder = Path(given.get("project") or "").absolute()
    named = {name: given.get(name) for name in ("workspaces_dir", "templates_dir", "archive_dir")}
    return Invocation(folder, os.environ, False, places(folder, **named)).project


def command_line_words() -> list[str]:
    """The words of the command line. click hands on none of them when the last one is an option without its value."""
    return os.environ.get("COMP_WORDS", "").split()


def _workspaces(context: click.Context) -> Iterable[str]:
    """Those that the command line does not name yet."""
    given = context.params.get("name") or ()
    given = (given,) if isinstance(given, str) else given
    return (name for name in project_of(context).workspaces() if name not in given)


def _runs(context: click.Context) -> Iterable[str]:
    """The runs of the workspace that was named before, newest first."""
    project = project_of(context)
    name = next(word for word in command_line_words()[1:] if word in project.workspaces())
    return reversed(project.layout(name).run_ids())


workspaces = words(_workspaces)
runs = words(_runs)
