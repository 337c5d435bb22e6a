"""Keeps secrets out of logs, journals and notifications: known shapes, and values of secret-looking variables.

Looking is cheap (a few searches for fixed bytes in a whole batch); only what looks suspicious is cleaned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import Event
from claude_iterate.core.events.vocabulary import Word
from claude_iterate.core.secrets.patterns import MASK, SHAPES, is_secret_name
from claude_iterate.core.settings.declared import Settings

_PLAIN = re.compile(r".{0,7}|[a-z]{0,15}|[A-Z]{0,15}|[A-Z][a-z]{0,14}", re.DOTALL)
"""Too short or too plain to be a secret: `completed` would be masked in every sentence."""

_SHORTEST = 8

WORDS = frozenset(
    """
    hook_point hook_running hooks hooks_ran means point scope
    birth branch by cut depth digest files fingerprint head host id instructions_hash kind known_by log mode model name
    now parent permission_mode progress project prompt_hash purpose reason ref report report_id resumes review run
    sandbox session source status subtype task tool tree verb verdict version was window windows workspace
    base cassette main replaced
    """.split()  # noqa: SIM905 - one name per line would take a page
)
"""Fields of events that hold words of ours, names and paths. The code reads them, so they are kept as they are;
every other field, a new one included, is taken for free text."""

_FEW = 65_536
"""Bytes that are searched for each needle by itself: a short run would take longer to make the searches."""
_RARE = b"JQXZKzYV_-"
"""Characters that are rare in most texts, the rarest first."""
_SELDOM = 2000
"""A byte is rare in a text if at most one of so many is like it."""


def _searches(needles: Collection[bytes]) -> list[Callable[[bytes], object]]:
    """What finds the needles, in few searches, because every byte that Claude prints is searched. Those with the same
    rare character are found by one search for that character, which looks around where it finds it."""
    searches: list[Callable[[bytes], object]] = []
    around: dict[int, list[bytes]] = {}
    for needle in needles:
        rare = next((character for character in _RARE if character in needle), None)
        if rare is None:
            searches.append(partial(_is_in, needle))
        else:
            before, found, after = map(re.escape, needle.partition(bytes([rare])))
            around.setdefault(rare, []).append(b"(?<=%b%b)%b" % (before, found, after))
    for rare, places in around.items():
        pattern = re.compile(b"%b(?:%b)" % (re.escape(bytes([rare])), b"|".join(places)))
        searches.append(partial(_is_around, bytes([rare]), pattern))
    return searches


def _is_around(rare: bytes, pattern: re.Pattern[bytes], data: bytes) -> bool:
    """One byte is found in a hundredth of the time that a pattern takes: the pattern only looks where it stands. Where
    it is not rare, the pattern looks everywhere."""
    place = data.find(rare)
    for _ in range(len(data) // _SELDOM):
        if place < 0:
            return False
        if pattern.match(data, place):
            return True
        place = data.find(rare, place + 1)
    return place >= 0 and pattern.search(data, place) is not None


def _escaped(value: str) -> str:
    """The value within a line of JSON in ASCII."""
    if value.isascii() and value.isprintable() and not {'"', "\\"} & set(value):
        return value
    return json.dumps(value)[1:-1]


def _is_in(needle: bytes, data: bytes) -> bool:
    return needle in data


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
        # Within a line of JSON a value may be escaped; both forms are looked for.
        spellings = values | {_escaped(value) for value in values}
        needles = sorted({*SHAPES, *spellings})
        self._needles = [needle.encode("utf-8", "surrogateescape") for needle in needles]
        self._searches: list[Callable[[bytes], object]] = []
        self._searched = 0
        known = sorted((re.escape(value) for value in spellings), key=len, reverse=True)
        self._pattern = re.compile("|".join([*known, *SHAPES.values()]))

    def suspects(self, data: bytes) -> bool:
        """True when these bytes may hold a secret."""
        if not self._searches:
            self._searched += len(data)
            if self._searched < _FEW:
                return any(needle in data for needle in self._needles)
            self._searches = _searches(self._needles)
        return any(search(data) for search in self._searches)

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
