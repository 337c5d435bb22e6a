"""A person chooses how much Claude may do, once, before the night: headless, Claude denies what nobody allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from claude_iterate.agent.command.command_line import decides_permissions
from claude_iterate.core.settings.declared import Settings
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.settings_files import settings_writer

_QUESTION = """\
How much may Claude do in this workspace without asking? (headless, nobody can answer later)
  1  edit files in this project
  2  edit files, and run the commands you name
  3  everything (only inside a sandbox or container you can lose)"""

UNDECIDED = (
    "Nothing says what Claude may do, so it will be denied every edit and command.",
    "Allow some: --permission-mode acceptEdits, --allow 'Bash(npm test:*)', or --dangerously-skip-permissions.",
)


def are_decided(settings: Settings, root: Path, environ: Mapping[str, str]) -> bool:
    """True when flags, settings or Claude's own settings files say what is allowed."""
    files = [root / ".claude" / "settings.json", root / ".claude" / "settings.local.json"]
    if environ.get("CLAUDE_CONFIG_DIR"):
        files.append(Path(environ["CLAUDE_CONFIG_DIR"], "settings.json"))
    elif environ.get("HOME"):
        files.append(Path(environ["HOME"], ".claude", "settings.json"))
    return decides_permissions(settings.claude) or any(_file_decides(path) for path in files)


def ask_and_save(project: Project, layout: Layout, settings: Settings | None = None) -> None:
    """Ask once; the answer becomes a setting of the workspace. Does nothing when it is decided already, by the
    `settings` that count (flags among them)."""
    settings = settings or project.settings_for(layout).settings
    if are_decided(settings, project.root, project.environ):
        return
    click.echo(_QUESTION, err=True)
    answer = click.prompt("Your choice", type=click.Choice(["1", "2", "3"]), default="1", err=True)
    mode = "bypassPermissions" if answer == "3" else "acceptEdits"
    tools = _named_commands() if answer == "2" else []
    settings_writer.set_value(layout.metadata, "claude.permission_mode", mode)
    if tools:
        settings_writer.set_value(layout.metadata, "claude.allowed_tools", tools)
    click.echo(
        f"Saved for {layout.name}. Change it: claude-iterate config -w {layout.name} claude.permission_mode", err=True
    )


def _named_commands() -> list[str]:
    text = click.prompt("Commands, separated by commas (for example: npm test, git commit)", err=True)
    return [f"Bash({command.strip()}:*)" for command in text.split(",") if command.strip()]


def _file_decides(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    permissions = document.get("permissions") if isinstance(document, dict) else None
    return isinstance(permissions, dict) and bool(permissions.get("allow") or permissions.get("defaultMode"))
