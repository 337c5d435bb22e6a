"""Operations know the user by the protocol alone: no terminal and no click."""

from __future__ import annotations

import subprocess
import sys

from tests.package_path import PACKAGES


def test_operations_do_not_import_click() -> None:
    """Every module of the room can be imported without click but the one with uvicorn, which needs it."""
    modules = [
        ".".join(path.relative_to(PACKAGES).with_suffix("").parts)
        for path in (PACKAGES / "claude_iterate" / "operations").rglob("*.py")
        if path.name != "web_server.py"
    ]
    code = f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
    code += "assert 'click' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=PACKAGES, check=True)
