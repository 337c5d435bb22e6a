"""Calls one hook outside of any run, as a run would call it, and says what its exit code would mean."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO

from msgspec.structs import replace

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import run_environment
from claude_iterate.agent.processes.leftovers import end_marked
from claude_iterate.agent.protocol.framing import LineFramer
from claude_iterate.core.events import HookFinished, RunStarted
from claude_iterate.core.events.enums import Cause, Point
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.rules import hooks
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.shell_command import Tail
from claude_iterate.operations.isolation import make_sandbox
from claude_iterate.workspace import journal_reader, metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder.hook_files import HookFile

_TAIL = 65536
_GRACE = 2.0


def try_hook(project: Project, layout: Layout, settings: Settings, file: HookFile) -> HookFinished:
    """Call the hook with what is known of the last run, in the sandbox that the settings ask for. Nothing of what it
    starts is left when it has ended."""
    mark = f"hook-test-{os.urandom(6).hex()}"
    here = _last_situation(layout, file.point)
    given = hooks.variables(here)
    environment = run_environment(project.environ, settings.claude, mark, layout.folder) | given
    sandbox = make_sandbox(project, layout, settings)
    sandbox = replace(sandbox, run=mark) if sandbox is not None else None
    command = discovery.prepare([str(file.path)], environment, layout.root, sandbox, for_claude=False, given=given)
    began = time.monotonic()
    tail = Tail(_TAIL, redactor_for(project.environ, settings))
    code: int | None = None
    with tempfile.TemporaryFile() as stdin:
        stdin.write(hooks.document(here))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                command.argv,
                cwd=layout.root,
                env=command.environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            means = hooks.meaning(file.point, None, "", settings.hooks)
            return HookFinished(file.point, file.shown, file.scope, None, means, problem=error.strerror or str(error))
    assert process.stdout is not None
    drain = threading.Thread(target=_drain, args=(process.stdout, tail), daemon=True)
    drain.start()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(settings.hooks.timeout)
    finally:
        end_marked(mark, sandbox.containers if sandbox is not None else "")
        if process.poll() is None:  # it hides its environment
            os.killpg(process.pid, signal.SIGKILL)
        drain.join(_GRACE)
    cut = "" if code is not None else Cause.TIMEOUT
    means, output = hooks.meaning(file.point, code, cut, settings.hooks), tail.text()
    took = time.monotonic() - began
    return HookFinished(file.point, file.shown, file.scope, code, means, duration=took, output=output, cut=cut)


def _drain(stdout: IO[bytes], tail: Tail) -> None:
    framer = LineFramer()
    with stdout:
        while part := stdout.read1(65536):  # type: ignore[attr-defined]
            tail.take("stdout", framer.feed(part))
    tail.take("stdout", framer.finish())


def _last_situation(layout: Layout, point: Point) -> hooks.Situation:
    """As in the last run, with its last iteration; before the first run, as in one that begins."""
    found = journal_reader.last_run(layout, ("run",))
    mode = metadata.read(layout.metadata).mode
    started = RunStarted("", layout.name, mode, 0, os.getpid(), "", "", ())
    state = found[1] if found is not None else RunState(started=started)
    number = {Point.STARTED: 0, Point.NEXT_ITERATION: state.iterations + 1}.get(point, state.iterations)
    ending = state.finished
    reason, cause = (ending.reason, ending.cause) if ending is not None and point == Point.FINISHED else ("", "")
    places = str(layout.root), str(layout.folder)
    return hooks.Situation(state, point, number, *places, 0.0, reason, cause, test=True)
