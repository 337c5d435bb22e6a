"""Events about one call of Claude: an iteration, a review, a one-off call; how it ended, and what it changed in the
project and its plan, measured by us."""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.events.enums import Cause, Kind, Purpose, Reboot
from claude_iterate.core.events.stream import BaseEvent, Denial, Tokens
from claude_iterate.core.reports.review import JudgedRequirement
from claude_iterate.core.reports.status import Change, Status


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one call of the agent ended. `kind` is one of the outcomes; `resets_at` the moment (epoch seconds) at which a
    usage limit ends, if it is known. `called` is false if Claude could not even be started. `allowed_by` are the
    options of `run` that would have allowed what was denied. `throttled`: the API asked for fewer requests."""

    kind: Kind
    message: str = ""
    advice: str = ""
    resets_at: float | None = None
    window: str = ""
    called: bool = True
    allowed_by: tuple[tuple[str, str], ...] = ()
    throttled: bool = False


class IterationStarted(BaseEvent, frozen=True):
    """A prompt was rendered and is about to be sent. The texts are for the log; the journal leaves them out. `resumes`
    is the session that continues; empty: a fresh one. `notes` counts the notes in the prompt. The prompt asks for
    `report_id` in the report. `prompt_hash` is the hash of the prompt as sent, which is kept beside the raw output;
    `instructions_hash` is that of the instructions in it."""

    number: int
    instructions: str = ""
    status_instructions: str = ""
    system_prompt: str = ""
    resumes: str = ""
    notes: int = 0
    report_id: str = ""
    prompt_hash: str = ""
    instructions_hash: str = ""


class Rebooted(BaseEvent, frozen=True):
    """The iteration that just began has a fresh session instead of the last one: `session`, if its id is known.
    `context` says how full that one was."""

    why: Reboot
    session: str = ""
    context: float | None = None


class AgentStarted(BaseEvent, frozen=True):
    """Claude is running. `raw` is the name of the call in `raw/`: its prompt and its output."""

    pid: int
    raw: str = ""


class CutStarted(BaseEvent, frozen=True):
    """The run began to end Claude. `doing` says what Claude was doing, `after` how many seconds it was allowed."""

    cause: Cause
    doing: str = ""
    after: float = 0.0


class AgentExited(BaseEvent, frozen=True):
    """Claude is gone: its exit code, negative for the signal that killed it, and how much it printed."""

    code: int
    stdout_bytes: int = 0
    stderr_bytes: int = 0


class LeftoversEnded(BaseEvent, frozen=True):
    """Processes that a tool left behind were ended."""

    processes: tuple[str, ...]


class StatusChanged(BaseEvent, frozen=True):
    """The agent's report has news."""

    status: Status
    change: Change


class IterationFinished(BaseEvent, frozen=True):
    """One iteration is over. `status` is the report if the agent wrote one in this iteration. With a claim, `task`
    identifies the instructions in the prompt. `cost_is_lower_bound`: Claude ended before it reported the cost, so
    `cost_usd` is what its messages cost at least. `exit_code` is None if Claude was not started; `said` counts the
    characters of Claude's own text, without sub-agents. `error` is the signature of the last error that a tool or the
    result reported, `error_said` its words. `says_done`: Claude's last words say that everything is done.
    `report_was_last`: no tool was called after the one that wrote the report, and Claude ended by itself."""

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
    task: str = ""
    cost_is_lower_bound: bool = False
    exit_code: int | None = None
    said: int = 0
    error: str = ""
    error_said: str = ""
    says_done: bool = False
    report_was_last: bool = False

    @property
    def reported(self) -> bool:
        """The agent wrote a report. Boxes that are counted for it are none."""
        return self.status is not None and self.status.source != "boxes"


class ReviewFinished(BaseEvent, frozen=True):
    """The review's verdict: verified, incomplete, invalid (its report cannot be trusted) or unheld (it could not run,
    for the reason in `outcome`)."""

    verdict: str
    summary: str = ""
    findings: tuple[str, ...] = ()
    report: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    outcome: Outcome | None = None
    tokens: Tokens = Tokens()
    requirements: tuple[JudgedRequirement, ...] = ()
    cost_is_lower_bound: bool = False


class OneOffCallStarted(BaseEvent, frozen=True):
    """A one-off call began: `purpose` is setup, edit or validate."""

    purpose: Purpose


class OneOffCallFinished(BaseEvent, frozen=True):
    """A one-off call is over. `text` is Claude's answer, `structured` its answer in our schema, which the journal
    leaves out. `changed` are files of the project that changed although Claude was only asked to read; `trouble` says
    why its answer does not count."""

    purpose: Purpose
    outcome: Outcome
    text: str = ""
    duration: float = 0.0
    cost_usd: float = 0.0
    cut: int = 0
    tokens: Tokens = Tokens()
    structured: dict[str, Any] | None = None
    changed: tuple[str, ...] = ()
    trouble: str = ""
    cost_is_lower_bound: bool = False


class SnapshotTaken(BaseEvent, frozen=True):
    """One id for the whole project: `tree`, held by `ref`. Number 0 is the state before the first iteration; any other
    is what that iteration left, or what the next one begins with if checks or tests ran in between. `head` and `branch`
    are the repository's, empty where there is none."""

    number: int
    tree: str
    ref: str = ""
    head: str = ""
    branch: str = ""


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What differs between two states of the project: counts of files, the commits made in between, and the first
    names. `how` is git, store or files (a scan)."""

    created: int = 0
    modified: int = 0
    deleted: int = 0
    commits: int = 0
    how: str = ""
    files: tuple[str, ...] = ()

    @property
    def number_of_files(self) -> int:
        """How many files differ."""
        return self.created + self.modified + self.deleted


class TestCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of the test command; `errors` are tests or files that could not run. `how` names what it was read
    from; `red` are the first names of tests that failed or could not run."""

    __test__ = False  # or pytest takes it for a class of tests

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    how: str = ""
    red: tuple[str, ...] = ()

    @property
    def is_red(self) -> bool:
        """A test failed or could not run."""
        return self.failed + self.errors > 0


class WorkMeasured(BaseEvent, frozen=True):
    """What iteration `number` did. `changes` and `tests` are None where they are not known. `progress` names what
    moved: commits, files, tests and, in plan mode, plan."""

    number: int
    changes: Changes | None = None
    tests: TestCounts | None = None
    progress: tuple[str, ...] = ()


class PlanRead(BaseEvent, frozen=True):
    """The plan before an iteration, or as an iteration left it, if it changed since it was last read: how many tasks
    are open, under way and done, how many name no specification, and a checksum of the text, empty for no plan.
    `problem` says why it cannot be used."""

    open: int = 0
    doing: int = 0
    done: int = 0
    without_refs: int = 0
    fingerprint: str = ""
    problem: str = ""

    @property
    def tasks(self) -> int:
        """All tasks."""
        return self.open + self.doing + self.done

    @property
    def left(self) -> int:
        """Tasks that are not done."""
        return self.open + self.doing


class PlanFinished(BaseEvent, frozen=True):
    """No task of the plan is open: a claim of completion. `task` identifies the instructions of the claim."""

    tasks: int
    task: str = ""
