"""Before the engine waits, what was recorded is made safe from a loss of power."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import RunStarted
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.clock import SystemClock
from claude_iterate.engine.inbox import Inbox, Signalled
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusDesk
from claude_iterate.workspace.journal.writer import JournalWriter
from claude_iterate.workspace.layout import Layout


class Counting(JournalWriter):
    """A real journal that counts how often it is told to sync."""

    syncs = 0

    def sync(self) -> None:
        self.syncs += 1
        super().sync()


class Nobody:
    """An audience that does not care."""

    def tick(self, now: float) -> None: ...

    def flush(self) -> None: ...


def test_the_journal_is_synced_when_the_engine_is_about_to_wait(tmp_path: Path) -> None:
    """Not before: a sync while there is something to do would hold that up."""
    writer = Counting(tmp_path / "r" / "events.ndjson", lambda text: None)
    recorder = Recorder(SystemClock(), writer, lambda entry, state: None, Redactor({}), [])
    desk = StatusDesk(Layout(tmp_path, tmp_path), Settings().notification.status_watch, recorder)
    inbox = Inbox(recorder, desk, Nobody(), 1.0)
    recorder.record(RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",)))
    inbox.post(Signalled("SIGINT"))
    inbox.receive(0.0)
    assert (writer.syncs, recorder.state.stop is not None) == (0, True)
    inbox.receive(0.0)
    assert writer.syncs == 1
    writer.close()
