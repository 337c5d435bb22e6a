"""Before the engine waits, what was recorded is made safe from a loss of power."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.engine.mailbox import Signalled
from claude_iterate.workspace.journal.writer import JournalWriter
from tests.engine.building import made


class Counting(JournalWriter):
    """A real journal that counts how often it is told to sync."""

    syncs = 0

    def sync(self) -> None:
        self.syncs += 1
        super().sync()


def test_the_journal_is_synced_when_the_engine_is_about_to_wait(tmp_path: Path) -> None:
    """Not before: a sync while there is something to do would hold that up."""
    writer = Counting(tmp_path / "r" / "events.ndjson", lambda text: None)
    inbox, dispatcher, recorder = made(tmp_path, writer)
    inbox.post(Signalled("SIGINT"))
    dispatcher.receive(0.0)
    assert (writer.syncs, recorder.state.stop is not None) == (0, True)
    dispatcher.receive(0.0)
    assert writer.syncs == 1
    writer.close()
