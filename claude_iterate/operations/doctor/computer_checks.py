"""The checks of `doctor`: each looks at one thing, never raises for what it finds, and never tells a secret."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from claude_iterate.core.settings.layers import unknown_variables
from claude_iterate.errors import ExpectedError
from claude_iterate.operations.doctor.workspace_checks import workspace_findings
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.settings_files import settings_reader

_CREDENTIALS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
_PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


class Finding(NamedTuple):
    """What a check found: ok, warning (may be fine) or problem (must be mended), and how to mend it."""

    check: str
    state: str
    message: str
    mend: str = ""


def examine(project: Project) -> list[Finding]:
    """All checks, in the order in which a person would mend things."""
    settings = list(_settings(project))
    findings = [*settings, *_variables(project)]
    if any(finding.state == "problem" for finding in settings):
        return [*findings, Finding("rest", "warning", "not checked", "Mend the settings first, then ask again.")]
    checks: tuple[Callable[[Project], Iterator[Finding]], ...] = (_claude, _login, _git, _folders, _workspaces)
    for check in checks:
        findings.extend(check(project))
    return findings


def _settings(project: Project) -> Iterator[Finding]:
    try:
        layers = settings_reader.layers(project.root, project.environ)
        files = [layer.place for layer in layers if layer.kind in {"user", "project"}]
        yield Finding("settings", "ok", ", ".join(files) or "no files, all defaults")
    except ExpectedError as problem:
        yield Finding("settings", "problem", problem.message, problem.hint)


def _variables(project: Project) -> Iterator[Finding]:
    for name in unknown_variables(project.environ):
        yield Finding(
            "environment", "warning", f"{name} is no setting", "See the names: claude-iterate config --keys --json"
        )


def _claude(project: Project) -> Iterator[Finding]:
    from claude_iterate.agent.command import discovery

    claude = project.resolved.settings.claude
    try:
        version = discovery.version(claude, project.environ, project.root)
        yield Finding("claude", "ok", f"{version} ({discovery.find(claude, project.environ, project.root)})")
    except ExpectedError as problem:
        yield Finding("claude", "problem", problem.message, problem.hint)


def _login(project: Project) -> Iterator[Finding]:
    from claude_iterate.agent.command.environment import claude_environment

    environ = claude_environment(project.environ, project.resolved.settings.claude)
    for name in (*_CREDENTIALS, *_PROVIDERS):
        if environ.get(name):
            yield Finding("login", "ok", f"{name} is set")
            return
    folder = settings_reader.expanded(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude", environ)
    if (folder / ".credentials.json").exists():
        yield Finding("login", "ok", f"{folder / '.credentials.json'} is there")
    elif sys.platform == "darwin":
        yield Finding("login", "ok", "Claude keeps it in the keychain; `claude` itself tells whether it is there")
    else:
        yield Finding("login", "warning", "no sign of one", "Start `claude` and log in, or: claude setup-token")


def _git(project: Project) -> Iterator[Finding]:
    import shutil

    if shutil.which("git", path=project.environ.get("PATH")) is None:
        yield Finding("git", "warning", "not found", "Install git: then Claude's work can be seen and undone.")
    elif not any((folder / ".git").exists() for folder in (project.root, *project.root.parents)):
        yield Finding("git", "warning", f"{project.root} is no repository", "Make it one: git init")
    else:
        yield Finding("git", "ok", "the project is a repository")


def _folders(project: Project) -> Iterator[Finding]:
    for name, folder in (("workspaces", project.workspaces_folder), ("archive", project.archive_folder)):
        nearest = folder
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if problem := _refused(nearest):
            mend = f"Check {nearest}, its permissions and its free space."
            yield Finding(name, "problem", f"{folder} cannot be written: {problem}", mend)
        else:
            yield Finding(name, "ok", f"{folder} can be written")


def _refused(folder: Path) -> str:
    """Why nothing can be written there. It is tried: permissions alone do not tell of a full disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:  # it has no name, so it never stays behind
            file.write(b" " * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _workspaces(project: Project) -> Iterator[Finding]:
    try:
        for check, message, mend, state in workspace_findings(project):
            yield Finding(check, state, message, mend)
    except ExpectedError as problem:
        yield Finding("workspaces", "problem", problem.message, problem.hint)
