"""Events of calls that are not iterations: the proof of a claim, and one-off calls such as writing instructions."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.iteration_events import Outcome
from claude_iterate.core.events.stream_events import Tokens
from claude_iterate.core.events.vocabulary import Purpose


class VerificationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The agent claims completion for the `claim`-th time; we look for ourselves."""

    claim: int
    checks: int = 0
    review: str = ""


class CheckFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A check ran: its command, exit code (None: not started, too slow or stopped), and the end of its output."""

    command: str
    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: str = ""


class ReviewStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Claude, with fresh context, looks whether the work is really done."""

    depth: str
    prompt_bytes: int = 0


class ReviewFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The review's verdict: verified, incomplete, invalid when its report cannot be trusted, or unheld when it could
    not be held at all, for the reason in `outcome`."""

    verdict: str
    summary: str = ""
    findings: tuple[str, ...] = ()
    report: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    outcome: Outcome | None = None
    tokens: Tokens = Tokens()


class VerificationFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What the proof came to. `findings` goes into the next prompt; `tree` is git's name for what was proven."""

    claim: int
    passed: bool
    findings: str = ""
    tree: str = ""


class ErrandStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A one-off call began: `purpose` is setup, edit or validate."""

    purpose: Purpose
    prompt_bytes: int = 0


class ErrandFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A one-off call is over. `text` is Claude's answer."""

    purpose: Purpose
    outcome: Outcome
    text: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    cut: int = 0
    tokens: Tokens = Tokens()
