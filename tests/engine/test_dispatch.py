"""Dispatching: nothing that was said is overlooked."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Verb
from claude_iterate.engine.mailbox import Signalled
from tests.engine.building import made


def test_a_signal_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """A user who pressed Ctrl-C between two iterations does not want another one."""
    inbox, dispatcher, recorder = made(tmp_path)
    assert not dispatcher.catch_up()
    inbox.post(Signalled("SIGINT"))
    assert dispatcher.catch_up()
    assert recorder.state.stop is not None
    assert recorder.state.stop.now


def test_a_request_that_came_is_heeded_before_the_next_step(tmp_path: Path) -> None:
    """Requests are looked for, too, however short the time since the last look is."""
    _, dispatcher, recorder = made(tmp_path, listen=lambda state: [] if state.paused else [Requested(Verb.PAUSE)])
    assert dispatcher.catch_up()
    assert recorder.state.paused


def test_what_came_does_not_wait_for_the_next_look(tmp_path: Path) -> None:
    """A message ends the waiting at once."""
    inbox, dispatcher, recorder = made(tmp_path)
    inbox.post(Signalled("SIGTERM"))
    assert dispatcher.receive(float("inf")) is None
    assert recorder.state.stop is not None


def test_chores_are_done_however_short_the_calls_are(tmp_path: Path) -> None:
    """A run of very short calls never waits, and only catches up between them; what is due is done there, too."""
    done: list[str] = []
    _, dispatcher, _ = made(tmp_path, chores=[lambda: done.append("chore")])
    dispatcher.catch_up()
    assert done == ["chore"]
