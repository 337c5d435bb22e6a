"""What keeps a run apart: the worktree that it works in, if the setting `worktree` asks for one, and the sandbox around
Claude. Both are found before anything is written. A dry run needs neither."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.agent.command import sandbox_host, sandbox_network
from claude_iterate.agent.command.command_line import claude_environment, environment_outside
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.agent.command.sandbox_host import Shown
from claude_iterate.core.events import RunStarted, Warned, WorktreeMade
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.run_request import PreparedRun
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import AgentProblem, UsageProblem, WorkspaceProblem
from claude_iterate.project import worktrees
from claude_iterate.project.agent_repository import AgentRepository, find_repositories, git_folders
from claude_iterate.project.git import Git, GitProblem
from claude_iterate.project.worktrees import Worktree
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import journal_reader, metadata, task_file
from claude_iterate.workspace.layout import Layout, named_folders
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock


def name_branch(run: PreparedRun) -> PreparedRun:
    """A `verify` whose next step, a run, leads to the worktree that the last run worked in."""
    last = journal_reader.last_run(run.layout, ("run",)) if run.request.purpose == "verify" else None
    made = last[1].worktree.made if last is not None else None
    if made is None:
        return run
    line = replace(run.request.command_line, branch=made.branch)
    return replace(run, request=replace(run.request, command_line=line))


def find_worktree(run: PreparedRun) -> Worktree | None:
    """Where the run is to work; None: in the project. A WorkspaceProblem when it cannot; nothing is written yet."""
    if run.request.dry_run or run.request.purpose not in {"run", "verify"}:
        return None
    if not run.settings.worktree:
        _refuse_elsewhere(run)
        return None
    environ = _environ_outside(run.project, run.layout, run.settings)
    return worktrees.find(run.project.root, run.name, run.settings.worktree, environ)


def _refuse_elsewhere(run: PreparedRun) -> None:
    """A proof of the project says nothing about unmerged work in a worktree, and a killed run continues where it
    worked."""
    layout, line = run.layout, run.request.command_line
    folder = layout.root / "claude-iterate" / worktrees.FOLDER / layout.name
    if run.request.purpose == "run" and not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir may raise
        return
    before, state = journal_reader.last_run(layout, ("run",)) or ("", RunState())
    if (made := state.worktree.made) is None:
        return
    words = [word for option in line.options for word in option]
    is_there = os.path.isdir(made.path)  # noqa: PTH112 - as above
    if run.request.purpose == "verify":
        merge = worktrees.remains(run.project.root, made.path, made.branch, run.project.environ).merge
        if merge or is_there:
            there = line.command("verify", layout.name, f"--worktree={made.branch}", *words)
            raise WorkspaceProblem(
                f"The last run of {layout.name} worked in a worktree, on the branch {made.branch}: its work is not"
                " here.",
                f"Prove it there: {there}" + (f"; or merge it first: {merge}" if merge else ""),
            )
    elif is_there and state.finished is None and metadata.read(layout.metadata).reset_after < before:
        there, forget = run.command(f"--worktree={made.branch}", *words), line.command("reset", layout.name)
        raise WorkspaceProblem(
            f"The run of {layout.name} that was killed worked in a worktree, on the branch {made.branch}: not here.",
            f"Continue there: {there}; or forget it and start here: {forget}, then run it.",
        )


def place_warnings(run: PreparedRun, tree: Worktree | None) -> list[Warned]:
    """What is not in the worktree; without one, which other run works in the same folder."""
    if not run.request.is_real_run:
        return []
    return [*_warn_of_root(run), *_warn_of_place(run, tree)]


def _warn_of_root(run: PreparedRun) -> list[Warned]:
    if run.settings.sandbox.kind != "bwrap" or os.geteuid() != 0:
        return []
    text = "You are root, so Claude inside the sandbox is root, too: it can read what only root may read."
    return [Warned(text, "Run it as a user without privileges.")]


def _warn_of_place(run: PreparedRun, tree: Worktree | None) -> list[Warned]:
    if tree is None:
        return [
            Warned(
                f"{other} runs in the same folder: what the two change can get mixed up.",
                f"Give one a checkout of its own: claude-iterate run {run.name} --worktree",
            )
            for other in _names_running_here(run.project, run.layout)
        ]
    warned = []
    if not tree.found and tree.main_is_changed(run.layout.own_folders()):
        text = "The project has changes that are not committed. They are not in the worktree."
        hint = f"If the task needs them: claude-iterate stop {run.name}, commit, and run again."
        warned.append(Warned(text, hint))
    _, before = journal_reader.last_run(run.layout, ("run",)) or ("", RunState())
    is_other = before.worktree.made is None or before.worktree.made.branch != tree.branch
    if tree.found and (is_other or task_file.is_another(run.layout.instructions, before.run.task)):
        left = worktrees.remains(run.project.root, str(tree.top), tree.branch, run.project.environ)
        if left.merge:
            text = f"The run continues with work from before this task: {left.description}."
            warned.append(Warned(text, f"If it should not: claude-iterate stop {run.name}. {left.steps}"))
    if tree.behind:
        text = f"The branch {tree.branch} was there already, and does not have all commits of {tree.behind}."
        other = shlex.quote(f"--worktree=NEW-BRANCH:{tree.behind}")
        warned.append(Warned(text, f"To begin there, take a new branch: claude-iterate run {run.name} {other}"))
    own = tree.main / ".claude" / "settings.local.json"
    there = tree.place / ".claude" / "settings.local.json"
    if untrusted_files.is_file(own) and not untrusted_files.exists(there):
        text = f"{own} is not in the worktree, so what it allows is not allowed there."
        hint = f"Allow it by settings: claude-iterate config -w {run.name} claude.allowed_tools ..."
        warned.append(Warned(text, hint))
    return warned


def _names_running_here(project: Project, layout: Layout) -> list[str]:
    """Workspaces that run in the project itself at this moment."""
    running = []
    for name in named_folders(project.workspaces_folder):
        other = Layout(project.root, project.workspaces_folder / name)
        holder = run_lock.holder(other.lock) if name != layout.name else None
        if holder is None or holder.run not in other.run_ids():
            continue
        first = [entry.event for entry in itertools.islice(journal_reader.milestones(other.journal(holder.run)), 5)]
        is_real = any(isinstance(one, RunStarted) and one.purpose == "run" and not one.dry_run for one in first)
        if is_real and not any(isinstance(event, WorktreeMade) for event in first):
            running.append(name)
    return running


@contextlib.contextmanager
def open_sandbox(
    project: Project, layout: Layout, settings: Settings, dry_run: bool, elsewhere: bool = False
) -> Iterator[Sandbox | None]:
    """The sandbox that the settings ask for, and its way to Claude's service, for as long as the block lasts.
    `elsewhere`: the run works in a worktree, so the checkout can only be read."""
    sandbox = None if dry_run else make_sandbox(project, layout, settings, elsewhere)
    if sandbox is None or sandbox.asked.network:
        yield sandbox
        return
    environment = claude_environment(project.environ, settings.claude)
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(sandbox_network.open_proxy(sandbox_network.addresses(environment)))
        except (OSError, ValueError) as error:
            what = f"The way from the sandbox to Claude's service cannot be opened: {error}."
            raise AgentProblem(what, "Check ANTHROPIC_BASE_URL and the folder for temporary files.") from error
        yield replace(sandbox, gate=path, mirrored=sandbox_network.port_on_this_computer(environment))


def make_sandbox(project: Project, layout: Layout, settings: Settings, elsewhere: bool = False) -> Sandbox | None:
    """The sandbox of these settings, without a way to Claude's service; an ExpectedError with the next step if it does
    not work on this computer."""
    asked = settings.sandbox
    if asked.kind == "none":
        return None
    if asked.is_container and not asked.image:
        raise UsageProblem(
            f"A sandbox of {asked.kind} needs an image with Claude Code in it.",
            "Name it: claude-iterate config sandbox.image NAME",
        )
    environ = _environ_outside(project, layout, settings)
    probe = sandbox_host.probe(asked.kind, environ)
    if probe.problem:
        raise AgentProblem(f"There is no sandbox: {probe.problem}. Nothing was started.", probe.fix)
    if asked.is_container and asked.image and sandbox_host.missing_image(probe.program, asked.image, environ):
        raise AgentProblem(
            f"The image {asked.image} is not on this computer. Nothing was started.",
            f"Get it: {asked.kind} pull {asked.image} (or build it: {asked.kind} build -t {asked.image} .)",
        )
    shown = replace(
        show_workspace(project, layout),
        writable=(layout.folder,) if elsewhere else (project.root, layout.folder),
        readable=tuple(git_folders(project.root, environ)),
    )
    sandbox = sandbox_host.make_sandbox(settings, project.environ, project.root, probe.program, shown)
    return replace(sandbox, author=_author(project.root, environ))


def show_workspace(project: Project, layout: Layout) -> Shown:
    """What is ours is not inside: of all that is claude-iterate's there is this workspace, without its records, and
    the hooks, which run inside."""
    hidden = (project.root / "claude-iterate", project.workspaces_folder, layout.runs, layout.control, layout.prompts)
    hooks = (project.root / "claude-iterate" / "hooks", layout.folder / "hooks")
    return Shown(kept=hooks, hidden=hidden, masked=(layout.metadata, layout.lock))


def enclose(spec: RunSpec, sandbox: Sandbox) -> RunSpec:
    """The run in its sandbox: what is to be hidden is there by now, and so is a worktree."""
    project, layout, tree = spec.project, spec.layout, spec.tree
    shown = show_workspace(project, layout)
    for folder in (*shown.hidden, layout.folder / "hooks"):  # what is not there could be made inside
        untrusted_files.make_folder(folder, parents=True)
    shown = replace(shown, writable=(tree.place,) if tree is not None else ())
    repositories: tuple[AgentRepository, ...] = ()
    if spec.request.purpose in {Purpose.RUN, Purpose.VERIFY}:
        place, environ = layout.runs / ".repositories", _environ_outside(project, layout, spec.settings)
        repositories = tuple(find_repositories(layout.root, place, layout.name, environ))
    placed = tuple(mount for repository in repositories for mount in repository.mounts())
    shown_now = replace(sandbox_host.show(sandbox, shown), run=spec.run, placed=placed)
    settled = {path: os.path.realpath(path) for path in shown_now.sources}
    return replace(spec, sandbox=replace(shown_now, settled=settled), repositories=repositories)


def _environ_outside(project: Project, layout: Layout, settings: Settings) -> Mapping[str, str]:
    """For what we start outside: no program comes from where a Claude in this sandbox could have left one."""
    if settings.sandbox.kind == "none":
        return project.environ
    mounted = sandbox_host.writable_mounts(settings.sandbox, project.environ)
    claude = sandbox_host.claude_folder(claude_environment(project.environ, settings.claude))
    return environment_outside(project.environ, map(str, [project.root, layout.folder, claude, *mounted]))


def _author(root: Path, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Who commits in the project, as git's settings have it: name and address, and nothing else of them."""
    try:
        said = Git(str(root), environ).names("config", "-z", "--get-regexp", r"^user\.(name|email)$")
    except GitProblem:  # nothing is set, or there is no git
        return ()
    return tuple({key: value for key, _, value in (entry.partition("\n") for entry in said)}.items())
