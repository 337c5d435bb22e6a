"""The notifier: posts what is wanted, in order, once; a run never waits for it; closing is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.events import (
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    StatusChanged,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.settings.declared import Settings, build
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notifier import CAPACITY, Notifier, is_wanted
from tests.recording_receiver import Received, Receiver
from tests.sinks.conftest import entry, started

OK = Outcome(Kind.OK)
DONE = Status(complete=True, summary="all done")
GOING = Status(complete=False, completed=1, total=2)


class Run:
    """A run as the notifier sees it."""

    def __init__(self) -> None:
        self._state = RunState()
        self.warnings: list[str] = []
        self.notifier = Notifier(Settings(), {}, self.warnings.append)

    def begin(self, receiver: Receiver | str, environ: dict[str, str] | None = None, **settings: Any) -> None:
        url = receiver if isinstance(receiver, str) else receiver.url
        values: dict[str, Any] = {"notify.url": url, "notify.format": "json", "notify.events": ("all",)}
        values |= {name.replace("__", "."): value for name, value in settings.items()}
        self.notifier = Notifier(build(values), environ or {}, self.warnings.append)
        self.add(started())

    def add(self, event: Any, elapsed: float = 0.0) -> None:
        happened = entry(event, elapsed)
        self._state = reduce(self._state, happened)
        self.notifier(happened, self._state)

    def iterate(self, number: int, status: Status | None = None, elapsed: float = 0.0) -> None:
        self.add(IterationStarted(number), elapsed)
        self.add(IterationFinished(number, OK, status), elapsed)


@pytest.fixture
def run() -> Run:
    return Run()


def events(received: list[Received]) -> list[str]:
    return [item.event for item in received]


def test_a_run_in_order(run: Run, receiver: Receiver) -> None:
    """Start, each iteration with its news, the one that completes the task too, end."""
    run.begin(receiver)
    run.iterate(1, GOING)
    run.add(IterationStarted(2))
    run.add(StatusChanged(DONE, Change()))
    run.add(IterationFinished(2, OK, DONE))
    run.add(RunFinished("completed", iterations=2))
    run.notifier.close()
    assert events(receiver.received) == ["execution_start", "iteration", "status_update", "iteration", "completion"]
    assert [item.document["iteration"] for item in receiver.received] == [0, 1, 2, 2, 2]
    assert "Status: Reported complete" in receiver.received[3].document["message"]
    assert run.warnings == []


@pytest.mark.setting("notify.events", "verification.notify_on_verification")
def test_only_what_is_wanted(run: Run, receiver: Receiver) -> None:
    """`notify.events` decides, and for verifications a setting of their own."""
    run.begin(receiver, notify__events=("completion",))
    run.iterate(1)
    run.iterate(2)
    run.add(RunFinished("completed"))
    run.notifier.close()
    assert events(receiver.received) == ["completion"]
    silent = build({"notify.url": "http://h/", "verification.notify_on_verification": False})
    assert not is_wanted("verification", silent)
    assert is_wanted("error", silent)
    assert not is_wanted("error", Settings())
    assert not is_wanted("error", build({"notify.url": ""}))


def test_secrets_are_masked(run: Run, receiver: Receiver) -> None:
    """Of the environment, of known shapes, and those of the notifications themselves."""
    run.begin(
        receiver,
        {"MY_TOKEN": "hunter2hunter2"},
        notify__headers={"X-Login": "abcdefgh1"},
        notify__secret="signing-secret",
    )
    said = f"hunter2hunter2 sk-ant-{'x' * 20} abcdefgh1 signing-secret"
    run.add(RunFinished("agent_failed", said))
    run.notifier.close()
    text = receiver.received[-1].text
    assert [word for word in said.split() if word in text] == []
    assert text.count("[redacted]") == 2 * 4  # in the message, and in the cause for programs


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a run waits until all has arrived, however busy the machine is."""
    monkeypatch.setattr("claude_iterate.sinks.notifier.IN_ORDER", 60.0)


@pytest.fixture
def hurry(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a run waits for less time, so that the tests do."""
    monkeypatch.setattr("claude_iterate.sinks.notifier.IN_ORDER", 0.2)
    monkeypatch.setattr("claude_iterate.sinks.notifier.LAST", 0.5)


@pytest.mark.usefixtures("hurry")
def test_a_slow_receiver_costs_nothing_and_gets_the_last_word(run: Run, receiver: Receiver) -> None:
    """While the first notice is unanswered, the run goes on, and at the end the last one passes all others."""
    receiver.open.clear()
    run.begin(receiver)
    receiver.wait(lambda got: len(got) == 1)
    for number in range(1, 40):
        run.iterate(number)
    run.add(RunFinished("completed"))
    run.notifier.close()
    assert events(receiver.wait(lambda got: len(got) == 2)) == ["execution_start", "completion"]
    assert run.warnings == ["127.0.0.1 is slow: notifications left out: 42."]
    settle(run, receiver)


@pytest.mark.usefixtures("hurry")
def test_what_waits_is_bounded(run: Run, receiver: Receiver) -> None:
    """However many notices come: the oldest are left out and counted, and the last word arrives."""
    receiver.open.clear()
    run.begin(receiver)
    receiver.wait(lambda got: len(got) == 1)
    for _ in range(2 * CAPACITY):
        run.add(StatusChanged(GOING, Change(items=1)))
    run.add(RunFinished("blocked", "a key"))
    run.notifier.close()
    assert events(receiver.wait(lambda got: len(got) == 2)) == ["execution_start", "blocked"]
    assert run.warnings == [f"127.0.0.1 is slow: notifications left out: {2 * CAPACITY}."]
    settle(run, receiver)


def settle(run: Run, receiver: Receiver) -> None:
    """Let the thread end before the test does."""
    receiver.open.set()
    worker = run.notifier._worker
    assert worker is not None
    worker.join(120)
    assert not worker.is_alive()


@pytest.mark.usefixtures("hurry")
def test_the_end_of_a_run_does_not_wait_for_an_answer(run: Run, receiver: Receiver) -> None:
    """The last word is handed over; a receiver that never answers does not keep the run."""
    receiver.open.clear()
    run.begin(receiver, notify__events=("completion",))
    run.add(RunFinished("completed"))
    run.notifier.close()
    assert len(receiver.wait(lambda got: got)) == 1
    assert run.warnings == []
    settle(run, receiver)


@pytest.mark.usefixtures("hurry")
def test_a_long_retry_after_does_not_hold_up_the_last_word(run: Run, receiver: Receiver) -> None:
    """It is sent past the one that has to wait."""
    receiver.answers = [(429, {"Retry-After": "30"})]
    run.begin(receiver)
    receiver.wait(lambda got: len(got) == 1)
    run.add(RunFinished("completed"))
    run.notifier.close()
    assert events(receiver.wait(lambda got: len(got) == 2)) == ["execution_start", "completion"]
    settle(run, receiver)


def test_nothing_to_tell_nothing_started(run: Run, receiver: Receiver) -> None:
    """Without a wanted event there is no thread."""
    run.begin(receiver, notify__events=())
    run.add(RunFinished("completed"))
    run.notifier.flush()
    run.notifier.close()
    assert (receiver.received, run.notifier._worker) == ([], None)
