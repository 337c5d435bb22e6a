"""What is known of a call of Claude when it is over."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events import CutStarted, LimitReported, ResultReported
from claude_iterate.core.outcomes.reset_times import Zones, utc_only

FOR_ONE_RUN = "Or for one run: "
"""Begins the line of advice on a denial that changes no setting."""


class Granted(msgspec.Struct, frozen=True):
    """What Claude was allowed to do. `roots` are the names of the project's folder; `program` is what stands before a
    command of ours, for a shell."""

    workspace: str = "NAME"
    mode: str = ""
    tools: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    program: str = "claude-iterate"


class Evidence(msgspec.Struct, frozen=True):
    """What is known of a call when it is over. `error_sort` is Claude Code's word for the error that it said last;
    `wrote_status`: the agent wrote a valid report in it; `began`: Claude
    opened a session, so it had started well; `retrying`: the last thing it said was that it tries the API again."""

    result: ResultReported | None = None
    exit_code: int = 0
    cut: CutStarted | None = None
    rejected: LimitReported | None = None
    error_said: str = ""
    error_sort: str = ""
    stderr: str = ""
    wrote_status: bool = False
    now: float = 0.0
    zones: Zones = utc_only
    patterns: tuple[str, ...] = ()
    resumed: bool = False
    began: bool = False
    retrying: bool = False
    granted: Granted = Granted()

    @property
    def words(self) -> str:
        """Claude's own words about what went wrong, from its error channels only. Once it works, what comes on stderr
        may be a hook's or a server's word, and proves nothing."""
        return self._said or ("" if self.began else self.stderr.strip())

    @property
    def heard(self) -> str:
        """All that a user may want to read about a failure."""
        return self._said or self.stderr.strip()

    @property
    def _said(self) -> str:
        if self.result is not None and self.result.malformed:
            return "Claude printed a malformed result: its `is_error` is neither true nor false"
        if self.result is not None and self.result.is_error:
            said = self.result.text or "; ".join(self.result.errors)
            if said:
                return said
        return self.error_said

    @property
    def signs(self) -> frozenset[str]:
        """Claude Code's own words for the sort of the failure."""
        told = self.result.signs if self.result is not None else ()
        return frozenset({*told, self.error_sort})

    @property
    def status(self) -> int | None:
        """The HTTP status Claude reported, if any."""
        return self.result.api_error_status if self.result else None

    @property
    def failed(self) -> bool:
        """True when Claude itself says that it failed, or said nothing at all."""
        return self.result is None or self.result.is_error
