"""Events of one iteration and of its process, and how a call of Claude ended."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.stream_events import Denial, Tokens
from claude_iterate.core.events.vocabulary import Cause, Kind
from claude_iterate.core.reports.status import Change, Status


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one call of the agent ended. `kind` is a row of `core.outcomes.classes`; `resets_at` the moment (epoch
    seconds) at which a usage limit ends, if it is known."""

    kind: Kind
    message: str = ""
    advice: str = ""
    resets_at: float | None = None
    window: str = ""


class IterationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A prompt was rendered and is about to be sent. The texts are for the log; the journal leaves them out.
    `resumes` is the session that goes on; empty: a fresh one begins. `notes` counts the notes in the prompt."""

    number: int
    instructions: str = ""
    status_instructions: str = ""
    system_prompt: str = ""
    prompt_bytes: int = 0
    resumes: str = ""
    notes: int = 0


class AgentStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude is running."""

    pid: int


class CutStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """We began to end Claude. `doing` is what it was busy with."""

    cause: Cause
    doing: str = ""
    after: float = 0.0


class AgentExited(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude is gone: its exit code, negative for the signal that killed it."""

    code: int


class LeftoversEnded(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Processes that a tool left behind were ended."""

    processes: tuple[str, ...]


class StatusChanged(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The agent's report has news."""

    status: Status
    change: Change


class IterationFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """One iteration is over. `status` is the report if the agent wrote one in this iteration."""

    number: int
    outcome: Outcome
    status: Status | None = None
    problems: tuple[str, ...] = ()
    denials: tuple[Denial, ...] = ()
    duration: float = 0.0
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    turns: int = 0
    tools: int = 0
    session: str = ""
    context: float | None = None
