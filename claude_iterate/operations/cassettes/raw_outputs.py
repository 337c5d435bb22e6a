"""The file in `raw/` of a recorded call. A review's name has a random end, so its session tells which file it is."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import SessionOpened
from claude_iterate.operations.cassettes.recorded_calls import ITERATION, RecordedCall
from claude_iterate.views.full_texts import FullTexts, full_texts
from claude_iterate.workspace.layout import Layout

_MOST_LINES = 100
"""A session introduces itself in one of the first lines."""


def raw_output(layout: Layout, run: str, call: RecordedCall, taken: set[Path]) -> FullTexts:
    """What Claude printed in this call, or why it is not there. The file is `taken` then: each is of one call."""
    found = full_texts(layout, run, call.name if call.kind == ITERATION else _review(layout, run, call, taken))
    taken.add(found.path)
    return found


def _review(layout: Layout, run: str, call: RecordedCall, taken: set[Path]) -> str:
    """The name of a review's file: its session tells; one that opened none is the oldest that is left."""
    folder = Path(layout.raw(run, "")).parent
    found = [path for path in folder.glob(f"{call.name}-*.ndjson") if path not in taken]
    found.sort(key=lambda path: (path.stat().st_mtime_ns, path.name))
    by_session = [path for path in found if call.session and _session(path) == call.session]
    without = [path for path in found if not call.session and not _session(path)]
    return (by_session or without or [Path(call.name)])[0].name.removesuffix(".ndjson")


def _session(path: Path) -> str:
    translator = Translator()
    with path.open("rb") as file:
        for _number, line in zip(range(_MOST_LINES), file, strict=False):
            for event in translator.translate(line.rstrip(b"\n")):
                if isinstance(event, SessionOpened):
                    return event.session
    return ""
