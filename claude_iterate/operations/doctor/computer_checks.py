"""The checks of `doctor`: each looks at one thing, never raises for what it finds, and never prints a secret."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from claude_iterate.agent.command import discovery, sandbox_host
from claude_iterate.agent.command.environment import claude_environment
from claude_iterate.core import claude_versions
from claude_iterate.core.settings.layers import unknown_variables
from claude_iterate.errors import ExpectedError
from claude_iterate.operations.doctor.workspace_checks import Finding, workspace_findings
from claude_iterate.prompts import shipped_folder
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.settings_files import settings_reader

_CREDENTIALS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
_PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def examine(project: Project) -> list[Finding]:
    """All checks, in the order in which problems should be fixed."""
    settings = list(_settings(project))
    findings = [*settings, *_variables(project)]
    if any(finding.state == "problem" for finding in settings):
        return [*findings, Finding("rest", "warning", "not checked", "Fix the settings first, then run doctor again.")]
    checks: tuple[Callable[[Project], Iterator[Finding]], ...] = (
        _claude,
        _login,
        _sandbox,
        _prompts,
        _git,
        _folders,
        _workspaces,
    )
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
    for name, meant in unknown_variables(project.environ).items():
        fix = f"Did you mean {meant}?" if meant else "See the names: claude-iterate config --keys --json"
        yield Finding("environment", "warning", f"{name} is not a setting", fix)


def _claude(project: Project) -> Iterator[Finding]:
    claude = project.resolved.settings.claude
    try:
        version = discovery.version(claude, project.environ, project.root)
        where = f"{version} ({discovery.find(claude, project.environ, project.root)})"
        if claude_versions.is_older(version):
            text = f"{where} is older than {claude_versions.OLDEST}, the oldest that was tested: runs may fail"
            yield Finding("claude", "warning", text, "Update it: claude update")
        elif claude_versions.is_newer(version):
            yield Finding("claude", "ok", f"{where} is newer than {claude_versions.NEWEST}, the newest that was tested")
        else:
            yield Finding("claude", "ok", where)
    except ExpectedError as problem:
        yield Finding("claude", "problem", problem.message, problem.hint)


def _login(project: Project) -> Iterator[Finding]:
    environ = claude_environment(project.environ, project.resolved.settings.claude)
    for name in (*_CREDENTIALS, *_PROVIDERS):
        if environ.get(name):
            yield Finding("login", "ok", f"{name} is set")
            return
    folder = settings_reader.expanded(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude", environ)
    if (folder / ".credentials.json").exists():
        yield Finding("login", "ok", f"{folder / '.credentials.json'} is there")
    elif sys.platform == "darwin":
        yield Finding("login", "ok", "Claude keeps it in the keychain; start `claude` to see whether it is there")
    else:
        yield Finding("login", "warning", "none found", "Start `claude` and log in, or: claude setup-token")


def _sandbox(project: Project) -> Iterator[Finding]:
    """One line about all kinds; a problem only if the settings ask for one that does not work."""
    wanted = project.resolved.settings.sandbox.kind
    probes = {kind: sandbox_host.probe(kind, project.environ) for kind in sandbox_host.KINDS}
    found = [f"{kind} works" if not probe.problem else probe.problem for kind, probe in probes.items()]
    if wanted != "none" and (probe := probes[wanted]).problem:
        yield Finding("sandbox", "problem", f"`sandbox.kind` is {wanted}: {probe.problem}", probe.fix)
    else:
        yield Finding("sandbox", "ok", "; ".join(found))


def _prompts(_project: Project) -> Iterator[Finding]:
    yield Finding("prompts", "ok", f"the shipped ones are in {shipped_folder()}")


def _git(project: Project) -> Iterator[Finding]:
    if shutil.which("git", path=project.environ.get("PATH")) is None:
        yield Finding("git", "warning", "not found", "Install git, so that you can see and undo what Claude changes.")
    elif not any((folder / ".git").exists() for folder in (project.root, *project.root.parents)):
        yield Finding("git", "warning", f"{project.root} is not a repository", "Make it one: git init")
    else:
        yield Finding("git", "ok", "the project is a repository")


def _folders(project: Project) -> Iterator[Finding]:
    for name, folder in (("workspaces", project.workspaces_folder), ("archive", project.archive_folder)):
        nearest = folder
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if problem := _refused(nearest):
            fix = f"Check the permissions and free space of {nearest}"
            yield Finding(name, "problem", f"{folder} cannot be written: {problem}", fix)
        else:
            yield Finding(name, "ok", f"{folder} can be written")


def _refused(folder: Path) -> str:
    """Why nothing can be written there; empty when it can. It writes: permissions do not show a full disk."""
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
        yield from workspace_findings(project)
    except ExpectedError as problem:
        yield Finding("workspaces", "problem", problem.message, problem.hint)
