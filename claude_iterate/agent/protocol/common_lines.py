"""The kinds of lines that come most or in every call, in the usual shape: msgspec checks all of it while it reads, so
that no field needs a look of its own. A line of any other shape is read by `known_fields`. It gives the same events."""

# No `annotations` from __future__: msgspec would compile the text of each at every start.

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from claude_iterate.agent.protocol.message_usage import MOST_TOKENS

MOST_TURNS = 1_000_000
HIGHEST_PRICE = 100_000.0
"""No call costs more; a number above this is an error in the stream."""
LONGEST_NAME = 80
"""Characters of a tool's name, few enough for every journal to have it."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]
_Price = Annotated[float, msgspec.Meta(ge=0, le=HIGHEST_PRICE)]
_Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]


class TextBlock(msgspec.Struct, tag_field="type", tag="text"):
    """What the model says."""

    text: str


class ThinkingBlock(msgspec.Struct, tag_field="type", tag="thinking"):
    """What the model thinks."""

    thinking: str


class CallBlock(msgspec.Struct, tag_field="type", tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str
    input: dict[str, Any]


class AnswerBlock(msgspec.Struct, tag_field="type", tag="tool_result"):
    """What a tool answered; its text may be in blocks of its own."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class Usage(msgspec.Struct):
    """Tokens of a message, plausible ones."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0


NO_USAGE = Usage()


class File(TypedDict, total=False):
    """A file that a tool read."""

    numLines: Any


class Facts(TypedDict, total=False):
    """What Claude Code tells of a tool's result, beside the text that the model reads."""

    type: Any
    file: File
    backgroundTaskId: Any
    interrupted: Any
    returnCodeInterpretation: Any


class AssistantMessage(msgspec.Struct):
    """A message of the model, or a part of it."""

    content: list[TextBlock | CallBlock | ThinkingBlock]
    id: str = ""
    model: str = ""
    usage: Usage | None = None


class AssistantLine(msgspec.Struct, tag_field="type", tag="assistant"):
    """The model says something, or calls a tool."""

    message: AssistantMessage
    parent_tool_use_id: str | None = None
    error: str | None = None


class UserMessage(msgspec.Struct):
    """What the model gets."""

    content: list[AnswerBlock | TextBlock]


class UserLine(msgspec.Struct, tag_field="type", tag="user"):
    """Tools have answered, or something is told to the model."""

    message: UserMessage
    parent_tool_use_id: str | None = None
    tool_use_result: Facts | str | list[Any] | None = None


class SessionLine(msgspec.Struct, tag_field="type", tag="system"):
    """Claude Code introduces itself."""

    subtype: Literal["init"]
    session_id: str = ""
    model: str = ""
    claude_code_version: str = ""
    permission_mode: str = msgspec.field(name="permissionMode", default="")
    mcp_servers: list[Any] = []
    plugin_errors: tuple[str, ...] = ()
    tools: tuple[_Name, ...] = ()
    cwd: str = ""


class RetryLine(msgspec.Struct, tag_field="type", tag="system"):
    """Claude Code met an API error."""

    subtype: Literal["api_retry"]
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0.0
    error_status: int | None = None
    error: str = ""


class ModelUsage(msgspec.Struct, rename="camel"):
    """What a model used in the whole process."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    context_window: _Count = 0
    cost: _Price | None = msgspec.field(name="costUSD", default=None)


class ResultLine(msgspec.Struct, tag_field="type", tag="result"):
    """Claude Code is done, and says at what price."""

    is_error: bool
    total_cost_usd: _Price | None = None
    subtype: str = ""
    result: str = ""
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    session_id: str = ""
    num_turns: Annotated[int, msgspec.Meta(ge=0, le=MOST_TURNS)] = 0
    models: dict[str, ModelUsage] = msgspec.field(name="modelUsage", default_factory=dict)
    usage: Usage | None = None
    permission_denials: list[Any] = []
    structured_output: Any = None


class PieceLine(msgspec.Struct, tag_field="type", tag="stream_event"):
    """A piece of a message that comes whole later."""


CommonLine = AssistantLine | UserLine | SessionLine | RetryLine | ResultLine | PieceLine
_KINDS: dict[bytes, type[CommonLine]] = {
    b'{"type":"assist': AssistantLine,
    b'{"type":"user",': UserLine,
    b'{"type":"result': ResultLine,
    b'{"type":"stream': PieceLine,
    b'{"type":"system","subtype":"init': SessionLine,
    b'{"type":"system","subtype":"api_': RetryLine,
}
"""By the first bytes of a line: to try and fail would cost more than to read it. Each names the kind, so it is not
missing; msgspec alone would take a line without any for the only kind that it is asked for."""
_SHORT, _LONG = 15, 32


def _first_time(beginning: bytes, line: bytes) -> CommonLine:
    """Decodes the first line that begins so. A decoder takes long to make, and a short call needs few of them."""
    decode = _decoders[beginning] = msgspec.json.Decoder(_KINDS[beginning]).decode
    return decode(line)


_decoders: dict[bytes, Callable[[bytes], CommonLine]] = {each: partial(_first_time, each) for each in _KINDS}


def common_line(line: bytes) -> CommonLine | None:
    """The line; None when it is another one, or has an unusual shape."""
    decode = _decoders.get(line[:_SHORT]) or _decoders.get(line[:_LONG])
    if decode is None:
        return None
    try:
        return decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
