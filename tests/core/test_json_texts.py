"""JSON is read and written as `json` does it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claude_iterate.core.json_texts import parsed, written

VALUES: tuple[Any, ...] = (
    *({}, [], {"a": []}, {"a": {}}, {"": ""}, {1: 2}, "x", None, True, 1.5, -0.0, 10**30),
    *({"a": [1, {"b": 'é\n\t\u2028\x7f\x1b"\\/'}]}, {"k": "\ud800"}, "😀"),
)


@pytest.mark.parametrize("value", VALUES)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    """The same characters, so a file of an earlier version does not change when it is written again."""
    assert written(value) == json.dumps(value, indent=2, ensure_ascii=False)


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "9" * 30, "-0", "1E5", '"\\ud800"', "Infinity", ' {"a" : [1 , 2]} ', "[1,]", "", "{", '"\x01"'],
)
def test_what_is_read_is_what_json_reads(text: str) -> None:
    """As a text and as bytes; what is not JSON is a ValueError."""
    for form in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
        try:
            expected = json.loads(form)
        except ValueError:
            with pytest.raises(ValueError, match=":"):
                parsed(form)
        else:
            assert parsed(form) == expected
