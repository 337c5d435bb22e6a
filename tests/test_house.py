"""The tree shows the architecture: a complete map, tests that say what they test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "claude_iterate"
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted({path.parent for path in MODULES} - {PACKAGE})


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_the_map_names_every_room() -> None:
    """ARCHITECTURE.md has each room as `room/` and each sub-room as `room/sub_room/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {relative(room): rf"(?<![\w/])(claude_iterate/)?{re.escape(relative(room))}/" for room in ROOMS}
    assert [room for room, pattern in named.items() if not re.search(pattern, text)] == []


def test_every_test_says_what_it_tests() -> None:
    """Each test function has a docstring that states its property."""
    silent = [
        f"{path.name}::{node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
