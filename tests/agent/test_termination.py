"""Claude is ended step by step: each signal has its time to work before the next, stronger one is sent."""

from __future__ import annotations

import signal

from claude_iterate.agent.processes.child import AFTER_INTERRUPT, AFTER_KILL, Ladder


class Target:
    """A process that survives everything."""

    def __init__(self) -> None:
        self.received: list[tuple[int, bool]] = []

    def signal(self, number: int, group: bool = False) -> None:
        self.received.append((number, group))


def test_signals_come_in_their_order_and_each_at_its_time() -> None:
    """SIGINT to Claude alone, SIGTERM and SIGKILL to its group; nothing before it is due."""
    target = Target()
    ladder = Ladder(target, now=100.0, terminate_grace=7.0)
    moments = [100.0, 100.0 + AFTER_INTERRUPT, 107.0 + AFTER_INTERRUPT]
    for count, moment in enumerate(moments, 1):
        assert ladder.due == moment
        ladder.climb(moment - 0.1)
        assert len(target.received) == count - 1
        ladder.climb(moment)
    assert target.received == [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGKILL, True)]


def test_the_last_signal_is_repeated() -> None:
    """A process that waits for a device dies of it later."""
    target = Target()
    ladder = Ladder(target, now=0.0, terminate_grace=1.0)
    for _ in range(5):
        ladder.climb(ladder.due)
    assert [number for number, _ in target.received[2:]] == [signal.SIGKILL] * 3
    assert ladder.due == AFTER_INTERRUPT + 1.0 + 3 * AFTER_KILL
