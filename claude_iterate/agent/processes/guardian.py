"""The guardian: a process that notices the death of the runner, even by SIGKILL, and ends what the run left.

It is a shell that reads from a pipe whose write end only the runner has. The line `done` means that the run is over;
the end of the pipe without it means that the runner is dead, and only then Python starts. A shell, because it starts in
a millisecond, stays small, and survives a `killall python`.

Who types `pkill -9 -f claude` means Claude and us, and may type it twice. So our name is in no word of the guardian,
nor of the Python that it becomes: that one is called by its bare name, and its program is in the environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from claude_iterate.agent.command.command_line import BESIDE, RUN_VARIABLE
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.agent.processes.leftovers import end_containers, end_processes
from claude_iterate.errors import AgentProblem
from claude_iterate.system import processes

_STEPS = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.5), (signal.SIGKILL, 5.0))
# Every line is a process to remember, except for the last.
_WATCH = """trap "" INT TERM HUP
while read -r word; do
    [ "$word" = done ] && exit
    known="$known $word"
done
PATH="$PYTHON_FOLDER:$PATH"
exec "$PYTHON" -I -S -c 'import os; exec(os.environ["CLEAN_UP"])' $known
"""


class Guardian:
    """The runner's side: starts the guardian and dismisses it when the run is over."""

    def __init__(self, run: str, environ: Mapping[str, str], sandbox: Sandbox | None = None) -> None:
        # A bare Python finds neither us nor the packages that we need.
        found = f"import sys; sys.path[:] = {[str(Path(__file__).parents[3]), *sys.path]!r}"
        about = (sandbox.containers, sandbox.folder) if sandbox is not None else ("", "")
        code = f"{found}; from {__name__} import end_run; end_run({run!r}, sys.argv[1:], *{about!r})"
        folder_of_python, python = os.path.split(sys.executable)
        read_end, self._write_end = os.pipe()
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={
                    **environ,
                    RUN_VARIABLE: "",
                    "CLEAN_UP": code,
                    "PYTHON": python,
                    "PYTHON_FOLDER": folder_of_python,
                },
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._write_end)
            what = f"The guardian of this run cannot be started: {error.strerror or error}."
            raise AgentProblem(what, "It is a /bin/sh; too many processes may be running. Then try again.") from error
        finally:
            os.close(read_end)
        self.pid = self._process.pid
        self._sent: set[int] = set()

    def remember(self, orphans: Iterable[int]) -> None:
        """Name processes that became our children: without the run's id they could not be found after our death."""
        living = set(orphans)
        sent, self._sent = self._sent, living  # a pid that is free may be used for another process later
        for pid in living - sent:
            with contextlib.suppress(OSError):
                os.write(self._write_end, f"{pid}:{processes.start_identity(pid)}\n".encode())

    def dismiss(self) -> None:
        """End the guardian: the run is over."""
        with contextlib.suppress(OSError):
            os.write(self._write_end, b"done\n")
        os.close(self._write_end)
        self._process.wait()


def end_run(run: str, known: Sequence[str] = (), containers: str = "", folder: str = "") -> None:
    """End every process of the run: SIGINT first, so that Claude can end its own tools, then SIGTERM and SIGKILL. Its
    containers, which the program `containers` knows, come last: the programs that started them pass the first signals
    on. `folder` is a temporary one that the run had."""
    remembered = {tuple(word.split(":", 1)) for word in known if ":" in word}

    def remember(pid: int) -> None:
        """A process that was found by its parent could not be found again after the parent's death."""
        remembered.add((str(pid), processes.start_identity(pid)))

    end_processes(lambda: _living(run, remembered), _STEPS, remember)
    end_containers(containers, run)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _living(run: str, remembered: Iterable[tuple[str, ...]]) -> set[int]:
    """Living processes of the run: with its id, remembered (unless the pid is another process now), or below these."""
    found = {pid for mark in (run, run + BESIDE) for pid in processes.with_environment(RUN_VARIABLE, mark)}
    for pid, identity in remembered:
        if pid.isdigit() and processes.is_alive(int(pid)) and processes.start_identity(int(pid)) == identity:
            found.add(int(pid))
    return found | processes.descendants(found)
