"""The inbox: nothing that was said is overlooked."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import Entry, Requested, RunStarted
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.clock import SystemClock
from claude_iterate.engine.inbox import Inbox, Signalled
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusDesk
from claude_iterate.workspace.layout import Layout


class Nobody:
    """A journal and an audience that do nothing."""

    def append(self, entry: Entry) -> None: ...

    def write_out(self) -> None: ...

    def sync(self) -> None: ...

    def secure(self) -> str:
        return ""

    def tick(self, now: float) -> None: ...

    def flush(self) -> None: ...


def made(folder: Path) -> tuple[Inbox, Recorder]:
    nobody = Nobody()
    recorder = Recorder(SystemClock(), nobody, lambda entry, state: None, Redactor({}), [])
    desk = StatusDesk(Layout(folder, folder), Settings().notification.status_watch, recorder)
    recorder.record(RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",)))
    return Inbox(recorder, desk, nobody, 1.0), recorder


def test_a_signal_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """Whoever pressed Ctrl-C between two iterations does not want another one."""
    inbox, recorder = made(tmp_path)
    assert not inbox.catch_up()
    inbox.post(Signalled("SIGINT"))
    assert inbox.catch_up()
    assert recorder.state.stop is not None
    assert recorder.state.stop.now


def test_a_request_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """The letterbox is looked into, too, however short the time since the last look is."""
    inbox, recorder = made(tmp_path)
    inbox.every_look = lambda: inbox.steer(Requested("pause"))
    assert inbox.catch_up()
    assert recorder.state.paused
