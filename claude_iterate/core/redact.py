"""Keeps secrets out of logs, journals and notifications: known shapes, and values of secret-looking variables.

Looking is cheap (a few searches for fixed bytes in a whole batch); only what looks suspicious is cleaned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from claude_iterate.core.events import Event
from claude_iterate.core.secret_names import is_secret_name
from claude_iterate.core.secret_shapes import MASK, SHAPES
from claude_iterate.core.settings import Settings

_SHORTEST_SECRET = 8


def secrets_of(settings: Settings) -> dict[str, str]:
    """What the settings themselves hold, under names that the redactor takes for secrets."""
    own = {f"SECRET_{number}": value for number, value in enumerate(settings.notify.headers.values())}
    own |= {"SECRET": settings.notify.secret} if settings.notify.secret else {}
    return {**settings.claude.env, **own}


class Redactor:
    """Knows the secrets of one environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = {value for name, value in environ.items() if is_secret_name(name) and len(value) >= _SHORTEST_SECRET}
        # Within a line of JSON a value may be escaped; both forms are looked for.
        spellings = values | {json.dumps(value)[1:-1] for value in values}
        needles = sorted({*SHAPES, *spellings})
        self._needles = tuple(needle.encode("utf-8", "surrogateescape") for needle in needles)
        known = sorted((re.escape(value) for value in spellings), key=len, reverse=True)
        self._pattern = re.compile("|".join([*known, *SHAPES.values()]))

    def suspects(self, data: bytes) -> bool:
        """True when these bytes may hold a secret."""
        return any(needle in data for needle in self._needles)

    def clean(self, text: str) -> str:
        """The text with its secrets masked."""
        return self._pattern.sub(MASK, text)

    def clean_event(self, event: Event) -> Event:
        """The event with the secrets in all its texts masked."""
        kind: Any = type(event)
        cleaned: Event = msgspec.convert(self._clean_value(msgspec.to_builtins(event)), kind)
        return cleaned

    def _clean_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {key: self._clean_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean_value(item) for item in value]
        return value
