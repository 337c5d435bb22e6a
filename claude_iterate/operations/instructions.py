"""The instructions of a workspace: read before they are replaced, written with a backup, announced when complete.

Claude writes or revises them: alone from a goal, or in a conversation that takes the terminal. The old text is never
lost.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent import conversation
from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import conversation_arguments, run_environment, system_prompt_words
from claude_iterate.core.events.enums import exit_code
from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.operations.isolation import open_sandbox
from claude_iterate.operations.launch import launch, new_run_id
from claude_iterate.operations.user import User
from claude_iterate.project.git import Git, GitProblem
from claude_iterate.sinks import notices
from claude_iterate.sinks.notifier import Notifier
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_write_errors, unreadable
from claude_iterate.system.untrusted_files import Found
from claude_iterate.workspace import creation, metadata, metadata_updates, settings_writer
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock


def read_present(layout: Layout) -> bytes | None:
    """The instructions as they are now; None when there are none."""
    if untrusted_files.exists(layout.metadata):  # `setup` makes it where there is none
        metadata.read(layout.metadata)  # a damaged workspace must be fixed first
    try:
        found = untrusted_files.look(layout.instructions, untrusted_files.LARGE)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "Move it away, or check its permissions."
        raise unreadable(WorkspaceProblem, layout.instructions, error, hint) from None
    if not found.whole:
        raise WorkspaceProblem(f"{layout.instructions} is larger than 64 MB.", "Move it away.")
    return found.data


def how_to_commit(project: Project, layout: Layout) -> str:
    """The command that adds the workspace to git. Empty when git has its instructions or ignores them, and where there
    is no repository."""
    try:
        git = Git(str(layout.folder), project.environ)
        if not git.line("ls-files", "-o", "--exclude-standard", "--", layout.instructions.name):
            return ""
    except GitProblem:
        return ""
    here = Path.cwd().is_relative_to(project.root)
    call = "git" if here else f"git -C {shlex.quote(str(project.root))}"
    folder = shlex.quote(os.path.relpath(layout.folder) if here else str(layout.folder))
    return f"{call} add {folder} && {call} commit -m {shlex.quote(f'Task {layout.name}')} -- {folder}"


def write(
    project: Project, layout: Layout | None, name: str, mode: str | None, text: bytes, settings: Mapping[str, Any]
) -> Layout:
    """Write them; a workspace that does not exist is made. The old ones are kept as INSTRUCTIONS.md.bak."""
    if layout is None:
        return project.create(name, mode, settings, instructions=text)
    with run_lock.hold(layout.lock, name, "setup"), explain_write_errors(name, layout.folder):
        before = read_present(layout)
        if before is not None and before != text:
            untrusted_files.write_bytes(layout.folder / "INSTRUCTIONS.md.bak", before)
        untrusted_files.write_bytes(layout.instructions, text)
        metadata_updates.note_new_task(layout)
        _change(layout, mode, settings)
    return layout


def change_workspace(layout: Layout, mode: str | None, settings: Mapping[str, Any]) -> None:
    """The mode decides which prompts Claude gets, so it changes before Claude is called."""
    with run_lock.hold(layout.lock, layout.name, "setup"):
        _change(layout, mode, settings)


def _change(layout: Layout, mode: str | None, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        settings_writer.set_value(layout.metadata, key, value)
    if mode is not None:
        metadata.write(layout.metadata, replace(metadata.read(layout.metadata), written_mode=mode))


def announce(project: Project, layout: Layout, warn: Callable[[str], None]) -> None:
    """Send the notification `setup_complete`, if the settings want it. It takes seconds at most and never fails."""
    try:
        settings = project.settings_for(layout).settings
    except ExpectedError as problem:
        warn(f"No notification is sent: {problem.message}")
        return
    if not settings.notify.url:
        return
    notifier = Notifier(settings, project.environ, warn)
    notifier.post(notices.setup_complete(layout.name, project.root.name, str(layout.instructions), time.time()))
    notifier.close()


_LONGEST_QUOTE = 300
_FIRST_MESSAGE = {
    "setup": 'Help me write the instructions of the task "{name}".',
    "edit": 'Help me improve the instructions of the task "{name}".',
}
"""What a conversation begins with, as if the user had typed it; how to go about it is in the system prompt."""
_BEFORE = "Claude will help you {what} INSTRUCTIONS.md. When the file is written, type /exit."


class Composed(msgspec.Struct, frozen=True):
    """What Claude left: the exit code of the call, the file before and after, and what Claude said if it was alone."""

    exit_code: int
    before: Found | None
    after: Found | None
    said: str = ""

    @property
    def texts(self) -> tuple[bytes, bytes]:
        """Of the file before and after; empty for none."""
        return self.before.data if self.before else b"", self.after.data if self.after else b""

    @property
    def problem(self) -> str:
        """Why this cannot count as instructions; empty when it can."""
        if self.after is None:
            return "wrote no instructions"
        if not _is_usable(self.after.data):
            return "left instructions that are empty or not UTF-8 text"
        return ""

    @property
    def quote(self) -> str:
        """What Claude said last, for the end of a message."""
        said = " ".join(self.said.split())
        shown = said if len(said) <= _LONGEST_QUOTE else f"{said[:_LONGEST_QUOTE]}..."
        return f" It said: {shown}" if shown else ""


def compose(project: Project, layout: Layout, request: RunRequest, goal: str | None, user: User) -> Composed:
    """Let Claude write: alone when there is a goal, else in a conversation. What a dry run wrote is kept only where
    there were no instructions."""
    said = ""
    with contextlib.nullcontext(_snapshot(layout.folder)) if request.dry_run else _backup(layout) as before:
        if goal is None:
            code, after = _converse(project, layout, request, user)
        else:
            done = launch(project, layout, replace(request, prompt_values={"goal": goal}), user)
            code, after = done.exit_code, _snapshot(done.agent_folder)
            said = done.state.one_off.text if done.state.one_off is not None else ""
    composed = Composed(code, before, after, said)
    if request.dry_run and before is None and after is not None and not composed.problem:
        untrusted_files.write_bytes(layout.instructions, after.data)
    if not request.dry_run:
        with run_lock.hold(layout.lock, layout.name, "setup"):
            metadata_updates.note_new_task(layout)
    return composed


def find_claude(project: Project, layout: Layout | None, must_answer: bool = False) -> None:
    """An AgentProblem when it is not installed, or cannot tell its version. Called before a workspace is made."""
    settings = project.settings_for(layout).settings if layout is not None else project.resolved.settings
    if settings.sandbox.is_container:  # it has a Claude of its own
        return
    discovery.find(settings.claude, project.environ, project.root)
    if must_answer:
        discovery.version(settings.claude, project.environ, project.root)


def _snapshot(folder: Path) -> Found | None:
    return untrusted_files.snapshot(folder / "INSTRUCTIONS.md")


def _converse(project: Project, layout: Layout, request: RunRequest, user: User) -> tuple[int, Found | None]:
    """Let the user talk with Claude until Claude exits; the exit code and what it wrote. Any conversation counts as a
    setup, unless it was a dry run."""
    settings = request.settings_for(project, layout)
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(project, layout, settings, request.dry_run))
        if sandbox is None or not sandbox.is_container:
            discovery.find(settings.claude, project.environ, project.root)  # before anything is locked or written
        held = stack.enter_context(run_lock.hold(layout.lock, layout.name, "starting"))
        run = new_run_id(layout)
        held.record(run)
        used = layout
        if request.dry_run:  # the fake works on a copy; a conversation has no journal, so nothing of it is kept
            used = creation.layout_of_dry_run(layout, run)
            stack.callback(untrusted_files.remove_folder, layout.runs / run, ignore_errors=True)
            with explain_write_errors(layout.name, layout.folder):
                creation.copy_for_dry_run(used)
        texts = TextSource(project, used, settings, request.mode_for(used)).one_off(request.purpose, {})
        environment = run_environment(project.environ, settings.claude, run, used.agent_folder)
        system, first = f"{texts.system}\n{texts.user}", _FIRST_MESSAGE[request.purpose].format(name=layout.name)
        with system_prompt_words(system, f"{used.working}/{run}-system.md") as words:
            argv = conversation_arguments(settings.claude, words, first, used.beside)
            closed = replace(sandbox, run=run) if sandbox is not None else None
            command = discovery.prepare(
                argv, environment, layout.root, closed, given=settings.claude.env, terminal=True
            )
            user.note(_BEFORE.format(what="write" if request.purpose == "setup" else "improve"))
            ended = conversation.converse(command, layout.root, run, settings.timeouts.terminate_grace, sandbox)
        written = _snapshot(used.agent_folder)
        if not request.dry_run:
            metadata_updates.count_setup(layout)
    if ended.signal:
        return exit_code("terminated", detailed=False), written
    if ended.code:
        how = f"with exit code {ended.code}" if ended.code > 0 else f"by signal {-ended.code}"
        user.warn(f"Claude ended {how}.")
    return 0, written


def _is_usable(data: bytes) -> bool:
    """True for text that Claude could work from."""
    try:
        return bool(data.decode("utf-8-sig").strip())
    except UnicodeDecodeError:
        return False


@contextlib.contextmanager
def _backup(layout: Layout) -> Iterator[Found | None]:
    """Keep the instructions as INSTRUCTIONS.md.bak from the start, because the call may end in any way.

    When nothing changed, the older backup is restored. A call that leaves no usable text changes nothing.
    """
    before = untrusted_files.snapshot(layout.instructions)
    backup = layout.folder / "INSTRUCTIONS.md.bak"
    if before is None:
        yield None
        return
    older = untrusted_files.snapshot(backup)
    untrusted_files.write_bytes(backup, before.data)
    try:
        yield before
    finally:
        found = untrusted_files.snapshot(layout.instructions)
        is_usable = found is not None and (found.data == before.data or _is_usable(found.data))
        if not is_usable:
            untrusted_files.write_bytes(layout.instructions, before.data)
        if found is None or not is_usable or found.data == before.data:
            if older is None:
                untrusted_files.unlink(backup, missing_ok=True)
            else:
                untrusted_files.write_bytes(backup, older.data)
