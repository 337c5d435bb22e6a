"""What Claude may do without asking. Claude Code denies everything else, because a run has no user to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from claude_iterate.agent.command.command_line import claude_environment, decides_permissions
from claude_iterate.core.settings.declared import Settings
from claude_iterate.workspace.project import Project

EVERYTHING = "bypassPermissions"
SKIP = "--dangerously-skip-permissions"
_MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
_LOGINS = frozenset(
    {
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
        *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX"),
    }
)
"""Variables that say how to log in, or where."""
_DECIDING_HOOKS = frozenset({"PreToolUse", "PermissionRequest"})


def are_decided(settings: Settings, project: Project) -> bool:
    """True when flags, settings or Claude's own settings files say what is allowed."""
    return decides_permissions(settings.claude) or any(map(_decides, _settings_files(settings, project).values()))


def mode_is_decided(settings: Settings, project: Project) -> bool:
    """True when a settings file of Claude Code names a mode. Claude Code reads it, and knows which file may decide."""
    return any(_rules(document).get("defaultMode") for document in _settings_files(settings, project).values())


def own_settings_file(settings: Settings, project: Project) -> str:
    """The user's own settings file of Claude Code; empty when there is none."""
    path = _own_settings(settings, project)
    return str(path) if path is not None and path.is_file() else ""


def project_has_login(project: Project) -> bool:
    """True when a settings file of Claude Code in the project says how to log in."""
    for document in map(_document, _settings_of_project(project)):
        given = document.get("env")
        if document.get("apiKeyHelper") or (isinstance(given, dict) and not _LOGINS.isdisjoint(given)):
            return True
    return False


def unrestricted(settings: Settings, project: Project) -> str:
    """What turns all permission checks off for good: a setting, an argument or a file; empty when nothing does."""
    arguments = settings.claude.args
    if settings.claude.permission_mode == EVERYTHING:
        return f"claude.permission_mode is {EVERYTHING}"
    if SKIP in arguments or EVERYTHING in " ".join(arguments):
        return f"claude.args has {SKIP if SKIP in arguments else EVERYTHING}"
    if settings.claude.permission_mode:  # which overrides the files
        return ""
    files = _settings_files(settings, project).items()
    named = (path for path, document in files if _rules(document).get("defaultMode") == EVERYTHING)
    return next((f"defaultMode is {EVERYTHING} in {path}" for path in named), "")


def _settings_files(settings: Settings, project: Project) -> dict[Path, dict[str, Any]]:
    """Claude's own settings files that apply in this project, and what they say."""
    own = _own_settings(settings, project)
    paths = [*_settings_of_project(project), *([] if own is None else [own]), *map(Path, _MANAGED)]
    return {path: _document(path) for path in paths}


def _settings_of_project(project: Project) -> list[Path]:
    return [project.root / ".claude" / name for name in ("settings.json", "settings.local.json")]


def _own_settings(settings: Settings, project: Project) -> Path | None:
    environ = claude_environment(project.environ, settings.claude)
    if environ.get("CLAUDE_CONFIG_DIR"):
        return project.root / environ["CLAUDE_CONFIG_DIR"] / "settings.json"
    return Path(environ["HOME"], ".claude", "settings.json") if environ.get("HOME") else None


def _decides(document: dict[str, Any]) -> bool:
    """It has rules, a mode, or a hook that may allow what it is asked about."""
    rules, hooks = _rules(document), document.get("hooks")
    has_hook = isinstance(hooks, dict) and not _DECIDING_HOOKS.isdisjoint(hooks)
    return bool(rules.get("allow") or rules.get("defaultMode") or has_hook)


def _rules(document: dict[str, Any]) -> dict[str, Any]:
    found = document.get("permissions")
    return found if isinstance(found, dict) else {}


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
