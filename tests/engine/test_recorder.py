"""What the recorder writes: everything once, in order, without secrets, and out of our memory when it returns."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import Entry, Said, Warned
from claude_iterate.core.secrets.patterns import MASK
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.state.run_state import Batch
from claude_iterate.engine.recorder import Recorder
from claude_iterate.workspace.journal.writer import JournalWriter

SECRET = "hunter22-and-more"


def test_what_a_sink_complains_of_is_redacted_and_written_out(tmp_path: Path) -> None:
    """A complaint may hold a secret as any other text may; it is in the file when `record` returns."""
    path = tmp_path / "r" / "events.ndjson"
    troubles: list[Warned] = []
    shown: list[Entry] = []

    def show(batch: Batch) -> None:
        shown.extend(entry for entry, _ in batch)
        if isinstance(shown[-1].event, Said):
            troubles.append(Warned(f"The sink fails: {SECRET}"))

    writer = JournalWriter(path, lambda text: None)
    recorder = Recorder(writer, show, Redactor({"MY_TOKEN": SECRET}), troubles)
    recorder.record(Said("hello"))
    written = path.read_text()
    assert [entry.event for entry in shown] == [Said("hello"), Warned(f"The sink fails: {MASK}")]
    assert (SECRET in written, written.count("\n"), troubles) == (False, 2, [])
    writer.close()
