"""Waiting in the inbox ends with a message or with its time, whatever comes in between."""

from __future__ import annotations

import signal
import threading
import time

from claude_iterate.agent.processes.child import Printed
from claude_iterate.engine.mailbox import MOST_UNREAD, Inbox, Signalled, TaskDone


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
