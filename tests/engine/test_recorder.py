"""What the recorder writes: everything once, in order, without secrets, and out of our memory when it returns."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import AssistantText, Entry, Event, IterationStarted, Warned
from claude_iterate.core.redact import MASK, Redactor
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.recorder import Recorder
from claude_iterate.sinks.console import Console
from claude_iterate.sinks.fanout import Fanout
from claude_iterate.sinks.text_log import TextLog
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_writer import JournalWriter
from tests.engine.building import Listener

SECRET = "hunter22-and-more"


def test_what_a_sink_complains_of_is_redacted_and_written_out(tmp_path: Path) -> None:
    """A complaint may hold a secret as any other text may; it is in the file when `record` returns."""
    path = tmp_path / "r" / "events.ndjson"
    troubles: list[Warned] = []

    class Complaining(Listener):
        def __call__(self, entry: Entry, state: RunState) -> None:
            super().__call__(entry, state)
            if isinstance(entry.event, AssistantText):
                troubles.append(Warned(f"The sink fails: {SECRET}"))

    listener = Complaining()
    writer = JournalWriter(path, lambda text: None)
    recorder = Recorder(writer, listener, Redactor({"MY_TOKEN": SECRET}), troubles)
    recorder.record(AssistantText("hello"))
    written = path.read_text()
    assert listener.events == [AssistantText("hello"), Warned(f"The sink fails: {MASK}")]
    assert (SECRET in written, written.count("\n"), troubles) == (False, 2, [])
    writer.close()


RECORDINGS = Path(__file__).parents[1] / "fixtures" / "claude-2.1.197"


@cache
def recorded() -> list[Event]:
    """What Claude printed in a session with many tools, and a secret in between."""
    lines = (RECORDINGS / "a4-all-tools.ndjson").read_bytes().splitlines()
    translator = Translator()
    events: list[Event] = [event for line in lines for event in translator.translate(line)]
    return [*events[:20], AssistantText(f"It is {SECRET}."), *events[20:]]


def kept(batches: list[list[Event]]) -> tuple[list[tuple[int, Event]], str, str, RunState]:
    """The journal without its times, the log, the console, and the state at the end."""
    with tempfile.TemporaryDirectory() as name:
        folder, err = Path(name), io.StringIO()
        writer = JournalWriter(folder / "r" / "events.ndjson", pytest.fail)
        fanout = Fanout(
            [TextLog(folder / "log", pytest.fail), Console(io.StringIO(), err, "verbose")],
            lambda name, _: pytest.fail(name),
        )
        recorder = Recorder(writer, fanout, Redactor({"MY_TOKEN": SECRET}), [])
        recorder.record(IterationStarted(1))
        for batch in batches:
            recorder.record_printed(batch)
        fanout.close()
        writer.close()
        entries = [(entry.seq, entry.event) for entry in journal_reader.read(folder / "r" / "events.ndjson")]
        log = (folder / "log").read_text().partition("CLAUDE OUTPUT:")[2]
        call = recorder.state.call
        assert call is not None
        timeless = replace(call, started=0.0, result_at=None, open_tools=())
        return entries, log, err.getvalue(), RunState(call=timeless)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 60), max_size=8))
def test_batches_of_any_size_leave_the_same(cuts: list[int]) -> None:
    """Journal, log, console and state do not depend on which lines came together."""
    events = recorded()
    places = sorted({0, len(events), *(cut % len(events) for cut in cuts)})
    batches = [events[begin:end] for begin, end in pairwise(places)]
    assert kept([[], *batches]) == kept([[event] for event in events])
