"""A conversation with Claude on the user's terminal, which is Claude's until it exits.

Claude shares our process group, so Ctrl-C and Ctrl-\\ reach it, and we ignore them; SIGTERM and SIGHUP end it.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from claude_iterate.agent.command.sandbox import Command, Sandbox
from claude_iterate.agent.processes import leftovers
from claude_iterate.agent.processes.child import Ladder, start_problem
from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.system import processes, signals, terminals


class ConversationEnd(msgspec.Struct, frozen=True):
    """How a conversation ended: Claude's exit code, and the signal that made us end it, if one did."""

    code: int
    signal: str = ""


def converse(
    command: Command, folder: Path, run: str, terminate_grace: float, sandbox: Sandbox | None = None
) -> ConversationEnd:
    """Run Claude from its start to its end. No process of it is left, even if we are killed meanwhile."""
    inbox: SimpleQueue[str | int | None] = SimpleQueue()
    with contextlib.ExitStack() as afterwards:
        ends = {"SIGTERM", "SIGHUP"}
        restore = signals.on_stop_signals(lambda name: inbox.put(name) if name in ends else None, signal.SIGQUIT)
        afterwards.callback(restore)
        afterwards.callback(Guardian(run, command.environment, sandbox).dismiss)
        afterwards.callback(leftovers.end_marked, run, sandbox.containers if sandbox is not None else "")
        afterwards.enter_context(terminals.restore_settings_afterwards(0))
        try:
            claude = subprocess.Popen(command.argv, cwd=folder, env=command.environment)
        except (OSError, ValueError) as error:
            raise start_problem("Claude", command.argv[0], error) from error
        threading.Thread(target=_watch, args=(claude, inbox), daemon=True, name="claude-session").start()
        return _attend(claude, inbox, terminate_grace)


def _watch(claude: subprocess.Popen[bytes], inbox: SimpleQueue[str | int | None]) -> None:
    """Post None whenever Claude is suspended, and finally its exit code."""
    code = None
    while code is None:
        code = processes.wait_for_change(claude.pid)
        if code is not None:
            claude.returncode = code  # else Popen would look for a process that is gone
        inbox.put(code)


def _attend(
    claude: subprocess.Popen[bytes], inbox: SimpleQueue[str | int | None], terminate_grace: float
) -> ConversationEnd:
    """Wait for the end; end Claude ourselves when a signal asks for that."""

    def send(number: int, _group: bool) -> None:
        # It leads no group, so signals go to it alone; what it leaves is ended afterwards.
        if claude.returncode is None:
            signals.send(claude.pid, number)

    ladder: Ladder | None = None
    cause = ""
    while True:
        if ladder is not None:
            ladder.climb(time.monotonic())
        try:
            message = inbox.get(timeout=None if ladder is None else max(0.0, ladder.due - time.monotonic()))
        except Empty:
            continue
        if isinstance(message, int):
            return ConversationEnd(message, cause)
        if message is None:
            processes.suspend_with(claude.pid)
        elif ladder is None:
            cause, ladder = message, Ladder(send, time.monotonic(), terminate_grace)
