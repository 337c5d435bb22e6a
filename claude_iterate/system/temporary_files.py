"""Whether temporary files can be written, and if not, why: a limit of the shell, or no folder for them."""

from __future__ import annotations

import tempfile

from claude_iterate.errors import RAISE_FILE_LIMIT, ExpectedError

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]

_TOO_SMALL = 4096
"""Bytes; neither the lock file nor the journal fits."""


def refuse_if_impossible() -> None:
    """Raise an ExpectedError when no useful file can be written. It costs nothing after the first time."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0] if resource is not None else -1
    if 0 <= limit < _TOO_SMALL and limit != resource.RLIM_INFINITY:
        raise ExpectedError(f"No file may grow beyond {limit} bytes (the limit `ulimit -f`).", RAISE_FILE_LIMIT)
    try:
        tempfile.gettempdir()
    except OSError as error:
        raise ExpectedError(f"{error.strerror}.", "Free some space, or set TMPDIR to a folder you can write.") from None
