"""The two kinds of lines that come most, in the usual shape: msgspec checks all of it while it reads, so that no field
needs a look of its own. A line of any other shape is read by `known_fields`, and gives the same events."""

# No `annotations` from __future__: msgspec would compile the text of each at every start.

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from claude_iterate.agent.protocol.known_fields import Facts
from claude_iterate.agent.protocol.message_usage import MOST_TOKENS

_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


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


class AnswerBlock(msgspec.Struct):
    """What a tool answered; its text may be in blocks of its own. Its kind is a field: where there is only one kind,
    msgspec takes a block without a tag for one."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class Usage(msgspec.Struct):
    """Tokens of a message, plausible ones."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0


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

    content: list[AnswerBlock]


class UserLine(msgspec.Struct, tag_field="type", tag="user"):
    """Tools have answered."""

    message: UserMessage
    parent_tool_use_id: str | None = None
    tool_use_result: Facts | str | list[Any] | None = None


CommonLine = AssistantLine | UserLine
_BEGINNINGS: dict[bytes, Callable[[bytes], CommonLine]] = {
    b'{"type":"assist': msgspec.json.Decoder(AssistantLine).decode,
    b'{"type":"user",': msgspec.json.Decoder(UserLine).decode,
}
"""By the first bytes of a line: to try and fail would cost more than to read it."""
_LENGTH = 15


def common_line(line: bytes) -> CommonLine | None:
    """The line; None when it is another one, or has an unusual shape."""
    decode = _BEGINNINGS.get(line[:_LENGTH])
    if decode is None:
        return None
    try:
        return decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
