"""A conversation with Claude on the user's terminal, which is Claude's until it exits.

Claude shares our process group, so Ctrl-C and Ctrl-\\ reach it, and we ignore them; SIGTERM and SIGHUP end it.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
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
    command: Command,
    folder: Path,
    run: str,
    terminate_grace: float,
    sandbox: Sandbox | None = None,
) -> ConversationEnd:
    """Run Claude from its start to its end. No process of it is left, even if we are killed meanwhile."""
    inbox: SimpleQueue[str | int | None] = SimpleQueue()
    restore = signals.on_stop_signals(
        lambda name: inbox.put(name) if name in {"SIGTERM", "SIGHUP"} else None, signal.SIGQUIT
    )
    try:
        with _guard(run, command.environment, sandbox), terminals.restore_settings_afterwards(0):
            claude = _Claude(command, folder)
            threading.Thread(target=claude.watch, args=(inbox,), daemon=True, name="claude-session").start()
            return _attend(claude, inbox, terminate_grace)
    finally:
        restore()


@contextlib.contextmanager
def _guard(run: str, environment: Mapping[str, str], sandbox: Sandbox | None) -> Iterator[None]:
    """Whatever happens inside, no process that carries the run's id is left."""
    guardian = Guardian(run, environment, sandbox)
    try:
        yield
    finally:
        leftovers.end_marked(run, sandbox.containers if sandbox is not None else "")
        guardian.dismiss()


class _Claude:
    """The process. It does not lead a group, so signals go to it alone; `_guard` ends what it leaves."""

    def __init__(self, command: Command, folder: Path) -> None:
        try:
            self._process = subprocess.Popen(command.argv, cwd=folder, env=command.environment)
        except (OSError, ValueError) as error:
            raise start_problem("Claude", command.argv[0], error) from error
        self.pid = self._process.pid

    def watch(self, inbox: SimpleQueue[str | int | None]) -> None:
        """Post None whenever it is suspended, and finally its exit code."""
        code = None
        while code is None:
            code = processes.wait_for_change(self.pid)
            if code is not None:
                self._process.returncode = code  # else Popen would look for a process that is gone
            inbox.put(code)

    def signal(self, number: int, group: bool = False) -> None:  # noqa: ARG002 - the group is our own
        if self._process.returncode is None:
            signals.send(self.pid, number)


def _attend(claude: _Claude, inbox: SimpleQueue[str | int | None], terminate_grace: float) -> ConversationEnd:
    """Wait for the end; end Claude ourselves when a signal asks for that."""
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
            cause, ladder = message, Ladder(claude, time.monotonic(), terminate_grace)
