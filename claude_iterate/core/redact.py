"""Keeps secrets out of logs, journals, notifications and lists of settings.

What looks like a secret is known here only: shapes, names of variables, and the values of variables of such a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import Event
from claude_iterate.core.events.enums import Word
from claude_iterate.core.formats import plain
from claude_iterate.core.settings.declared import Settings, catalogue, value_of

MASK, COVER = "[redacted]", "***"
"""What stands for a secret in a text, and in a setting."""

SHAPES = {
    "sk-ant-": r"sk-ant-[\w-]{12,}",
    "sk-proj-": r"sk-proj-[\w-]{12,}",
    "sk_live_": r"sk_live_\w{12,}",
    "ghp_": r"ghp_\w{20,}",
    "gho_": r"gho_\w{20,}",
    "ghs_": r"ghs_\w{20,}",
    "github_pat_": r"github_pat_\w{20,}",
    "glpat-": r"glpat-[\w-]{16,}",
    "xoxb-": r"xoxb-[\w-]{16,}",
    "xoxp-": r"xoxp-[\w-]{16,}",
    "AKIA": r"AKIA[0-9A-Z]{16}",
    "AIza": r"AIza[\w-]{30,}",
    "npm_": r"npm_[A-Za-z0-9]{30,}",
    "eyJhbGci": r"eyJhbGci[\w-]+\.[\w-]+\.[\w-]+",
    "PRIVATE KEY-----": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?-----END [A-Z ]*PRIVATE KEY-----",
    # What was typed into a command; `$TOKEN` is not a secret, and prose has no digits.
    "earer ": r"(?<=[Bb]earer )(?:(?<=uthorization: .{7})[\w.~+/-]{6,}|(?=[\w.~+/-]*\d)[\w.~+/-]{20,})=*",
    "uthorization: Basic ": r"(?<=uthorization: Basic )[\w+/-]{6,}=*",
    "-api-key: ": r"(?<=-api-key: )[\w.~+/-]{6,}=*",
}
"""Fixed characters that a secret contains, and its pattern."""
_SECRET = re.compile("|".join(SHAPES.values()))


def mask_secrets(text: str, mask: str = MASK) -> str:
    """The text with everything masked that looks like a secret."""
    return _SECRET.sub(mask, text) if any(needle in text for needle in SHAPES) else text


# Authorization is one; GIT_AUTHOR_NAME, XAUTHORITY and KEYBOARD are not.
_SECRET_NAME = re.compile(r"KEY(?!BOARD)|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR(?!I[SZ]))", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """True for names such as GITHUB_TOKEN."""
    return _SECRET_NAME.search(name) is not None


_PLAIN = re.compile(r".{0,7}|[a-z]{0,15}|[A-Z]{0,15}|[A-Z][a-z]{0,14}", re.DOTALL)
"""Too short or too plain to be a secret: `completed` would be masked in every sentence."""

_SHORTEST = 8

WORDS = frozenset(
    """
    hook_point hook_running hooks hooks_ran means point scope
    birth branch by cut depth digest files fingerprint head host id instructions_hash kind known_by log mode model name
    now parent permission_mode progress project prompt_hash purpose reason ref report report_id resumes review run
    sandbox session source status subtype task tool tree verb verdict version was window windows workspace
    base cassette main raw
    """.split()  # noqa: SIM905 - one name per line would take a page
)
"""Fields of events that hold words of ours, names and paths. The code reads them, so they are kept as they are;
every other field, a new one included, is taken for free text."""


def redactor_for(environ: Mapping[str, str], settings: Settings) -> Redactor:
    """For a run with these settings: what they set for Claude counts, and so do secret and headers of notifications."""
    return Redactor(
        {**environ, **settings.claude.env}, {settings.notify.secret or "", *settings.notify.headers.values()}
    )


class Redactor:
    """Knows the secrets of one environment, and those that settings declare (`own`)."""

    def __init__(self, environ: Mapping[str, str], own: Collection[str] = ()) -> None:
        values = {value for name, value in environ.items() if is_secret_name(name) and not _PLAIN.fullmatch(value)}
        values |= {value for value in own if len(value) >= _SHORTEST}
        # Within a line of JSON a value may be escaped; both forms are searched for.
        spellings = values | {json.dumps(value)[1:-1] for value in values}
        needles = sorted({*SHAPES, *spellings})
        self._needles = [needle.encode("utf-8", "surrogateescape") for needle in needles]
        known = sorted((re.escape(value) for value in spellings), key=len, reverse=True)
        self._pattern = re.compile("|".join([*known, *SHAPES.values()]))

    def suspects(self, data: bytes) -> bool:
        """True when these bytes may hold a secret."""
        return any(needle in data for needle in self._needles)

    def clean(self, text: str) -> str:
        """The text with its secrets masked."""
        return self._pattern.sub(MASK, text)

    def clean_event(self, event: Event) -> Event:
        """The event with the secrets in all its texts masked. Its own words stay, so it means the same as before."""
        cleaned: Event = self._clean_value(event)
        return cleaned

    def _clean_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if isinstance(value, Word) else self.clean(value)
        if isinstance(value, msgspec.Struct):
            return replace(value, **{name: self._clean_field(value, name) for name in value.__struct_fields__})
        if isinstance(value, dict):
            return {self._clean_value(key): self._clean_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._clean_value(item) for item in value)
        return value

    def _clean_field(self, struct: msgspec.Struct, name: str) -> Any:
        value = getattr(struct, name)
        # `status` is a word in one event and a whole report in another.
        return value if name in WORDS and not isinstance(value, msgspec.Struct) else self._clean_value(value)


def changed_settings(settings: Settings) -> dict[str, Any]:
    """What differs from the defaults, by dotted key, as JSON has it, with secrets covered."""
    values = ((key, value_of(settings, key), setting.default) for key, setting in catalogue().items())
    return {key: plain(mask_setting(key, value)) for key, value, default in values if value != default}


def mask_setting(key: str, value: Any) -> Any:
    """The value with secrets replaced by `***`."""
    if key == "notify.url" and isinstance(value, str):
        # User and password before the host, the query, and the end of the path, where services put their tokens: who
        # knows a topic of ntfy can read it and write to it.
        without_user = re.sub(r"//[^/@\s]*@", f"//{COVER}@", value)
        without_query = re.sub(r"([?#]).*$", rf"\g<1>{COVER}", without_user)
        return re.sub(r"(//[^/?#]+(?:/[^/?#]*)*/)[^/?#]+", rf"\g<1>{COVER}", without_query)
    if key == "notify.secret" and value:
        return COVER
    if key == "notify.headers" and isinstance(value, dict):
        return dict.fromkeys(value, COVER)
    if key == "claude.env" and isinstance(value, dict):
        value = {name: COVER if is_secret_name(name) else text for name, text in value.items()}
    return mask_value(value)


def mask_value(value: Any) -> Any:
    """The value of any setting with everything that looks like a secret replaced by `***`."""
    if isinstance(value, str):
        return mask_secrets(value, COVER)
    if isinstance(value, list | tuple):
        return [mask_value(item) for item in value]
    if isinstance(value, dict):
        return {name: mask_value(item) for name, item in value.items()}
    return value
