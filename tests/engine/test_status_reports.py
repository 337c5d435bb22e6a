"""When the agent's report is read while it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.settings.declared import build
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.workspace.layout import Layout
from tests.engine.building import Nobody


@pytest.mark.setting("notification.status_watch.debounce_ms")
def test_a_report_is_read_when_it_was_quiet_for_as_long_as_is_set(tmp_path: Path) -> None:
    """Each change begins the quiet again, up to five times as long as is set."""
    recorder = Recorder(Nobody(), lambda entry, state: None, Redactor({}), [])
    settings = build({"notification.status_watch.debounce_ms": 700}).notification.status_watch
    reports = StatusReports(Layout(tmp_path, tmp_path), settings, recorder)
    reports.touched(10.0)
    assert reports.due == pytest.approx(10.7)
    reports.touched(10.5)
    assert reports.due == pytest.approx(11.2)
    reports.touched(13.4)
    assert reports.due == pytest.approx(13.5)
