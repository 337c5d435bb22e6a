"""Calls that wait, away from the loop that answers: each in a thread that does not keep the program from ending."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_daemon_thread(function: Callable[[], Result]) -> Result:
    """What the function returns or raises. When the caller is cancelled, the thread is left to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, problem: Exception | None) -> None:
        if future.done():
            return
        if problem is not None:
            future.set_exception(problem)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def call() -> None:
        result, problem = None, None
        try:
            result = function()
        except Exception as raised:  # noqa: BLE001 - the caller gets it
            problem = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=call, daemon=True).start()
    return await future
