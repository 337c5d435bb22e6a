"""A terminal with a person before it: a pseudo-terminal that controls the program, and what is seen on it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import Loop, until

# What a shell does: it gives its job the terminal, and tells when the job was suspended; one byte on standard input of
# ours wakes it again. The program is a process group of its own, so that Ctrl-C and Ctrl-Z reach it alone. It is
# suspended for longer than it waits for anything: no wait may go on after its end.
_SHELL = """
import fcntl, os, signal, subprocess, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
job = subprocess.Popen(sys.argv[1:], process_group=0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.tcsetpgrp(0, job.pid)
while True:
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    os.tcsetpgrp(0, os.getpgrp())
    print("SUSPENDED echo", bool(termios.tcgetattr(0)[3] & termios.ECHO), flush=True)
    time.sleep(0.4)
    os.tcsetpgrp(0, job.pid)
    os.killpg(job.pid, signal.SIGCONT)
"""


class Terminal:
    """Runs one command on a terminal of its own."""

    def __init__(self, loop: Loop, *arguments: str) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SHELL, *loop.program, *arguments],
            cwd=loop.root,
            env=loop.env,
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
        )
        loop.started.append(self.process)
        self.seen = ""
        self._told, self._tells = os.pipe()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._open = True
        self._watching.start()

    def _watch(self) -> None:
        """Until `close`, and no longer: the numbers of its handles may be those of others then."""
        while self._told not in select.select([self._ours, self._told], [], [])[0]:
            self.seen += os.read(self._ours, 65536).decode("utf-8", "replace")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def await_text(self, text: str, times: int = 1) -> None:
        """Until it was shown this often."""
        until(lambda: self.seen.count(text) >= times)

    def stop_output(self) -> None:
        """Ctrl-S, until it has an effect."""
        self.type("\x13")
        until(lambda: not select.select([], [self.theirs], [], 0)[1])

    def continue_output(self) -> None:
        """Ctrl-Q."""
        self.type("\x11")

    @property
    def echoes(self) -> bool:
        """True when keys are shown, as a shell has it."""
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO)

    @property
    def job(self) -> int:
        """The process of the command; `process` is the shell before it."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    def finish(self) -> int:
        """Its exit code, once all that it printed is seen; the terminal must be as it was."""
        until(lambda: self.process.poll() is not None, what="the end of the command")
        assert termios.tcgetattr(self.theirs) == self.before
        self._stop_watching()
        while select.select([self._ours], [], [], 0)[0]:
            self.seen += os.read(self._ours, 65536).decode("utf-8", "replace")
        return int(self.process.returncode)

    def _stop_watching(self) -> None:
        if self._watching.is_alive():
            os.write(self._tells, b"!")
            self._watching.join()

    def close(self) -> None:
        """Take the terminal away, once."""
        if self._open:
            self._open = False
            self._stop_watching()
            for handle in (self.theirs, self._ours, self._told, self._tells):
                os.close(handle)


Open = Callable[..., Terminal]
"""The fixture `terminal`: opens one more, with these arguments of our program on it."""
