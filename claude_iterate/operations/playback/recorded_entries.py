"""The entries of a recorded run as a viewer wants them: with their full texts, and with a word where one is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from claude_iterate.core import events
from claude_iterate.core.formats import counted, listed
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.operations.cassettes.raw_outputs import raw_output
from claude_iterate.operations.cassettes.recorded_calls import RecordedCalls
from claude_iterate.views.full_texts import FullTexts, restored
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout

_NAMED = 5
"""Calls that are named where their raw output is missing."""


def entries(path: Path) -> Iterator[events.Entry]:
    """All entries of a journal. In the place of a line that cannot be read stands a warning; the last line may be torn
    by a kill, which is told by the missing end of the run."""
    damaged, added, last = [], 0, events.Entry(0, 0.0, 0.0, events.Warned(""))
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            entry = _entry(line)
            if entry is None:
                damaged += [number] if line.endswith(b"\n") else []
                continue
            if damaged:
                added += 1
                yield events.Entry(last.seq + added, last.at or entry.at, last.elapsed, _lost(damaged))
                damaged = []
            last = entry
            # Warnings that stand in for others are numbered like entries: no number comes twice.
            yield events.Entry(entry.seq + added, entry.at, entry.elapsed, entry.event) if added else entry
    if damaged:
        yield events.Entry(last.seq + added + 1, last.at, last.elapsed, _lost(damaged))


def _entry(line: bytes) -> events.Entry | None:
    try:
        return reader.as_entry(msgspec.json.decode(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _lost(numbers: list[int]) -> events.Warned:
    where = f"Line {numbers[0]}" if len(numbers) == 1 else f"Lines {numbers[0]} to {numbers[-1]}"
    return events.Warned(f"{where} of the journal cannot be read: something is missing here.")


class Range(msgspec.Struct, frozen=True):
    """The entries of one iteration, by their numbers."""

    first: int
    last: int


def iteration_range(found: Iterable[events.Entry], number: int) -> Range | None:
    """From the beginning of an iteration, all its attempts, to the next one or to the end of the run."""
    first = last = 0
    for entry in found:
        event = entry.event
        if isinstance(event, events.IterationStarted) and event.number == number and not first:
            first = entry.seq
        elif first and _ends_iteration(event, number):
            break
        last = entry.seq
    return Range(first, last) if first else None


def _ends_iteration(event: events.Event, number: int) -> bool:
    another = isinstance(event, events.IterationStarted) and event.number != number
    return another or isinstance(event, events.RunFinished)


class RawOutputs:
    """The raw output of each call of a run, in their order. `missing` says in one sentence what is not there."""

    def __init__(self, layout: Layout, run: str) -> None:
        calls, taken = RecordedCalls(), set[Path]()
        for entry in reader.milestones(layout.journal(run)):
            calls.take(entry)
        self.outputs = [raw_output(layout, run, call, taken) for call in calls.calls]
        lost = [call.name for call, found in zip(calls.calls, self.outputs, strict=True) if found.missing]
        self.missing = _missing(lost, self.outputs)

    def restored(self, found: Iterable[events.Entry], redactor: Callable[[], Redactor]) -> Iterator[events.Entry]:
        """The entries with their texts whole, as far as the raw output is there."""
        left = iter(self.outputs)
        printed: Iterator[events.StreamEvent] = iter(())
        cleaner = redactor() if any(not one.missing for one in self.outputs) else None
        for entry in found:
            if isinstance(entry.event, events.AgentStarted):
                output = next(left, None)
                printed = output.events(cleaner) if output is not None and cleaner is not None else iter(())
            yield from restored([entry], printed)


def _missing(lost: list[str], outputs: list[FullTexts]) -> str:
    if not lost:
        return ""
    if len(lost) == len(outputs):
        return next(found.missing for found in outputs if found.missing)
    named = listed(lost[:_NAMED]) + (f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else "")
    return f"The raw output of {counted(len(lost), 'call')} is missing ({named}), so long texts are shortened there."
