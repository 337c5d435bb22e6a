"""The fold of a whole batch. What Claude prints changes the call alone, and comes in floods: a state for each of its
entries would cost half of the fold."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from claude_iterate.core.events import Entry
from claude_iterate.core.state import call_state as calls
from claude_iterate.core.state.run_state import Batch, RunState
from claude_iterate.core.state.steps import PRINTED, reduce


def reduce_batch(state: RunState, entries: Iterable[Entry]) -> Batch:
    """Each entry with the state after it; each of a row that Claude printed with the state after the last of them."""
    batch: list[tuple[Entry, RunState]] = []
    for printed, row in groupby(entries, _is_printed):
        if printed:
            found = [*row]
            state = _printed(state, found)
            batch += [(entry, state) for entry in found]
        else:
            for entry in row:
                state = reduce(state, entry)
                batch.append((entry, state))
    return batch


def _is_printed(entry: Entry) -> bool:
    return type(entry.event) in PRINTED


def _printed(state: RunState, entries: list[Entry]) -> RunState:
    before = call = state.call
    if call is None:
        return state
    for entry in entries:
        call = calls.advance(call, entry)
    return state if call is before else state.with_call(call)
