"""The forms of a notice: each receiver gets what it understands, and nothing an agent wrote can do harm there."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from claude_iterate.core.settings.declared import NotifySettings
from claude_iterate.sinks.notifications.delivery import request
from claude_iterate.sinks.notifications.notices import Notice

NOTICE = Notice("completion", "Task Complete", "TASK COMPLETE ✅\n\nx < y", "high", ("a", "b"), {"run": "r1"})


def posted(notice: Notice = NOTICE, **settings: Any) -> tuple[dict[str, str], bytes]:
    headers, body = request(notice, NotifySettings(url="http://h/", **settings))
    return {name.decode(): value.decode() for name, value in headers.items()}, body


def test_ntfy() -> None:
    """The text is the body; title, priority and tags are headers."""
    headers, body = posted()
    assert (headers["Title"], headers["Priority"], headers["Tags"]) == ("Task Complete", "high", "a,b")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert body.decode() == NOTICE.body


def test_ntfy_headers_are_ascii_and_one_line() -> None:
    """Other characters come in the encoding of RFC 2047."""
    headers, _ = posted(Notice("e", "Grüße\r\nEvil: yes", "b"))
    assert (
        base64.b64decode(headers["Title"].removeprefix("=?UTF-8?B?").removesuffix("?=")).decode() == "Grüße Evil: yes"
    )


def test_ntfy_is_cut_between_characters() -> None:
    """More than 4096 bytes would become an attachment."""
    _, body = posted(Notice("e", "t", "é" * 5000))
    assert body.decode() == "é" * 2048


def test_json() -> None:
    """One object: what people read and what programs read."""
    headers, body = posted(format="json")
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "version": 1,
        "event": "completion",
        "title": "Task Complete",
        "message": NOTICE.body,
        "priority": "high",
        "run": "r1",
    }


def test_slack() -> None:
    """Its control characters are escaped: `<!channel>` is plain text."""
    _, body = posted(Notice("e", "T", "a & <!channel>"), format="slack")
    assert json.loads(body) == {"text": "*T*\na &amp; &lt;!channel&gt;"}


def test_discord() -> None:
    """At most 2000 characters, and no mentions."""
    _, body = posted(Notice("e", "T", "@everyone " + "é" * 3000), format="discord")
    document = json.loads(body)
    assert document["content"].startswith("**T**\n@everyone")
    assert len(document["content"]) == 2000
    assert document["allowed_mentions"] == {"parse": []}


def test_signature() -> None:
    """The HMAC-SHA256 of the very bytes that are sent; none without a secret."""
    headers, body = posted(format="json", secret="s3cret")
    expected = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Claude-Iterate-Signature"] == f"sha256={expected}"
    assert "X-Claude-Iterate-Signature" not in posted()[0]


def test_the_users_headers_win() -> None:
    """Whatever their case."""
    headers, _ = posted(headers={"priority": "min", "Authorization": "Bearer é"})
    assert (headers["priority"], headers["Authorization"]) == ("min", "Bearer é")
    assert "Priority" not in headers
