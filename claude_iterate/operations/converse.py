"""A conversation with Claude about the instructions: the terminal is Claude's until it leaves."""

from __future__ import annotations

import sys

from claude_iterate.agent import conversation
from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.environment import run_environment
from claude_iterate.cli import output
from claude_iterate.core.events.reasons import exit_code
from claude_iterate.operations.launch import new_run_id, text_source, with_fake
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import summary
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import run_lock


def is_possible() -> bool:
    """True when Claude can have the whole terminal: what it reads, what it shows, what goes wrong."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def find_claude(project: Project, layout: Layout | None) -> str:
    """The program, or an AgentProblem. Asked before a workspace is made."""
    settings = project.settings_for(layout).settings if layout is not None else project.resolved.settings
    return discovery.find(settings.claude, project.environ, project.root)


def refuse_broken_claude(project: Project) -> None:
    """An AgentProblem when Claude is there and cannot even tell its version."""
    claude = project.resolved.settings.claude
    discovery.version(claude, project.environ, project.root)


def hold(project: Project, layout: Layout, purpose: str, dry_run: bool) -> int:
    """Talk until Claude leaves; 0, or the exit code of a command that was itself told to end. Counted in any case."""
    settings = project.settings_for(layout).settings
    if dry_run:
        settings = with_fake(settings)
    claude = settings.claude
    discovery.find(claude, project.environ, project.root)  # before anything is locked or written
    texts = text_source(project, layout, settings).errand(purpose, {})
    with run_lock.hold(layout.lock, layout.name, "starting") as held:
        run = new_run_id(layout)
        held.record(run)
        environment = run_environment(project.environ, claude, run, layout.folder)
        with conversation.arguments(claude, texts.system, texts.user, layout.working, run) as argv:
            grace = settings.timeouts.terminate_grace
            command = discovery.prepare(argv, environment, layout.root)
            ended = conversation.converse(*command, layout.root, run, grace)
        if not dry_run:
            summary.count_setup(layout)
    if ended.signal:
        return exit_code("terminated", detailed=False)
    if ended.code:
        how = f"with exit code {ended.code}" if ended.code > 0 else f"by signal {-ended.code}"
        output.warn(f"Claude ended {how}.")
    return 0
