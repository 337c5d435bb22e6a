"""The fixture `receiver`: a real receiver of notifications; what is skipped where a program is missing."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator

import hypothesis
import pytest

from claude_iterate.system import signals
from tests import chromium
from tests.recording_receiver import Receiver


def pytest_configure() -> None:
    """Under `nohup` or in the background, the programs under test must still receive signals."""
    signals.restore_signals_for_children()
    # How long an example takes is not a property.
    too_slow = hypothesis.HealthCheck.too_slow
    hypothesis.settings.register_profile("any machine", deadline=None, suppress_health_check=[too_slow])
    hypothesis.settings.load_profile("any machine")
    gc.disable()  # what is collected stays to the end: looking through it again and again takes a third of the time


def pytest_collection_finish() -> None:
    """Garbage is collected from here on, and the tests themselves are not looked at."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """The tests that start processes wait half of the time, so there are two for each processor, and two more: with
    four workers on two processors, one processor in five was idle."""
    return 2 * (os.cpu_count() or 1) + 2


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Here and not in a fixture, so that all that is skipped is one line of the summary."""
    if item.get_closest_marker("needs_git") and shutil.which("git") is None:
        pytest.skip("there is no git: install it (on Debian and Ubuntu: apt install git)")
    if item.get_closest_marker("needs_chromium") and chromium.Browser.found() is None:
        pytest.skip(chromium.MISSING)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Receiver()
    yield made
    made.close()
