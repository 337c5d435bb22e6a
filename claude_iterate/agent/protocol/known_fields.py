"""The fields that are read of lines that are not common. All others are checked and skipped, not built: most of a long
line is a file that it carries twice, or lists that are not shown."""

# No `annotations` from __future__: msgspec would compile the text of each at every start.

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec

from claude_iterate.agent.protocol.common_lines import Facts


class _Usage(TypedDict, total=False):
    input_tokens: Any
    output_tokens: Any
    cache_read_input_tokens: Any
    cache_creation_input_tokens: Any


class _Message(TypedDict, total=False):
    id: Any
    model: Any
    content: Any
    usage: _Usage | None


class _Line(TypedDict, total=False):
    """All kinds of lines in one table. A field is of any type; only where there are tables in it, it must be one."""

    type: Any
    subtype: Any
    session_id: Any
    # assistant and user
    message: _Message | str | None
    parent_tool_use_id: Any
    error: Any
    tool_use_result: Facts | str | list[Any] | None
    # system
    model: Any
    claude_code_version: Any
    permissionMode: Any
    mcp_servers: Any
    plugin_errors: Any
    tools: Any
    cwd: Any
    attempt: Any
    max_retries: Any
    retry_delay_ms: Any
    error_status: Any
    task_id: Any
    task_type: Any
    description: Any
    patch: Any
    compact_metadata: Any
    status: Any
    summary: Any
    # result
    is_error: Any
    result: Any
    errors: Any
    api_error_status: Any
    num_turns: Any
    total_cost_usd: Any
    modelUsage: Any
    usage: _Usage | None
    permission_denials: Any
    structured_output: Any


_decode: Callable[[bytes], Any] = msgspec.json.Decoder(_Line).decode


def known_fields(line: bytes) -> dict[str, Any]:
    """The line with these fields alone; empty when it is no such line, or has an unusual shape."""
    try:
        found: dict[str, Any] = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found
