"""The fixture `receiver`: somebody who gets notifications."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claude_iterate.system import signals
from tests.receiver import Receiver


def pytest_configure() -> None:
    """Tests that run with `nohup` or in the background must not make the programs under test ignore signals."""
    signals.restore_signals_for_children()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Receiver()
    yield made
    made.close()
