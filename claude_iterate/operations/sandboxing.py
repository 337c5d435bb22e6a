"""The sandbox of a run: found, tried and opened before anything is written. A dry run needs none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.agent.command import egress_proxy, sandbox_host
from claude_iterate.agent.command.environment import claude_environment, environment_outside
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.core.events import Warned
from claude_iterate.core.formats import join_names
from claude_iterate.core.settings.declared import Settings
from claude_iterate.errors import AgentProblem, UsageProblem
from claude_iterate.project.git import Git, GitProblem
from claude_iterate.workspace.layout import Layout, named_folders
from claude_iterate.workspace.project import Project

_MOST_OTHERS = 200
"""Other workspaces that are kept; each is a mount."""


@contextlib.contextmanager
def opened(
    project: Project, layout: Layout, settings: Settings, dry_run: bool, elsewhere: bool = False
) -> Iterator[Sandbox | None]:
    """The sandbox that the settings ask for, and its way to Claude's service, for as long as the block lasts.
    `elsewhere`: the run works in a worktree, so the checkout can only be read."""
    if settings.sandbox.kind == "none" or dry_run:
        yield None
        return
    folders = [layout.folder] if elsewhere else [project.root, layout.folder]
    made = make(project, settings, folders, _own(project, layout))
    if made.network:
        yield made
        return
    environment = claude_environment(project.environ, settings.claude)
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(egress_proxy.open_proxy(egress_proxy.addresses(environment)))
        except (OSError, ValueError) as error:
            what = f"The way from the sandbox to Claude's service cannot be opened: {error}."
            raise AgentProblem(what, "Check ANTHROPIC_BASE_URL and the folder for temporary files.") from error
        yield replace(made, gate=path, mirrored=egress_proxy.port_on_this_computer(environment))


def for_programs(project: Project, layout: Layout, settings: Settings, run: str) -> Sandbox | None:
    """The sandbox for a program of the user alone, which has no way to Claude's service."""
    if settings.sandbox.kind == "none":
        return None
    return replace(make(project, settings, [project.root, layout.folder], _own(project, layout)), run=run)


def with_folder(sandbox: Sandbox, place: Path) -> Sandbox:
    """The sandbox of a run in a worktree, which is made by now."""
    return sandbox_host.with_folder(sandbox, place)


def make(project: Project, settings: Settings, folders: list[Path], own: list[Path]) -> Sandbox:
    """The sandbox of these settings; an ExpectedError with the next step if it does not work on this computer."""
    asked = settings.sandbox
    if asked.kind != "bwrap" and not asked.image:
        raise UsageProblem(
            f"A sandbox of {asked.kind} needs an image with Claude Code in it.",
            "Name it: claude-iterate config sandbox.image NAME",
        )
    # A program that an earlier run left in the project must not take the place of the sandbox.
    environ = environment_outside(project.environ, [str(path) for path in (project.root, *folders)])
    probe = sandbox_host.probe(asked.kind, environ)
    if probe.problem:
        raise AgentProblem(f"There is no sandbox: {probe.problem}. Nothing was started.", probe.fix)
    if asked.image and asked.kind != "bwrap" and sandbox_host.missing_image(probe.program, asked.image, environ):
        raise AgentProblem(
            f"The image {asked.image} is not on this computer. Nothing was started.",
            f"Get it: {asked.kind} pull {asked.image} (or build it: {asked.kind} build -t {asked.image} .)",
        )
    made = sandbox_host.make_sandbox(settings, project.environ, project.root, probe.program, folders, own)
    return replace(made, author=_author(project.root, environ))


def _author(root: Path, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Who commits in the project, as git's settings have it: name and address, and nothing else of them."""
    try:
        said = Git(str(root), environ).names("config", "-z", "--get-regexp", r"^user\.(name|email)$")
    except GitProblem:  # nothing is set, or there is no git
        return ()
    return tuple({key: value for key, _, value in (entry.partition("\n") for entry in said)}.items())


def created(sandbox: Sandbox, root: Path) -> tuple[Warned, ...]:
    """A warning of what was created during the run and is acted on outside of the sandbox."""
    found = [os.path.relpath(path, root) for path in sandbox.absent if os.path.lexists(path)]
    if not found:
        return ()
    text = f"New since the run began, and acted on outside of the sandbox: {join_names(found)}."
    return (Warned(text, "Look at it before you start git, Claude or a run here: Claude may have written it."),)


def _own(project: Project, layout: Layout) -> list[Path]:
    """What is ours alone: records, settings, and programs that a later run starts; and all other workspaces, which have
    settings as well."""
    places = [project.workspaces_folder / name for name in named_folders(project.workspaces_folder)]
    others = [place for place in places if place != layout.folder][:_MOST_OTHERS]
    return [layout.runs, layout.metadata, layout.prompts, layout.folder / "hooks", *others]
