"""When a report that may have changed is looked at."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.workspace.layout import Layout
from tests.engine.building import Nobody

QUIET = Settings().notification.status_watch.debounce_ms / 1000


@pytest.fixture
def reports(tmp_path: Path) -> StatusReports:
    recorder = Recorder(Nobody(), lambda entry, state: None, Redactor({}), [])
    return StatusReports(Layout(tmp_path, tmp_path), Settings().notification.status_watch, recorder)


def test_only_a_change_restarts_the_wait_for_quiet(tmp_path: Path, reports: StatusReports) -> None:
    """To hear of the same change again does not put it off; a new one does."""
    status = tmp_path / ".status.json"
    status.write_text("{}")
    reports.touched(100.0)
    due = reports.due
    reports.touched(101.0)
    assert reports.due == due
    before = status.stat().st_ctime
    while status.stat().st_ctime == before:  # the clock of the file system is coarse
        status.write_text("{}")
    reports.touched(102.0)
    assert reports.due > due


def test_a_change_that_is_noticed_late_is_not_told_late(tmp_path: Path, reports: StatusReports) -> None:
    """The quiet counts from the change: what was written at some time before has been quiet since."""
    status = tmp_path / ".status.json"
    status.write_text("{}")
    while (age := time.time() - status.stat().st_ctime) <= 0:
        pass
    reports.touched(100.0)
    assert 100.0 <= reports.due <= 100.0 + max(0.0, QUIET - age)


def test_no_report_is_no_change(reports: StatusReports) -> None:
    """Nothing is due while there is nothing to look at."""
    reports.touched(100.0)
    assert reports.due == float("inf")
