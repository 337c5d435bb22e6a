"""What `doctor` checks on this computer and in the workspaces, and what `doctor --fix` does about it.

Each check looks at one thing, never raises for what it finds, and never prints a secret. A fix ends processes and
removes files that killed runs left, and rebuilds torn metadata, from the journal if there is one. Every fix is
reported. Nothing else is touched, and no workspace that is in use.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from claude_iterate.agent.command import discovery, sandbox_host
from claude_iterate.agent.command.environment import claude_environment
from claude_iterate.agent.processes.leftovers import end_marked, find_leftovers
from claude_iterate.core import claude_versions
from claude_iterate.core.rules.next_steps import renamed
from claude_iterate.core.settings.layers import unknown_variables
from claude_iterate.errors import ExpectedError, NewerFormat, WorkspaceProblem
from claude_iterate.operations.permissions import unrestricted
from claude_iterate.prompts import shipped_folder
from claude_iterate.workspace import creation, leftover_files, metadata, metadata_updates, settings_reader, task_file
from claude_iterate.workspace.files import folders
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import PROJECT_FILES, Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import hook_files, run_lock, runner

_CREDENTIALS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
_PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
FIX = "Fix it: claude-iterate doctor --fix"


class Finding(msgspec.Struct, frozen=True):
    """What a check found: ok, warning (may stay as it is) or problem (must be fixed), and how to fix it."""

    check: str
    state: Literal["ok", "warning", "problem"]
    message: str
    fix: str = ""


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
    folder = settings_reader.expand_path(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude", environ)
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
        if problem := _why_not_writable(nearest):
            fix = f"Check the permissions and free space of {nearest}"
            yield Finding(name, "problem", f"{folder} cannot be written: {problem}", fix)
        else:
            yield Finding(name, "ok", f"{folder} can be written")


def _why_not_writable(folder: Path) -> str:
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
    """Everything that is wrong in the workspaces and beside them."""
    try:
        names = project.workspaces()
    except ExpectedError as problem:
        yield Finding("workspaces", "problem", problem.message, problem.hint)
        return
    for name in names:
        yield from _workspace(project, project.layout(name))
    yield from _bad_names(project, set(names))
    yield from _hooks(project, names)
    yield from _torn(project)
    for path in _stale_outside(project):
        yield Finding("leftovers", "warning", f"{path} was left incomplete by a killed command", FIX)


def _workspace(project: Project, layout: Layout) -> Iterator[Finding]:
    check = f"workspace {layout.name}"
    try:
        about = metadata.read(layout.metadata)
        settings = project.settings_for(layout).settings
    except WorkspaceProblem as problem:
        yield Finding(check, "problem", problem.message, FIX if _can_be_repaired(layout) else problem.hint)
        return
    except NewerFormat as problem:
        yield Finding(check, "problem", problem.message, problem.hint)
        return
    except ExpectedError as problem:
        fix = f"{problem.hint} Or: claude-iterate config KEY --unset --workspace {layout.name}"
        yield Finding(check, "problem", problem.message, fix)
        return
    if why := unrestricted(settings, project):
        fix = f"Outside a disposable sandbox: claude-iterate config -w {layout.name} claude.permission_mode acceptEdits"
        yield Finding(check, "warning", f"permission checks are off: {why}, so Claude can run any command", fix)
    if about.last_run and not task_file.is_readable(layout.instructions):
        fix = f"Put it back, from git perhaps, or write it: claude-iterate setup {layout.name}"
        yield Finding(check, "problem", f"{layout.instructions} is missing, empty or not text", fix)
    if not os.access(layout.folder, os.W_OK | os.X_OK):
        yield Finding(check, "problem", f"{layout.folder} cannot be written", "Check its permissions.")
    if run_lock.holder(layout.lock) is None:
        yield from _last_run(layout, check, about)
        yield from _left_behind(layout, check, _suspects(layout, about))


def _last_run(layout: Layout, check: str, about: Metadata) -> Iterator[Finding]:
    """The lock is free. A run that still seems to be on was killed, or this is a copy of a workspace where it is on."""
    for run in sorted(_runs_that_seem_on(layout, about)):
        started = reader.beginning(layout.journal(run))
        if reader.has_finished(layout.journal(run)) or (started is not None and started.dry_run):
            continue
        if runner.living_runner(layout.folder) is not None:
            continue  # it runs here, and its lock cannot be seen
        if runner.fate_of(layout, run) == runner.LIVES:
            pid = runner.pid_of(layout, run)
            fix = f"Wait for that one, or start over here: claude-iterate reset {layout.name}"
            yield Finding(check, "warning", f"it is a copy of a workspace that is running now (pid {pid})", fix)
        else:
            # Nothing has to be fixed: the next run goes on where it stopped.
            step = f"claude-iterate run {layout.name}"
            if started is not None and started.again:
                step = renamed(started.again, started.workspace, layout.name)
            yield Finding(check, "warning", "its last run was killed", f"Go on: {step}")
    if _is_behind(layout):
        older = metadata.has_newer_runs(about, str(layout.folder))
        why = "git may have put back an older one" if older else "it was killed before it could write that"
        message = f"its last run ended, and .metadata.json does not say so: {why}"
        yield Finding(check, "warning", message, FIX)


def _left_behind(layout: Layout, check: str, runs: list[str]) -> Iterator[Finding]:
    for run in runs:
        fate = runner.fate_of(layout, run)
        alive = find_leftovers(run) if fate != runner.LIVES else []
        if alive:
            by_hand = f"kill {' '.join(map(str, alive))}"
            elsewhere = f"If it does not run on another machine: {by_hand}"
            fix = f"{FIX} (or: {by_hand})" if fate == runner.DEAD else elsewhere
            yield Finding(check, "problem", f"processes of run {run} are still alive", fix)
    for path in leftover_files.half_made_runs(layout):
        yield Finding(check, "warning", f"run {path.name} was killed before it began", FIX)
    for path in leftover_files.stale_in_workspace(layout, time.time()):
        yield Finding(check, "warning", f"{path.name} was left by a killed command", FIX)


def _suspects(layout: Layout, about: Metadata | None) -> list[str]:
    """Runs that may have left processes. A run that ended normally ended its own; to look through all processes for
    each of those would take long."""
    known = about is not None and about.last_run is not None
    return sorted(_runs_that_seem_on(layout, about) or set(layout.run_ids()[-1:] if not known else []))


def _is_behind(layout: Layout) -> bool:
    """The journal has an end that the summary in .metadata.json does not have."""
    try:
        before = metadata.read(layout.metadata)
    except ExpectedError:
        return False
    after = metadata_updates.refresh_from_journals(layout, before)
    return after != before and not after.is_running


def _can_be_repaired(layout: Layout) -> bool:
    """The metadata is damaged or missing, and this is a workspace: it has instructions, or the journal of a run."""
    try:
        layout.metadata.read_bytes()
    except FileNotFoundError:
        if not layout.instructions.is_file() and reader.last_run(layout, ("run",)) is None:
            return False
    except OSError:
        return False  # it may be whole
    return os.access(layout.folder, os.W_OK)


def _stale_outside(project: Project) -> list[Path]:
    """What killed commands left outside of the workspaces."""
    now = time.time()
    folders = (project.workspaces_folder, project.templates_folder, project.global_templates_folder)
    return [
        *(path for folder in folders for path in leftover_files.stale_folders(folder, now)),
        *leftover_files.stale_files(project.archive_folder, now),
        *leftover_files.stale_files(settings_reader.user_folder(project.environ), now),
        *leftover_files.stale_files(project.root, now, PROJECT_FILES),
    ]


def _runs_that_seem_on(layout: Layout, about: Metadata | None) -> set[str]:
    """Runs that seem to be on: a run that ends normally says so, in its summary and in the lock file."""
    said = {about.run.id} if about is not None and about.is_running else set()
    in_lock = runner.holder_named_in(layout.lock).get("run")
    return (said | ({in_lock} if in_lock in layout.run_ids() else set())) - {""}


def _bad_names(project: Project, known: set[str]) -> Iterator[Finding]:
    """Folders whose names no command accepts: the original had other rules. Incomplete ones are found elsewhere."""
    if not project.workspaces_folder.is_dir():
        return
    for entry in sorted(project.workspaces_folder.iterdir()):
        unknown = entry.is_dir() and entry.name not in known and not leftover_files.is_aside(entry.name)
        if unknown and (entry / ".metadata.json").exists():
            fix = "Rename it to letters, digits, '.', '_' and '-', beginning with a letter or digit; or delete it."
            yield Finding("workspaces", "problem", f"{entry} has a name that cannot be used", fix)


def _hooks(project: Project, names: list[str]) -> Iterator[Finding]:
    """Files that look like hooks and cannot run."""
    found = {file.path: file for name in names for file in hook_files.find(project.root, project.layout(name).folder)}
    for file in found.values() or hook_files.find(project.root, None):
        if file.problem:
            yield Finding("hooks", "warning", f"{file.shown} is not run: {file.problem}", file.fix)


def _torn(project: Project) -> Iterator[Finding]:
    for folder in (project.workspaces_folder, project.templates_folder, project.global_templates_folder):
        for path, name in leftover_files.torn_folders(folder).items():
            fix = f"Rename the version that you want to {folder / name}, and delete the other."
            yield Finding("leftovers", "problem", f"{path} was left when a killed command replaced {name!r}", fix)


def fix(project: Project) -> list[Finding]:
    """What was fixed, and what could not be."""
    try:
        layouts = [project.layout(name) for name in project.workspaces()]
    except ExpectedError:
        return []  # the checks report it
    found = [finding for layout in layouts for finding in _fix_workspace(layout)]
    return [*found, *_remove("leftovers", _stale_outside(project))]


def _fix_workspace(layout: Layout) -> list[Finding]:
    check = f"workspace {layout.name}"
    if run_lock.holder(layout.lock) is not None:
        return []
    about: Metadata | None = None
    broken = False
    try:
        about = metadata.read(layout.metadata)
    except NewerFormat:
        return []  # the checks report it
    except ExpectedError:
        broken = _can_be_repaired(layout)
    # Before the lock is taken: until then its file names the run that was killed.
    names = [run for run in _suspects(layout, about) if _living_processes(layout, run)]
    if not (names or broken or _incomplete(layout) or _is_behind(layout)):
        return []
    try:
        with run_lock.hold(layout.lock, layout.name, "doctor"):
            done = [_repair(check, layout)] if broken else []
            if late := metadata_updates.catch_up(layout):
                done.append(Finding(check, "ok", f"wrote into .metadata.json how run {late} ended"))
            done += [
                Finding(check, "ok", f"ended {process}, of run {run}") for run in names for process in end_marked(run)
            ]
            return [*done, *_remove(check, _incomplete(layout))]
    except ExpectedError as problem:
        return [Finding(check, "problem", problem.message, problem.hint)]


def _living_processes(layout: Layout, run: str) -> list[int]:
    """Processes of a run whose runner is certainly dead: a workspace may be a copy of one that is running."""
    return find_leftovers(run) if runner.fate_of(layout, run) == runner.DEAD else []


def _incomplete(layout: Layout) -> list[Path]:
    return [*leftover_files.half_made_runs(layout), *leftover_files.stale_in_workspace(layout, time.time())]


def _repair(check: str, layout: Layout) -> Finding:
    """Rebuild torn metadata from the journal, or make new metadata if there is none; the torn file is kept."""
    found = reader.last_run(layout, ("run",))
    torn = layout.metadata.exists()
    if found is None:
        creation.repair(layout, None, {})
        kept = "; the torn file is .metadata.json.bak" if torn else ""
        return Finding(check, "ok", f"made a new .metadata.json, with mode loop and all counters at 0{kept}")
    run, state = found
    creation.repair(layout, state.started.mode if state.started else None, {})
    metadata_updates.record_run(layout, state, run, running=state.finished is None)
    kept = "; the torn file, with the workspace's own settings, is .metadata.json.bak" if torn else ""
    return Finding(check, "ok", f"rebuilt .metadata.json from the journal of run {run}{kept}")


def _remove(check: str, paths: list[Path]) -> list[Finding]:
    found = []
    for path in paths:
        try:
            folders.remove(path)
            found.append(Finding(check, "ok", f"removed {path}"))
        except ExpectedError as problem:
            found.append(Finding(check, "problem", problem.message, problem.hint))
    return found
