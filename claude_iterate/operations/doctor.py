"""What `doctor` checks on this computer and in the workspaces, and what `doctor --fix` does about it.

Each check looks at one thing, never raises for what it finds, and never prints a secret. A finding that can be repaired
knows how: processes and files that killed runs left, and torn metadata, which is rebuilt from the journal if there is
one. Every repair is reported. Nothing else is touched, and no workspace that is in use.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from claude_iterate.agent.command import discovery, sandbox_host
from claude_iterate.agent.command.command_line import claude_environment
from claude_iterate.agent.command.permissions import read_permissions
from claude_iterate.agent.processes.leftovers import end_marked, find_leftovers
from claude_iterate.core import claude_versions
from claude_iterate.core.rules.next_steps import rename_workspace
from claude_iterate.core.settings.layers import unknown_variables
from claude_iterate.errors import ExpectedError, NewerFormat, WorkspaceProblem
from claude_iterate.project.worktrees import left_by_nobody
from claude_iterate.prompts import shipped_folder
from claude_iterate.system import untrusted_files
from claude_iterate.system.untrusted_files import find_abandoned
from claude_iterate.workspace import (
    creation,
    journal_reader,
    metadata,
    settings_reader,
    task_file,
)
from claude_iterate.workspace.layout import PROJECT_FILES, Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import hook_files, run_lock

_CREDENTIALS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
_PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
FIX = "Fix it: claude-iterate doctor --fix"


class Finding(msgspec.Struct, frozen=True):
    """What a check found: ok, warning (may stay as it is) or problem (must be fixed), and how to fix it."""

    check: str
    state: Literal["ok", "warning", "problem"]
    message: str
    fix: str = ""
    repair: Callable[[], list[Finding]] | None = None
    """What `doctor --fix` does about it; returns what came of it."""

    @property
    def document(self) -> dict[str, str]:
        """Its form in JSON."""
        return {"check": self.check, "state": self.state, "message": self.message, "fix": self.fix}


def examine(project: Project) -> list[Finding]:
    """All checks, in the order in which problems should be fixed."""
    settings = list(_settings(project))
    findings = [*settings, *_variables(project)]
    if any(finding.state == "problem" for finding in settings):
        return [*findings, Finding("rest", "warning", "not checked", "Fix the settings first, then run doctor again.")]
    findings += [*_claude(project), *_login(project), *_sandbox(project)]
    findings.append(Finding("prompts", "ok", f"the shipped ones are in {shipped_folder()}"))
    return [*findings, *_git(project), *_folders(project), *_workspaces(project)]


def fix(project: Project) -> list[Finding]:
    """Repair what can be repaired; what was done, and what could not be."""
    try:
        layouts = [project.layout(name) for name in project.workspaces()]
    except ExpectedError:
        return []  # the checks report it
    done = [finding for layout in layouts for finding in _fix_workspace(project, layout)]
    return [*done, *_repair_all(_stale_outside(project))]


def _fix_workspace(project: Project, layout: Layout) -> list[Finding]:
    if run_lock.holder(layout.lock) is not None:
        return []
    # Before the lock is taken: until then its file names the run that was killed.
    found = [finding for finding in _workspace(project, layout) if finding.repair is not None]
    if not found:
        return []
    try:
        with run_lock.hold(layout.lock, layout.name, "doctor"):
            return _repair_all(found)
    except ExpectedError as problem:
        return [Finding(f"workspace {layout.name}", "problem", problem.message, problem.hint)]


def _repair_all(found: Iterable[Finding]) -> list[Finding]:
    return [done for finding in found if finding.repair is not None for done in finding.repair()]


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


def _git(project: Project) -> Iterator[Finding]:
    if shutil.which("git", path=project.environ.get("PATH")) is None:
        yield Finding("git", "warning", "not found", "Install git, so that you can see and undo what Claude changes.")
    elif not any((folder / ".git").exists() for folder in (project.root, *project.root.parents)):
        home = project.environ.get("HOME")
        if home and project.root.resolve() == Path(home).resolve():
            fix = "Go to the folder of your project first, or name it: claude-iterate -C DIR doctor"
            yield Finding("git", "warning", f"{project.root} is your home folder", fix)
        else:
            yield Finding("git", "warning", f"{project.root} is not a repository", "Make it one: git init")
    else:
        yield Finding("git", "ok", "the project is a repository")


def _folders(project: Project) -> Iterator[Finding]:
    for name, folder in (("workspaces", project.workspaces_folder), ("archive", project.archive_folder)):
        nearest = folder
        while not untrusted_files.exists(nearest) and nearest != nearest.parent:
            nearest = nearest.parent
        if problem := _why_not_writable(nearest):
            fix = f"Check the permissions and free space of {nearest}"
            yield Finding(name, "problem", f"{folder} cannot be written: {problem}", fix)
        else:
            yield Finding(name, "ok", f"{folder} can be written")


def _why_not_writable(folder: Path) -> str:
    """Why nothing can be written there; empty when it can. It writes: permissions do not show a full disk."""
    try:
        # It has no name, so it never stays behind.
        with untrusted_files.folder_handle(folder), tempfile.TemporaryFile(dir=folder) as file:
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
    for left in left_by_nobody(project.root, names, project.environ):
        yield Finding("worktrees", "warning", f"no workspace uses {left.description}", left.steps)
    yield from _hooks(project, names)
    yield from _stale_outside(project)


def _workspace(project: Project, layout: Layout) -> Iterator[Finding]:
    check = f"workspace {layout.name}"
    about = None
    try:
        about = metadata.read(layout.metadata)
    except WorkspaceProblem as problem:
        if _can_be_repaired(layout):
            yield Finding(check, "problem", problem.message, FIX, partial(_rebuild_metadata, check, layout))
        else:
            yield Finding(check, "problem", problem.message, problem.hint)
    except NewerFormat as problem:
        yield Finding(check, "problem", problem.message, problem.hint)
        return
    if about is not None:
        yield from _usability(project, layout, check, about)
    if run_lock.holder(layout.lock) is None:
        if about is not None:
            yield from _last_run(layout, check, about)
        yield from _left_behind(layout, check)


def _usability(project: Project, layout: Layout, check: str, about: Metadata) -> Iterator[Finding]:
    """Whether a run can begin with its settings, its instructions and its folder."""
    try:
        claude = project.settings_for(layout).settings.claude
    except ExpectedError as problem:
        fix = f"{problem.hint} Or: claude-iterate config KEY --unset --workspace {layout.name}"
        yield Finding(check, "problem", problem.message, fix)
        return
    if why := read_permissions(claude, project.environ, project.root).unrestricted:
        fix = f"Outside a disposable sandbox: claude-iterate config -w {layout.name} claude.permission_mode acceptEdits"
        yield Finding(check, "warning", f"permission checks are off: {why}, so Claude can run any command", fix)
    if about.last_run and not task_file.is_readable(layout.instructions):
        fix = f"Put it back, from git perhaps, or write it: claude-iterate setup {layout.name}"
        yield Finding(check, "problem", f"{layout.instructions} is missing, empty or not text", fix)
    if not os.access(layout.folder, os.W_OK | os.X_OK):
        yield Finding(check, "problem", f"{layout.folder} cannot be written", "Check its permissions.")


def _last_run(layout: Layout, check: str, about: Metadata) -> Iterator[Finding]:
    """The lock is free. A run without an end was killed, or this is a copy of a workspace where it runs."""
    run = next(journal_reader.newest_runs(layout, ("run",)), "")
    if run <= about.reset_after or journal_reader.has_finished(layout.journal(run)):
        return
    if run_lock.is_copy(layout, run):
        pid = run_lock.pid_of(layout, run)
        fix = f"Wait for that one, or start over here: claude-iterate reset {layout.name}"
        yield Finding(check, "warning", f"it is a copy of a workspace that is running now (pid {pid})", fix)
    elif run_lock.fate_of(layout, run) != run_lock.LIVES:
        # Nothing has to be fixed: the next run continues where it stopped.
        step = f"claude-iterate run {layout.name}"
        started = journal_reader.beginning(layout.journal(run))
        if started is not None and started.again:
            step = rename_workspace(started.again, started.workspace, layout.name)
        yield Finding(check, "warning", "its last run was killed", f"Continue: {step}")


def _left_behind(layout: Layout, check: str) -> Iterator[Finding]:
    """A run that ended normally ended its processes. To look through all processes for each of those would take
    long."""
    for run in layout.run_ids()[-1:]:
        if journal_reader.has_finished(layout.journal(run)):
            continue
        fate = run_lock.fate_of(layout, run)
        alive = find_leftovers(run) if fate != run_lock.LIVES else []
        if not alive:
            continue
        message, by_hand = f"processes of run {run} are still alive", f"kill {' '.join(map(str, alive))}"
        if fate == run_lock.DEAD:
            yield Finding(check, "problem", message, f"{FIX} (or: {by_hand})", partial(_end_processes, check, run))
        else:
            yield Finding(check, "problem", message, f"If it does not run on another machine: {by_hand}")
    for path in layout.abandoned():
        yield Finding(check, "warning", f"{path.name} was left by a killed command", FIX, partial(_remove, check, path))


def _end_processes(check: str, run: str) -> list[Finding]:
    return [Finding(check, "ok", f"ended {process}, of run {run}") for process in end_marked(run)]


def _can_be_repaired(layout: Layout) -> bool:
    """The metadata is damaged or missing, and this is a workspace: it has instructions, or the journal of a run."""
    try:
        untrusted_files.look(layout.metadata)
    except FileNotFoundError:
        if not untrusted_files.is_file(layout.instructions) and journal_reader.last_run(layout, ("run",)) is None:
            return False
    except OSError:
        return False  # it may be whole
    return os.access(layout.folder, os.W_OK)


def _stale_outside(project: Project) -> Iterator[Finding]:
    """What killed commands left outside of the workspaces."""
    places = (project.workspaces_folder, project.templates_folder, project.global_templates_folder)
    for path in (
        *(path for folder in places for path in find_abandoned(folder, folders=True)),
        *find_abandoned(project.archive_folder),
        *find_abandoned(settings_reader.user_folder(project.environ)),
        *find_abandoned(project.root, *PROJECT_FILES),
    ):
        message = f"{path} was left incomplete by a killed command"
        yield Finding("leftovers", "warning", message, FIX, partial(_remove, "leftovers", path))


def _bad_names(project: Project, known: set[str]) -> Iterator[Finding]:
    """Folders whose names no command accepts: the original had other rules. Incomplete ones are found elsewhere."""
    for name in sorted(untrusted_files.names_in(project.workspaces_folder)):
        entry = project.workspaces_folder / name
        unknown = name not in known and not name.startswith(".")
        if unknown and untrusted_files.exists(entry / ".metadata.json"):
            fix = "Rename it to letters, digits, '.', '_' and '-', beginning with a letter or digit; or delete it."
            yield Finding("workspaces", "problem", f"{entry} has a name that cannot be used", fix)


def _hooks(project: Project, names: list[str]) -> Iterator[Finding]:
    """Files that look like hooks and cannot run."""
    found = {file.path: file for name in names for file in hook_files.find(project.root, project.layout(name).folder)}
    for file in found.values() or hook_files.find(project.root, None):
        if file.problem:
            yield Finding("hooks", "warning", f"{file.shown} is not run: {file.problem}", file.fix)


def _rebuild_metadata(check: str, layout: Layout) -> list[Finding]:
    """From the journal, or new where there is none; the torn file is kept. What is lost is said: what proved the task
    may be among it."""
    kept = f"; what is left of them is in {layout.folder / '.metadata.json.bak'}"
    old = kept if untrusted_files.exists(layout.metadata) else ""
    creation.repair(layout, None, {})
    run = metadata.read(layout.metadata).run.id
    new = "made a new .metadata.json, with mode loop and all counters at 0"
    done = f"rebuilt .metadata.json from the journal of run {run}" if run else new
    lost = f"The workspace's own settings are lost, its checks and permissions among them{old}"
    fix = f"Set them again: claude-iterate config KEY VALUE -w {layout.name}"
    return [Finding(check, "warning", f"{done}. {lost}", fix)]


def _remove(check: str, path: Path) -> list[Finding]:
    try:
        untrusted_files.remove(path)
    except ExpectedError as problem:
        return [Finding(check, "problem", problem.message, problem.hint)]
    return [Finding(check, "ok", f"removed {path}")]
