"""A copy of the program in a process of its own: it has nothing of the program but code and data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.package_path import PACKAGES

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it is never safe to fork")

# In an interpreter of its own: the one of the tests may have threads.
PREPARED = """
import contextlib, json, os, signal, sys, threading
from claude_iterate.system import forked_process, signals

def piped():
    return (*os.pipe(), *os.pipe())
"""


def told(code: str, *before: str) -> Any:
    """What the last line of a program says, as JSON, after these lines."""
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(PACKAGES)!r}){PREPARED}{code}"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    *lines, last = done.stdout.splitlines()
    assert (done.stderr, lines) == ("", [*before])
    return json.loads(last)


def test_a_copy_has_a_session_handlers_streams_and_an_environment_of_its_own() -> None:
    """Stop signals do what they do at a start, but an ignored one stays ignored; no other file is open; what the
    program held back for its output is printed once; and what it does in the end, the copy does not."""
    found = told(
        """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signals.on_stop_signals(print)
theirs, ours, hears, says = piped()
kept = open(os.devnull)

def work():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    expected = [signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN]
    about = {
        "session": os.getsid(0) == os.getpid(),
        "handlers": handlers == expected and not signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "files": [int(name) for name in os.listdir("/proc/self/fd")][:-1],
        "environment": dict(os.environ),
        "given": os.read(0, 100).decode(),
    }
    sys.stdout.write(json.dumps(about))
    sys.stdout.flush()
    return 7

sys.stdout.write("once\\n")
with contextlib.ExitStack() as afterwards:
    afterwards.callback(lambda: print("afterwards", flush=True))
    process = forked_process.fork(work, (theirs, says), {"A": "b"})
    os.write(ours, b"order")
    code = process.wait()
about = json.loads(os.read(hears, 65536))
print(json.dumps(about | {"code": code, "again": process.poll(), "mask": len(signal.pthread_sigmask(0, ()))}))
""",
        "once",
        "afterwards",
    )
    assert found == {
        "session": True,
        "handlers": True,
        "files": [0, 1, 2],
        "environment": {"A": "b"},
        "given": "order",
        "code": 7,
        "again": 7,
        "mask": 0,
    }


def test_a_copy_sees_the_end_of_the_program_while_later_copies_live() -> None:
    """No copy has the pipes of another one, or its own end of the program's: else a killed program would leave them."""
    found = told("""
def until_it_ends():
    return len(os.read(0, 1))

copies = []
for _ in range(3):
    theirs, ours, hears, says = piped()
    copies.append((forked_process.fork(until_it_ends, (theirs, says), os.environ), ours))
    os.close(theirs)
codes = []
for process, ours in copies:  # the first one first: all later copies are alive
    os.close(ours)
    codes.append(process.wait())
print(json.dumps(codes))
""")
    assert found == [0, 0, 0]


def test_a_signal_that_kills_a_copy_is_its_exit_code() -> None:
    """As `subprocess` has it. An interrupt that no code of its own handles ends it as it ends any command."""
    found = told("""
def killed(number):
    theirs, ours, hears, says = piped()
    return forked_process.fork(lambda: signal.raise_signal(number) or 0, (theirs, says), os.environ).wait()

print(json.dumps([killed(signal.SIGTERM), killed(signal.SIGKILL), killed(signal.SIGINT)]))
""")
    assert found == [-15, -9, 130]


def test_a_program_with_threads_is_not_copied() -> None:
    """What another thread has locked would stay locked in the copy."""
    found = told("""
alone, done = forked_process.is_safe(), threading.Event()
other = threading.Thread(target=done.wait)
other.start()
beside = forked_process.is_safe()
done.set()
other.join()
print(json.dumps([alone, beside]))
""")
    assert found == [True, False]


def test_a_copy_of_a_program_without_standard_streams() -> None:
    """Its pipes have the numbers of the streams then, and the copy has both all the same."""
    found = told(
        """
screen = os.dup(1)
os.close(0)
os.close(1)
theirs, ours, hears, says = piped()
assert (theirs, ours) == (0, 1)
os.write(ours, b"order")
os.close(ours)
os.dup2(says, 1)  # the copy is to write to what was number 1 before
copy = forked_process.fork(lambda: os.write(1, os.read(0, 100).upper()) and 7, (theirs, 1), os.environ)
os.close(1)
os.close(says)
heard = os.read(hears, 100).decode()
os.write(screen, json.dumps([heard, copy.wait()]).encode())
"""
    )
    assert found == ["ORDER", 7]
