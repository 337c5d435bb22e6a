"""What is said about a bug in this program: a file with all that its developers need."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Sequence
from platform import platform, python_version  # the functions: a report needs no import when something is wrong

from claude_iterate import __version__

EXIT_CODE = 70


def text(bug: Exception, arguments: Sequence[str]) -> str:
    """The report."""
    trace = "".join(traceback.format_exception(bug))
    about = f"claude-iterate {__version__}, Python {python_version()}, {platform()}"
    return f"{about}\narguments: {list(arguments)!r}\n\n{trace}"


def write(report: str) -> str:
    """Write the report to a new file; its name, or empty when that is impossible."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="replace", prefix="claude-iterate-crash-", suffix=".txt", delete=False
        ) as file:
            file.write(report)
    except OSError:
        return ""
    return file.name


def told(bug: Exception, arguments: Sequence[str]) -> tuple[str, str]:
    """What happened, and what to do about it. The report is written."""
    said = f"This is a bug in claude-iterate: {type(bug).__name__}: {bug}"
    report = text(bug, arguments)
    path = write(report)
    if not path:
        return f"{report}\n{said}", "No crash report could be written; it is printed above."
    return said, f"A crash report is in {path} - please send it along with what you did."
