"""Events about a claim of completion: what defines its proof, the user's checks, and the result."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.stream import BaseEvent


class VerificationStarted(BaseEvent, frozen=True):
    """The agent claims completion for the `claim`-th time; its proof begins. `green` counts the checks that passed
    before a wait and need not run again, because nothing has changed since. `changed` are files that the checks
    changed, which is why they run once more. `verify` has no claim, so `task` identifies the instructions as it finds
    them."""

    claim: int
    checks: int = 0
    review: str = ""
    green: int = 0
    changed: tuple[str, ...] = ()
    task: str = ""


class CheckFinished(BaseEvent, frozen=True):
    """A check ran: its command, exit code (None: not started, too slow or stopped), and the end of its output.
    `project` identifies the state of the project when the checks began; `gone` are files of the check that existed when
    the run began."""

    command: str
    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: str = ""
    project: str = ""
    gone: tuple[str, ...] = ()


class ChecksPassed(BaseEvent, frozen=True):
    """All checks of a claim passed, and the review is yet to come. They stand as long as the project does not change:
    `project` identifies its state. Everything but the output of each check is kept; `digest` is that of their commands.
    `review_waits`: Claude cannot be called now."""

    digest: str
    checks: tuple[CheckFinished, ...] = ()
    project: str = ""
    review_waits: bool = False


class ClaimDropped(BaseEvent, frozen=True):
    """A claim of completion does not count: the instructions have changed since; or, if `cut`, its iteration was cut
    off and no proof is wanted; or the plan does not confirm it, and `findings` is what the next prompt says about
    that."""

    why: str
    cut: bool = False
    findings: str = ""


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last result of a check, and the state of the project then."""

    green: bool
    project: str


class ProofChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of what defines the proof is not what it was when the run began. `kind` is instructions, plan,
    settings, check, script, config, program, test, prompt or memory; `how` says what happened to it; `was` and `now`
    are fingerprints, empty for what is not there. `earlier`: it changed in an earlier run of the same task."""

    kind: str
    path: str
    how: str
    was: str = ""
    now: str = ""
    earlier: bool = False


class ProofDefined(BaseEvent, frozen=True):
    """What defines the proof, as it was before the first call: fingerprints of files, by kind and path; `digest` is
    that of the checks' commands. `changes` are those of earlier runs that still stand; `refuses`: no claim holds until
    they are undone or accepted."""

    digest: str = ""
    files: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    changes: tuple[ProofChange, ...] = ()
    refuses: bool = False


class ProofTestsCounted(BaseEvent, frozen=True):
    """The test files as they were before the first call: tests, assertions and marks to skip of each. `left_out`: test
    files, or a part of the project, that were too many or too large to read."""

    files: dict[str, str]
    left_out: int = 0


class ReviewStarted(BaseEvent, frozen=True):
    """A review began: Claude checks with fresh context whether the work is really done."""

    depth: str


class VerificationFinished(BaseEvent, frozen=True):
    """The result of the proof. `findings` goes into the next prompt; `tree` is git's name for what was proven;
    `known_by` says what the proof rests on: checks, review or checks_and_review. `flaky` are checks with a different
    result than before, although nothing changed; `changes` are those to what defines the proof since the run began.
    `detail` is the first thing that the review misses, or the last line that the first failed check printed; `advice`
    is for a user whose check itself may be wrong."""

    claim: int
    passed: bool
    findings: str = ""
    tree: str = ""
    known_by: str = ""
    flaky: tuple[str, ...] = ()
    changes: tuple[ProofChange, ...] = ()
    detail: str = ""
    advice: str = ""
