"""Where the evidence of the last verification of a workspace is."""

from __future__ import annotations

from collections.abc import Iterator

from claude_iterate.views.run_view import Recorded
from claude_iterate.views.story.proofs import EvidenceView
from claude_iterate.views.story.story import told
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import VERIFIED_BY, Metadata

_LOOKED_AT = 3
"""Journals that are searched when nothing says which run verified last."""


def of_run(layout: Layout, run: str) -> EvidenceView | None:
    """The last verification of a run; None when there was none."""
    return told(run, reader.milestones(layout.journal(run))).evidence.last


def newest(layout: Layout, about: Metadata, last: Recorded | None) -> EvidenceView | None:
    """The newest evidence: of the newest run, or of the run that the metadata names. The number of runs does not
    matter: it costs the same after a thousand. A dry run is no evidence."""
    found = _real(last.story.evidence.last) if last is not None else None
    candidates = iter(()) if found is not None or last is None else _candidates(layout, about)
    return found or next((proof for run in candidates if (proof := _real(of_run(layout, run))) is not None), None)


def _real(found: EvidenceView | None) -> EvidenceView | None:
    return found if found is not None and not found.dry_run else None


def _candidates(layout: Layout, about: Metadata) -> Iterator[str]:
    """Runs that may have verified, newest first. Workspaces of older versions do not say which one did, only whether
    one did; then all of them are candidates."""
    runs = layout.run_ids()[-2::-1]
    noted = about.document.get("verification")
    noted = noted if isinstance(noted, dict) else {}
    named = noted.get(VERIFIED_BY)
    started = reader.beginning(layout.journal(named)) if named in runs else None
    if started is not None and started.dry_run:  # noted by an earlier version
        yield from runs[:_LOOKED_AT]
    elif named in runs:
        # A run that goes on with a killed one may have taken over its proof: then the evidence is there.
        yield from runs[runs.index(named) :][:_LOOKED_AT]
    elif named is None and noted.get("lastVerificationStatus"):
        yield from runs
    else:
        yield from runs[:_LOOKED_AT]
