"""A plugin for pytest that shows how far it is: one line that is rewritten, or where no terminal is a line every 10%.

`scripts/test` uses it. Failures are named as they happen; everything at the end is pytest's own.
"""

from __future__ import annotations

import time
from typing import Any

import pytest


class ProgressLine:
    """Counts the tests that are over, in the place of pytest's dots."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._began = time.monotonic()
        self._over = 0
        self._failed = 0
        self._shown = 0
        self._running = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """A category for pytest's summary, and no dot. The summary itself needs pytest's own words."""
        if not self._running:
            return None
        if report.when == "call" or not report.passed:
            return ("error" if report.failed and report.when != "call" else report.outcome), "", ""
        return None

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test is over when it was torn down; a failure is named at once."""
        if report.failed:
            self._failed += 1
            self._reporter.ensure_newline()
            self._reporter.write_line(f"FAILED {report.nodeid}", red=True)
        if report.when == "teardown":
            self._over += 1
            self._show()

    def pytest_sessionfinish(self) -> None:
        """The summary begins on a line of its own."""
        self._running = False
        self._reporter.ensure_newline()

    def _show(self) -> None:
        total = max(self._reporter._session.testscollected, self._over)
        percent = 100 * self._over // total
        took = int(time.monotonic() - self._began)
        failed = f", {self._failed} failed" if self._failed else ""
        line = f"{percent:3d}%  {self._over} of {total} tests{failed}  {took // 60}:{took % 60:02d}"
        if self._reporter.isatty:
            self._reporter.rewrite(line, erase=True)
        elif percent // 10 > self._shown:
            self._shown = percent // 10
            self._reporter.write_line(line)


@pytest.hookimpl(trylast=True)  # pytest makes its reporter first
def pytest_configure(config: pytest.Config) -> None:
    """Only in the process that reports, not in its workers."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ProgressLine(reporter), "progress-line")
