"""The fixture `receiver`: a real receiver of notifications."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from claude_iterate.system import signals
from tests.recording_receiver import Receiver


def pytest_configure() -> None:
    """Under `nohup` or in the background, the programs under test must still receive signals."""
    signals.restore_signals_for_children()
    hypothesis.settings.register_profile("any machine", deadline=None)  # how long an example takes is not a property
    hypothesis.settings.load_profile("any machine")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Receiver()
    yield made
    made.close()
