"""Events about waits, and about what the user asked for meanwhile."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.vocabulary import Verb, Why


class StopRequested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The user or the system wants the run to end: after this iteration, or now."""

    by: str
    now: bool = False


class WaitStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run waits: `until` is wall time in epoch seconds."""

    why: Why
    until: float
    detail: str = ""
    window: str = ""
    attempt: int = 1


class WaitEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The wait is over: its time came, or the user said `retry` or `skip`."""

    why: Why
    by: str = "time"


class Requested(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The user steers: `by` is command, key or answer. `detach`: from now on the run goes on without its terminal."""

    verb: Verb
    by: str = "command"
    now: bool = False
