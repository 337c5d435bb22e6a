"""What Claude may do without asking. Claude Code denies everything else, because a run has no user to ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.agent.command.command_line import SKIP, claude_environment, decides_permissions
from claude_iterate.core.settings.declared import ClaudeSettings
from claude_iterate.system import untrusted_files

EVERYTHING = "bypassPermissions"
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


class Permissions(msgspec.Struct, frozen=True):
    """What flags, settings and Claude's own settings files say when a run is prepared."""

    are_decided: bool = False
    """One of them says what is allowed."""
    mode_is_decided: bool = False
    """A settings file of Claude Code names a mode. Claude Code reads it, and knows which file may decide."""
    unrestricted: str = ""
    """What turns all permission checks off for good: a setting, an argument or a file; empty when nothing does."""
    own_file: str = ""
    """The user's own settings file of Claude Code, if there is one: a call that only looks reads no other."""
    project_has_login: bool = False
    """A settings file of Claude Code in the project says how to log in."""


def read_permissions(claude: ClaudeSettings, environ: Mapping[str, str], root: Path) -> Permissions:
    """All of this for the project at `root`."""
    of_project = [root / ".claude" / name for name in ("settings.json", "settings.local.json")]
    own = _own_settings(claude_environment(environ, claude), root)
    files = {path: _document(path) for path in (*of_project, *own, *map(Path, _MANAGED))}
    modes = {path: _rules(document).get("defaultMode") for path, document in files.items()}
    return Permissions(
        decides_permissions(claude) or any(map(_decides, files.values())),
        any(modes.values()),
        _find_unrestricted(claude, modes),
        next((str(path) for path in own if untrusted_files.is_file(path)), ""),
        any(_has_login(files[path]) for path in of_project),
    )


def _find_unrestricted(claude: ClaudeSettings, modes: Mapping[Path, Any]) -> str:
    if claude.permission_mode == EVERYTHING:
        return f"claude.permission_mode is {EVERYTHING}"
    if SKIP in claude.args or EVERYTHING in " ".join(claude.args):
        return f"claude.args has {SKIP if SKIP in claude.args else EVERYTHING}"
    if claude.permission_mode:  # which overrides the files
        return ""
    return next((f"defaultMode is {EVERYTHING} in {path}" for path, mode in modes.items() if mode == EVERYTHING), "")


def _has_login(document: dict[str, Any]) -> bool:
    given = document.get("env")
    return bool(document.get("apiKeyHelper")) or (isinstance(given, dict) and not _LOGINS.isdisjoint(given))


def _own_settings(environ: Mapping[str, str], root: Path) -> list[Path]:
    if environ.get("CLAUDE_CONFIG_DIR"):
        return [untrusted_files.settle(root / environ["CLAUDE_CONFIG_DIR"] / "settings.json", root)]
    home = environ.get("HOME")
    return [untrusted_files.settle(Path(home, ".claude", "settings.json"), root)] if home else []


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
        return untrusted_files.read_json(path) or {}
    except OSError:
        return {}
