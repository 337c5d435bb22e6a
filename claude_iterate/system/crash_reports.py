"""What is said about a bug in this program: a file with all that its developers need."""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Sequence
from platform import platform, python_version  # the functions: a report needs no import when something is wrong

from claude_iterate import __version__
from claude_iterate.core.redact import Redactor

EXIT_CODE = 70


def write_crash_report(bug: Exception, arguments: Sequence[str]) -> tuple[str, str]:
    """The name of a new file with the report, empty when none can be written; and the report."""
    trace = "".join(traceback.format_exception(bug))
    about = f"claude-iterate {__version__}, Python {python_version()}, {platform()}"
    report = Redactor(os.environ).clean(f"{about}\narguments: {list(arguments)!r}\n\n{trace}")
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="replace", prefix="claude-iterate-crash-", suffix=".txt", delete=False
        ) as file:
            file.write(report)
    except OSError:
        return "", report
    return file.name, report


def report_crash(bug: Exception, arguments: Sequence[str]) -> tuple[str, str]:
    """Write a report: what to say about the crash, and where the report is."""
    said = f"This is a bug in claude-iterate: {type(bug).__name__}: {bug}"
    path, report = write_crash_report(bug, arguments)
    if not path:
        return f"{report}\n{said}", "No crash report could be written; it is printed above."
    return said, f"A crash report is in {path} - please send it along with what you did."
