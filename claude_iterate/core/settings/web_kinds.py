"""Kinds of setting values that have to do with the web: addresses and headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from claude_iterate.core.settings.kinds import Kind, Table


@dataclass(repr=False, eq=False)
class Headers(Table):
    """Names and values of HTTP headers. A line break in one would smuggle in another."""

    @property
    def expected(self) -> str:
        return "a table of header names and texts on one line"

    def accept(self, value: Any) -> dict[str, str]:
        for name, text in super().accept(value).items():
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\x00-\x1f\x7f]", text):
                raise ValueError(self.expected)
        return dict(value)


@dataclass(repr=False, eq=False)
class WebAddress(Kind):
    """An http or https address with a host, or the empty text, which takes back what a weaker layer set."""

    @property
    def expected(self) -> str:
        return "an http or https address with a host, for example https://ntfy.sh/my-topic"

    def accept(self, value: Any) -> str:
        address = str(super().accept(value)).strip()
        if address and not self._is_complete(address):
            raise ValueError(self.expected)
        return address

    @staticmethod
    def _is_complete(address: str) -> bool:
        from urllib.parse import urlsplit  # most calls meet no address

        if re.search(r"[\x00-\x20\x7f]", address):
            return False
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
