"""Where the package under test lies: the checkout, or the place where its wheel is installed."""

from __future__ import annotations

from pathlib import Path

import claude_iterate

PACKAGES = Path(claude_iterate.__file__).parents[1]
