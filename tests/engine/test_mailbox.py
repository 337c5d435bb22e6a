"""Nothing that was said to a run is overlooked, and waiting ends with a message or with its time."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

from claude_iterate.agent.processes.child import Printed
from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Verb
from claude_iterate.engine.mailbox import MOST_UNREAD, Inbox, Signalled, TaskDone
from claude_iterate.workspace.journal_writer import JournalWriter
from tests.engine.building import made


def test_a_signal_that_outlasts_the_wait_does_not_make_it_endless() -> None:
    """As Ctrl-Z: the handler returns when the user continues us. The queue of Python 3.12 would wait for a message."""
    inbox = Inbox()
    late = threading.Timer(60, lambda: inbox.post(TaskDone()))
    late.start()
    before = signal.signal(signal.SIGALRM, lambda _number, _frame: time.sleep(0.4))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        assert inbox.take(0.2) is None
    finally:
        signal.signal(signal.SIGALRM, before)
        late.cancel()


def test_messages_come_in_order_whether_they_were_waited_for_or_not() -> None:
    """From threads and from signal handlers; without any, the wait has its time."""
    inbox = Inbox()
    before = signal.signal(signal.SIGALRM, lambda _number, _frame: inbox.post(Signalled("SIGALRM")))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert inbox.take(120) == Signalled("SIGALRM")
    finally:
        signal.signal(signal.SIGALRM, before)
    for number in range(3):
        inbox.post(Signalled(str(number)))
    assert [inbox.take(), inbox.take(120), inbox.take()] == [Signalled("0"), Signalled("1"), Signalled("2")]
    assert (inbox.take(), inbox.take(0.01)) == (None, None)
    threading.Timer(0.05, lambda: inbox.post(TaskDone())).start()
    assert isinstance(inbox.take(120), TaskDone)


def test_output_waits_until_there_is_room_and_nothing_else_does() -> None:
    """So a flood stays in the pipe; a signal handler never waits."""
    inbox, posted = Inbox(), threading.Semaphore(0)

    def flood() -> None:
        for number in range(MOST_UNREAD + 2):
            inbox.post(Printed(1, "stdout", number, ()))
            posted.release()

    threading.Thread(target=flood, daemon=True).start()
    for _ in range(MOST_UNREAD):
        assert posted.acquire(timeout=120)
    inbox.post(Signalled("SIGINT"))
    for number in range(2):
        assert not posted.acquire(blocking=False)
        assert inbox.take() == Printed(1, "stdout", number, ())
        assert posted.acquire(timeout=120)
    found = [inbox.take() for _ in range(MOST_UNREAD + 2)]
    assert found.count(Signalled("SIGINT")) == 1
    assert None not in found[: MOST_UNREAD + 1]


def test_a_signal_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """A user who pressed Ctrl-C between two iterations does not want another one."""
    dispatcher, recorder = made(tmp_path)
    assert not dispatcher.catch_up()
    dispatcher.inbox.post(Signalled("SIGINT"))
    assert dispatcher.catch_up()
    assert recorder.state.stop is not None
    assert recorder.state.stop.now


def test_a_request_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """Requests are looked for, too, however short the time since the last look is."""
    dispatcher, recorder = made(tmp_path, listen=lambda state: [] if state.paused else [Requested(Verb.PAUSE)])
    assert dispatcher.catch_up()
    assert recorder.state.paused


def test_what_came_does_not_wait_for_the_next_look(tmp_path: Path) -> None:
    """A message ends the waiting at once."""
    dispatcher, recorder = made(tmp_path)
    dispatcher.inbox.post(Signalled("SIGTERM"))
    assert dispatcher.receive(float("inf")) is None
    assert recorder.state.stop is not None


def test_chores_are_done_however_short_the_calls_are(tmp_path: Path) -> None:
    """A run of very short calls never waits, and only catches up between them; what is due is done there, too."""
    done: list[str] = []
    dispatcher, _ = made(tmp_path, chores=[lambda: done.append("chore")])
    dispatcher.catch_up()
    assert done == ["chore"]


class Counting(JournalWriter):
    """A real journal that counts how often it is told to sync."""

    syncs = 0

    def sync(self) -> None:
        self.syncs += 1
        super().sync()


def test_the_journal_is_synced_when_the_engine_is_about_to_wait(tmp_path: Path) -> None:
    """Not before: a sync while there is something to do would hold that up."""
    writer = Counting(tmp_path / "r" / "events.ndjson", lambda text: None)
    dispatcher, recorder = made(tmp_path, writer)
    dispatcher.inbox.post(Signalled("SIGINT"))
    dispatcher.receive(0.0)
    assert (writer.syncs, recorder.state.stop is not None) == (0, True)
    dispatcher.receive(0.0)
    assert writer.syncs == 1
    writer.close()
