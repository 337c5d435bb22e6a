"""Events about what comes from outside: waits, requests of the user, hooks, and runs beside this one."""

from __future__ import annotations

from claude_iterate.core.events.enums import Meaning, Point, Verb, Why
from claude_iterate.core.events.stream import BaseEvent


class StopRequested(BaseEvent, frozen=True):
    """The user or the system asks the run to end: after this iteration, or now."""

    by: str
    now: bool = False


class WaitStarted(BaseEvent, frozen=True):
    """The run waits: `until` is wall time in epoch seconds."""

    why: Why
    until: float
    detail: str = ""
    window: str = ""


class WaitEnded(BaseEvent, frozen=True):
    """The wait is over: its time came, or the user said `retry` or `skip`."""

    why: Why
    by: str = "time"


class Requested(BaseEvent, frozen=True):
    """The user steers: `by` is command, key or answer. `detach`: from now on the run continues without its terminal."""

    verb: Verb
    by: str = "command"
    now: bool = False


class HookStarted(BaseEvent, frozen=True):
    """A hook is about to start. `scope` is project or workspace, `number` the iteration that it belongs to. `again`: it
    was started before, and the run was killed before it ended."""

    point: Point
    path: str
    scope: str
    number: int = 0
    again: bool = False


class HookFinished(BaseEvent, frozen=True):
    """A hook has ended: its exit code (None: not started, too slow or stopped), the end of its output, and what that
    means for the run. `left` counts the hooks of this point that have yet to run; `problem` says why it was not
    started."""

    point: Point
    path: str
    scope: str
    code: int | None
    means: Meaning
    number: int = 0
    duration: float = 0.0
    output: str = ""
    cut: str = ""
    problem: str = ""
    left: int = 0


class HeldBack(BaseEvent, frozen=True):
    """Another run, of the workspace `by`, met a usage limit: this one makes no call before `until` (epoch seconds)."""

    by: str
    until: float
    detail: str = ""
