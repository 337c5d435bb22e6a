"""The fixture `receiver`: somebody who gets notifications."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from claude_iterate.system import signals
from tests.receiver import Receiver


def pytest_configure() -> None:
    """Whoever runs the tests with `nohup` or in the background must not make the programs under test deaf."""
    signals.restore_signals_for_children()
    # A busy machine is slow; a slow example is not a wrong one.
    hypothesis.settings.register_profile("suite", deadline=None)
    hypothesis.settings.load_profile("suite")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Receiver()
    yield made
    made.close()
