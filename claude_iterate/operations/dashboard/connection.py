"""A connection to the dashboard. Until it shows the cookie it is a stranger's: those are few and do not stay for long,
whatever they say or do not say, so the owner always finds a place."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST, _PATIENCE = 50, 10.0
"""Strangers at a time, and seconds until the cookie; a browser sends it with its first words."""


class Connection(H11Protocol):
    """Speaks HTTP. The oldest stranger leaves when there are too many."""

    strangers: ClassVar[dict[tuple[str, int] | None, Connection]] = {}
    """By address and port, the oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It has said nothing yet."""
        super().connection_made(transport)
        self.strangers[self.client] = self
        if len(self.strangers) > _MOST:
            next(iter(self.strangers.values())).end_if_stranger()
        self.loop.call_later(_PATIENCE, self.end_if_stranger)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self.end_if_stranger()
        super().connection_lost(exc)

    def end_if_stranger(self) -> None:
        """At once: one that does not read could make an orderly end last."""
        if self.strangers.get(self.client) is self:
            del self.strangers[self.client]
            self.transport.abort()
