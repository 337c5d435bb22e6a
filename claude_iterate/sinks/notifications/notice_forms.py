"""The forms a notice can take on its way: ntfy, json, Slack, Discord; and the signature. Pure functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable

from claude_iterate import __version__
from claude_iterate.core.settings.declared import NotifySettings
from claude_iterate.sinks.notifications.notices import Notice

SCHEMA = 1
"""The version of the json form. It grows when a receiver would have to change."""
SIGNATURE = "X-Claude-Iterate-Signature"
NTFY_BYTES = 4096
"""ntfy turns what is longer into an attachment."""
SLACK_LENGTH = 40000
DISCORD_LENGTH = 2000


def request(notice: Notice, settings: NotifySettings) -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body in the form that the settings ask for, signed if there is a secret. The user's headers win."""
    headers, body = FORMS[settings.format](notice)
    headers = {"User-Agent": f"claude-iterate/{__version__}", "Accept-Encoding": "identity", **headers}
    if settings.secret:
        headers[SIGNATURE] = signature(settings.secret, body)
    own = {name.lower() for name in settings.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in own} | dict(settings.headers)
    return {name.encode(): value.encode() for name, value in headers.items()}, body


def signature(secret: str, body: bytes) -> str:
    """`sha256=` and the HMAC of the body in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _ntfy(notice: Notice) -> tuple[dict[str, str], bytes]:
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Title": _header(notice.title),
        "Priority": notice.priority,
        "Tags": _header(",".join(notice.tags)),
    }
    if notice.facts.get("report"):
        headers["Click"] = _header(notice.facts["report"])  # what a tap on it opens
    return headers, notice.body.encode()[:NTFY_BYTES].decode(errors="ignore").encode()


def _json(notice: Notice) -> tuple[dict[str, str], bytes]:
    document = {
        "version": SCHEMA,
        "event": notice.event,
        "title": notice.title,
        "message": notice.body,
        "priority": notice.priority,
        **notice.facts,
    }
    return _as_json(document)


def _slack(notice: Notice) -> tuple[dict[str, str], bytes]:
    # Slack reads <...> as links and mentions; an agent's words must not call a whole channel.
    plain = f"*{notice.title}*\n{notice.body}"[:SLACK_LENGTH]
    return _as_json({"text": plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")})


def _discord(notice: Notice) -> tuple[dict[str, str], bytes]:
    text = f"**{notice.title}**\n{notice.body}"
    if len(text) > DISCORD_LENGTH:
        text = text[: DISCORD_LENGTH - 4] + " ..."
    # Without this, `@everyone` in an agent's words would call everyone.
    return _as_json({"content": text, "allowed_mentions": {"parse": []}})


def _as_json(document: dict[str, object]) -> tuple[dict[str, str], bytes]:
    return {"Content-Type": "application/json"}, json.dumps(document, ensure_ascii=False).encode(errors="replace")


def _header(text: str) -> str:
    """A header's value: one line, and beyond ASCII in the encoding of RFC 2047."""
    line = " ".join(text.split())
    if line.isascii():
        return line
    return f"=?UTF-8?B?{base64.b64encode(line.encode(errors='replace')).decode()}?="


FORMS: dict[str, Callable[[Notice], tuple[dict[str, str], bytes]]] = {
    "ntfy": _ntfy,
    "json": _json,
    "slack": _slack,
    "discord": _discord,
}
