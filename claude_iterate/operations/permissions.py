"""What Claude may do without asking. Claude Code denies everything else, because a run has no user to ask."""

from __future__ import annotations

import json
from pathlib import Path

from claude_iterate.agent.command.command_line import decides_permissions
from claude_iterate.core.records import Record
from claude_iterate.core.settings.declared import Settings
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.project import Project

UNDECIDED = (
    "Nothing says what Claude may do, so it will be denied every edit and command.",
    "Allow some: --permission-mode acceptEdits, --allow 'Bash(npm test:*)', or --dangerously-skip-permissions.",
)

UNDECIDED_REVIEW = (
    "Nothing says what Claude may do, so the review can read files but run no command.",
    """Allow some: claude-iterate config -w {name} claude.allowed_tools '["Bash(npm test:*)"]'""",
)


class Permissions(Record):
    """A permission mode, and the tools that are allowed beyond it."""

    mode: str
    tools: tuple[str, ...] = ()


def are_decided(settings: Settings, project: Project) -> bool:
    """True when flags, settings or Claude's own settings files say what is allowed."""
    environ = project.environ
    files = [project.root / ".claude" / "settings.json", project.root / ".claude" / "settings.local.json"]
    if environ.get("CLAUDE_CONFIG_DIR"):
        files.append(Path(environ["CLAUDE_CONFIG_DIR"], "settings.json"))
    elif environ.get("HOME"):
        files.append(Path(environ["HOME"], ".claude", "settings.json"))
    return decides_permissions(settings.claude) or any(_file_decides(path) for path in files)


def with_permissions(settings: Settings, chosen: Permissions) -> Settings:
    """The settings with these permissions, where none were decided."""
    claude = settings.claude.changed(permission_mode=chosen.mode, allowed_tools=chosen.tools)
    return settings.changed(claude=claude)


def save(layout: Layout, chosen: Permissions) -> str:
    """Make them settings of the workspace; says so. The lock must be held: a run writes the same file."""
    from claude_iterate.workspace.settings_files import settings_writer

    settings_writer.set_value(layout.metadata, "claude.permission_mode", chosen.mode)
    if chosen.tools:
        settings_writer.set_value(layout.metadata, "claude.allowed_tools", list(chosen.tools))
    return f"Saved for {layout.name}. Change it: claude-iterate config -w {layout.name} claude.permission_mode MODE"


def _file_decides(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    permissions = document.get("permissions") if isinstance(document, dict) else None
    return isinstance(permissions, dict) and bool(permissions.get("allow") or permissions.get("defaultMode"))
