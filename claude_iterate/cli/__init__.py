"""The command line: click lives here and only here."""

from __future__ import annotations

import sys
from typing import NoReturn

from claude_iterate.cli.boundary import main

__all__ = ["main", "program"]


def program() -> NoReturn:
    """The whole process."""
    sys.exit(main())
