"""Lines that decide nothing and may come by the million: the journal keeps the first of a call and counts the rest."""

from __future__ import annotations

from claude_iterate.core.events import AgentExited, Entry, ErrorPrinted, Event, GarbageSeen

FLOODS: dict[type, int] = {GarbageSeen: 100, ErrorPrinted: 1000, AgentExited: 0}
"""How many of a kind are kept in a call; the exit of Claude is its end."""


class Floods:
    """What was passed over since the call began."""

    def __init__(self) -> None:
        self._seen: dict[type, int] = {}
        self._last: dict[type, Entry] = {}
        self._bytes = 0

    def thinned(self, entry: Entry) -> list[Entry]:
        """What to keep in place of an entry of such a kind."""
        event, kind = entry.event, type(entry.event)
        if kind is AgentExited:
            return [*self.rest(), entry]
        self._seen[kind] = self._seen.get(kind, 0) + 1
        if self._seen[kind] <= FLOODS[kind]:
            return [entry]
        self._last[kind] = entry
        self._bytes += event.bytes if isinstance(event, GarbageSeen) else 0
        return []

    def rest(self) -> list[Entry]:
        """One entry for all of a kind that was passed over, in the place of the last."""
        told = [
            Entry(last.seq, last.at, last.elapsed, self._summary(kind, self._seen[kind] - FLOODS[kind]))
            for kind, last in self._last.items()
        ]
        self._seen, self._last, self._bytes = {}, {}, 0
        return told

    def _summary(self, kind: type, more: int) -> Event:
        said = f"({more} more such lines; the journal leaves them out)"
        return GarbageSeen(said, self._bytes) if kind is GarbageSeen else ErrorPrinted(said)
