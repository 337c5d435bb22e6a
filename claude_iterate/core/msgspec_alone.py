"""Imports msgspec without `typing_extensions`, which it would load for functions that `typing` has since Python 3.11.

Textual brings that module, and it costs a twentieth of the start of a run. msgspec does without it where
it is not installed, so it is hidden while msgspec is loaded.
"""

from __future__ import annotations

import sys
from typing import Any

_NAME = "typing_extensions"
_modules: dict[str, Any] = sys.modules

if _NAME not in _modules and "msgspec" not in _modules:
    _modules[_NAME] = None  # an import of it fails
    try:
        import msgspec  # noqa: F401
    finally:
        del _modules[_NAME]
