"""Events that stand for what Claude prints, and what they are made of."""

from __future__ import annotations

from operator import add
from typing import Any

import msgspec
from msgspec.structs import astuple


class BaseEvent(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """How every event is recorded: with its name, and without the fields that have their default."""


class Tokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens by kind, as Claude's last result of a process counts them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Sum over processes."""
        return Tokens(*map(add, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        """Of all kinds."""
        return sum(astuple(self))


class Denial(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call that Claude was not allowed to make, what Claude Code said about it, and the type that it gave the
    reason (`why`: workingDir, mode, safetyCheck, ...), if any."""

    tool: str
    detail: str = ""
    said: str = ""
    why: str = ""


class SessionOpened(BaseEvent, frozen=True):
    """Claude introduced itself. `by_schema`: it has a schema for its answer; `cwd` is the folder that it works in."""

    session: str = ""
    model: str = ""
    version: str = ""
    permission_mode: str = ""
    problems: tuple[str, ...] = ()
    by_schema: bool = False
    cwd: str = ""


class AssistantText(BaseEvent, frozen=True):
    """Text by the model, or (with `error`, its kind) an error message that Claude Code presents as the model's text."""

    text: str
    parent: str = ""
    error: str = ""
    cut: int = 0


class Thought(BaseEvent, frozen=True):
    """Thinking that Claude showed."""

    text: str
    parent: str = ""
    cut: int = 0


class PromptSent(BaseEvent, frozen=True):
    """Text given to the model during a session: a sub-agent's task, an interruption, a summary."""

    text: str
    parent: str = ""
    cut: int = 0


class ToolCalled(BaseEvent, frozen=True):
    """The model uses a tool."""

    id: str
    name: str
    input: dict[str, Any] = {}
    parent: str = ""


_TELLING = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "url",
    "description",
    "query",
    "subject",
    "skill",
)


def telling(values: dict[str, Any]) -> tuple[str, str]:
    """The key and the value of a tool's input that say best what the call is about; two empty texts if none does."""
    for key in _TELLING:
        value = values.get(key)
        if value and isinstance(value, str):
            return key, value
    return "", ""


_LONGEST_REQUEST = 500


def request_of(values: dict[str, Any]) -> str:
    """What a tool was asked to do, in short."""
    return telling(values)[1][:_LONGEST_REQUEST]


class ToolResult(BaseEvent, frozen=True):
    """A tool's result. `name` is the tool's, found by the id; `facts` is Claude Code's structured result, which the
    journal leaves out."""

    id: str
    name: str = ""
    text: str = ""
    is_error: bool = False
    facts: dict[str, Any] = {}
    parent: str = ""
    cut: int = 0


class TaskStarted(BaseEvent, frozen=True):
    """A sub-agent or a background command began."""

    id: str
    kind: str = ""
    description: str = ""


class TaskEnded(BaseEvent, frozen=True):
    """A sub-agent or a background command ended: completed, failed, stopped or killed."""

    id: str
    status: str = ""
    summary: str = ""


class TasksListed(BaseEvent, frozen=True):
    """All background tasks that are open. A task that is missing from the list has ended."""

    tasks: tuple[TaskStarted, ...] = ()


class ToolDenied(BaseEvent, frozen=True):
    """Claude Code did not allow the tool call `id`, for a reason of the type `why`. The tool's answer, which follows,
    says what the model was told."""

    id: str
    tool: str = ""
    said: str = ""
    why: str = ""


class ApiRetried(BaseEvent, frozen=True):
    """Claude Code met an API error and tries again by itself."""

    attempt: int = 0
    max_retries: int = 0
    delay: float = 0.0
    status: int | None = None
    error: str = ""


class LimitReported(BaseEvent, frozen=True):
    """State of a usage window of the subscription."""

    status: str
    window: str = ""
    resets_at: float | None = None
    utilization: float | None = None


class ContextCompacted(BaseEvent, frozen=True):
    """Claude Code replaced the context with a summary: `trigger` is auto or manual; there were `tokens` before."""

    trigger: str = ""
    tokens: int = 0


class AgentNoted(BaseEvent, frozen=True):
    """Anything else that Claude Code reports: hooks, model changes, kinds that we do not know yet."""

    kind: str
    text: str = ""


class ResultReported(BaseEvent, frozen=True):
    """Claude's own account of how it went. There may be several in one process; the last one counts. Cost and tokens
    are those of the process so far; `session_cost_usd` and `session_tokens` are what Claude Code names for the whole
    session, where that is another sum. `untold`: it names no cost that can be read. `signs` are its words for the kind
    of a failure (`api_error`, `api_error_type`, `terminal_reason`). `malformed`: it does not say whether it is an
    error, so it counts as one. `structured` is the answer in our schema, None if there is none; the journal leaves it
    out."""

    subtype: str = ""
    is_error: bool = False
    text: str = ""
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    session: str = ""
    turns: int = 0
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    denials: tuple[Denial, ...] = ()
    context: float | None = None
    untold: bool = False
    cut: int = 0
    structured: dict[str, Any] | None = None
    session_cost_usd: float = 0.0
    session_tokens: Tokens = Tokens()
    signs: tuple[str, ...] = ()
    malformed: bool = False
    duration_ms: int = 0

    @property
    def of_session(self) -> tuple[float, Tokens]:
        """Cost and tokens that Claude Code names as the total."""
        if self.session_cost_usd or self.session_tokens != Tokens():
            return self.session_cost_usd, self.session_tokens
        return self.cost_usd, self.tokens


class UsageReported(BaseEvent, frozen=True):
    """What the messages of this call used since its last result, sub-agents included: tokens, and what those of known
    models cost at least. Each report replaces the one before it; a result that names the cost replaces them all."""

    tokens: Tokens = Tokens()
    cost_usd: float = 0.0


class UnparsedLine(BaseEvent, frozen=True):
    """A line of output that is not an event: kept, shown, never fatal."""

    text: str
    bytes: int = 0


class ErrorPrinted(BaseEvent, frozen=True):
    """A line on Claude's standard error."""

    text: str


WordsEvent = AssistantText | Thought | PromptSent
ToolEvent = ToolCalled | ToolResult | ToolDenied | TaskStarted | TaskEnded | TasksListed
ServiceEvent = ApiRetried | LimitReported | ContextCompacted | UsageReported
StreamEvent = (
    SessionOpened | WordsEvent | ToolEvent | ServiceEvent | AgentNoted | ResultReported | UnparsedLine | ErrorPrinted
)
