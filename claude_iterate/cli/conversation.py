"""A conversation with Claude about the instructions: the terminal is Claude's until it leaves."""

from __future__ import annotations

import sys

from claude_iterate.agent import command, discovery, session
from claude_iterate.cli import output
from claude_iterate.cli.launch import new_run_id, text_source, with_fake
from claude_iterate.core.reasons import exit_code
from claude_iterate.workspace import lock, projection
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.repository import Project


def is_possible() -> bool:
    """True when Claude can have the whole terminal: what it reads, what it shows, what goes wrong."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def find_claude(project: Project, layout: Layout | None) -> str:
    """The program, or an AgentProblem. Asked before a workspace is made."""
    settings = project.settings_for(layout).settings if layout is not None else project.resolved.settings
    return discovery.find(settings.claude.command, {**project.environ, **settings.claude.env}, project.root)


def refuse_broken_claude(project: Project) -> None:
    """An AgentProblem when Claude is there and cannot even tell its version."""
    claude = project.resolved.settings.claude
    discovery.version(claude.command, {**project.environ, **claude.env}, project.root)


def hold(project: Project, layout: Layout, purpose: str, dry_run: bool) -> int:
    """Talk until Claude leaves; 0, or the exit code of a command that was itself told to end. Counted in any case."""
    settings = project.settings_for(layout).settings
    if dry_run:
        settings = with_fake(settings)
    claude = settings.claude
    program = discovery.find(claude.command, {**project.environ, **claude.env}, project.root)
    texts = text_source(project, layout, settings).errand(purpose, {})
    with lock.hold(layout.lock, layout.name, "starting") as held:
        run = new_run_id(layout)
        held.tell(run)
        environment = command.environment(project.environ, claude, run, layout.folder)
        with session.arguments(claude, texts.system, texts.user, layout.working, run) as argv:
            grace = settings.timeouts.terminate_grace
            ended = session.converse([program, *argv[1:]], environment, layout.root, run, grace)
        if not dry_run:
            projection.count_setup(layout)
    if ended.signal:
        return exit_code("terminated", detailed=False)
    if ended.code:
        how = f"with exit code {ended.code}" if ended.code > 0 else f"by signal {-ended.code}"
        output.warn(f"Claude ended {how}.")
    return 0
