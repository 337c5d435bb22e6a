"""What the lock and the journals of a workspace say, each read once."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from claude_iterate.core.events import RunStarted
from claude_iterate.views.story.proofs import EvidenceView
from claude_iterate.views.story.story import Story, read_story
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.run_folder import run_lock

_LOOKED_AT = 3
"""Journals in which the evidence of the last verification may be."""


class RunRecords:
    """The lock and the journals of a workspace. Each is read when it is asked for, and once."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._stories: dict[str, Story] = {}

    @cached_property
    def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return self.layout.run_ids()

    @cached_property
    def holder(self) -> dict[str, Any] | None:
        """Who runs this workspace now."""
        return run_lock.holder(self.layout.lock)

    def is_under_way(self, run: str) -> bool:
        """The run holds the lock. One that has just taken it has not written its name yet."""
        return self.holder is not None and self.holder.get("run", run) == run

    def story(self, run: str) -> Story:
        """The story of one run. One whose journal has lost its beginning has not `started`."""
        if run not in self._stories:
            self._stories[run] = read_story(self.layout, run)
        return self._stories[run]

    def newest(self, purposes: Collection[str] = ()) -> Story | None:
        """The newest run that has begun; of these purposes, if any are named: then without dry runs."""
        for run in reversed(self.runs):
            started = self._beginning(run) if purposes else self.story(run).started
            if started is not None and (not purposes or (started.purpose in purposes and not started.dry_run)):
                return self.story(run)
        return None

    def evidence(self, about: Metadata) -> EvidenceView | None:
        """The newest evidence: of the newest run, or of the run that the metadata names. The number of runs does not
        matter: it costs the same after a thousand. A dry run is no evidence."""
        newest = self.newest()
        runs = [newest.run] if newest is not None else []
        if about.verified_by in self.runs:
            # A run that goes on with a killed one may have taken over its proof: then the evidence is there.
            at = self.runs.index(about.verified_by)
            runs += reversed(self.runs[max(0, at + 1 - _LOOKED_AT) : at + 1])
        proofs = (self.story(run).evidence.last for run in runs)
        return next((proof for proof in proofs if proof is not None and not proof.dry_run), None)

    def _beginning(self, run: str) -> RunStarted | None:
        return self._stories[run].started if run in self._stories else reader.beginning(self.layout.journal(run))
