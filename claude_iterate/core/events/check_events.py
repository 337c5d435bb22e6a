"""Events about a claim of completion: the user's checks, and a claim that is not about this task."""

from __future__ import annotations

import msgspec


class VerificationStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The agent claims completion for the `claim`-th time; we look for ourselves. `green` counts the checks that were
    green before a wait and need not run again: nothing changed since. `changed` are the files that the checks changed:
    then they run once more. `verify` has no claim, so `task` is the identity of the instructions as it finds them."""

    claim: int
    checks: int = 0
    review: str = ""
    green: int = 0
    changed: tuple[str, ...] = ()
    task: str = ""


class CheckFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A check ran: its command, exit code (None: not started, too slow or stopped), and the end of its output.
    `project` names the state of the project when the checks began."""

    command: str
    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: str = ""
    project: str = ""


class ChecksPassed(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """All checks of a claim are green, and the review is still to come. They stand as long as the project is the same:
    `project` names its state. Of each check all but its output is kept; `digest` is that of their commands.
    `review_waits`: Claude cannot be called now."""

    claim: int
    digest: str
    checks: tuple[CheckFinished, ...] = ()
    project: str = ""
    review_waits: bool = False


class ClaimDropped(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A claim of completion does not count: the instructions have another text than those that it is about."""

    why: str


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a check ended when it last ran, and what the project was then."""

    green: bool
    project: str
