"""The fixture `receiver`: somebody who gets notifications."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.receiver import Receiver


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Receiver()
    yield made
    made.close()
