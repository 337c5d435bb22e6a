"""What Claude said and what its tools answered, whole: from `raw/`, where it is kept.

The journal shortens texts to a few hundred characters. `raw/` has every byte of a call, for the last runs only (setting
`keep_raw_runs`), and it is not redacted: every event from here goes through a redactor first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.agent.processes.child import CUT
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core import events
from claude_iterate.core.redact import Redactor
from claude_iterate.system import untrusted_files
from claude_iterate.workspace.layout import Layout

_WITH_TEXT = frozenset(
    {
        events.AssistantText,
        events.Thought,
        events.PromptSent,
        events.ToolCalled,
        events.ToolResult,
        events.ResultReported,
    }
)


class FullTexts(msgspec.Struct, frozen=True):
    """The raw output of one call. `missing` says in one sentence why there is none; empty when there is."""

    path: Path
    missing: str = ""

    def events(self, redactor: Redactor) -> Iterator[events.StreamEvent]:
        """What Claude printed, in order, without secrets; a line at a time, however long the call was."""
        if self.missing:
            return
        translator = Translator(redactor=redactor)
        cut = CUT.strip()
        with untrusted_files.open_file(self.path) as file:
            for line in file:
                if line.strip() != cut:
                    for event in translator.translate(line.rstrip(b"\n")):
                        yield redactor.clean_struct(event)


def full_texts(layout: Layout, run: str, call: str) -> FullTexts:
    """The raw output of a call, by its name in `raw/`."""
    path = Path(layout.raw(run, call))
    if untrusted_files.is_file(path):
        return FullTexts(path)
    if untrusted_files.is_folder(path.parent):
        return FullTexts(path, f"There is no raw output of the call {call} in run {run}.")
    kept = "The setting `keep_raw_runs` says for how many runs it is kept."
    return FullTexts(path, f"The raw output of run {run} is not kept any more, so long texts are shortened. {kept}")


def restore_texts(entries: Iterable[events.Entry], printed: Iterator[events.StreamEvent]) -> Iterator[events.Entry]:
    """The entries of one call with their texts whole: each event of the journal gets the one of its kind that Claude
    printed in its turn. Where the two do not fit, the journal's stays."""
    for entry in entries:
        event, kind = entry.event, type(entry.event)
        full = next((found for found in printed if type(found) is kind), None) if kind in _WITH_TEXT else None
        fits = full is not None and _is_same(event, full)
        yield events.Entry(entry.seq, entry.at, entry.elapsed, full) if full is not None and fits else entry


def _is_same(short: Any, full: Any) -> bool:
    """The journal's event is the beginning of the one that was printed."""
    if isinstance(short, events.ToolCalled | events.ToolResult):
        return bool(short.id == full.id)
    return bool(full.text.startswith(short.text) if short.cut else full.text == short.text)
