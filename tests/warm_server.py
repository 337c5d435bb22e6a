"""An interpreter that has loaded our program, and forks for each command: the program of `tests/warm_start.py`.

A command that is forked is a process like any other: it has a number, signals, a folder, an environment, standard
streams and an exit code of its own, and ends as the interpreter ends. It only does not load the package again, which is
half of what a short command costs. What it does not have is a command line and an environment that /proc knows.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

_NOT_LOADED = ("__main__", "fake_claude", "operations.dashboard", "views.screen")
"""Programs of their own, and what only a large package can do: each command that needs it loads it."""
_FOREIGN = ("jinja2", "httpx", "ndjson", "regex", "tomlkit", "watchdog.observers")
_LARGEST = 1 << 18


def _load() -> None:
    import claude_iterate

    for name in _FOREIGN:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(claude_iterate.__path__, "claude_iterate."):
        if not module.name.removeprefix("claude_iterate.").startswith(_NOT_LOADED):
            with contextlib.suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # so that a child does not copy what it only looks at


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork for each request, and tell each end. Returns in the child, with what it has to do."""
    watched = select.poll()
    watched.register(control, select.POLLIN)
    running: dict[int, tuple[int, int]] = {}
    while True:
        for handle, _ in watched.poll():
            if handle != control.fileno():
                watched.unregister(handle)
                pid, told = running.pop(handle)
                _, status = os.waitpid(pid, 0)
                with contextlib.suppress(OSError):  # the test is over
                    os.write(told, status.to_bytes(4, "little"))
                os.close(told)
                os.close(handle)
                continue
            data, handles, _, _ = socket.recv_fds(control, _LARGEST, 4)
            if not data:
                os._exit(0)
            request: dict[str, Any] = json.loads(data)
            *streams, told = handles
            pid = os.fork()
            if pid == 0:
                control.close()
                for pair in running.items():
                    os.close(pair[0])
                    os.close(pair[1][1])
                os.close(told)
                return request | {"streams": streams}
            for stream in streams:
                os.close(stream)
            ended = os.pidfd_open(pid)
            running[ended] = (pid, told)
            watched.register(ended, select.POLLIN)
            control.send(pid.to_bytes(4, "little"))


def _become(request: dict[str, Any]) -> None:
    """What happens between `fork` and the first line of a program, and in the first lines of an interpreter."""
    if request["session"]:
        os.setsid()
    for number, stream in enumerate(request["streams"]):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), "utf-8", "surrogateescape")
    out = open(1, "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(out, "utf-8", "surrogateescape", line_buffering=os.isatty(1))
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def main() -> None:
    _load()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    _become(request)
    for module, name, value in request["constants"]:
        kept = tuple(value) if isinstance(value, list) else value  # JSON has no tuples
        setattr(importlib.import_module(f"claude_iterate.{module}"), name, kept)
    sys.argv = ["claude_iterate", *request["arguments"]]
    code: object = 0
    try:
        runpy.run_module("claude_iterate", run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        code = leaving.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Taking a loaded interpreter apart would copy all of it first.
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
