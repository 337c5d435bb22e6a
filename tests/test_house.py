"""The tree shows the architecture: unique names, small rooms, small files, small functions, a complete map."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "claude_iterate"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMED = [path for path in MODULES if path.stem not in {"__init__", "__main__"}]
ROOMS = sorted({path.parent for path in MODULES} - {PACKAGE})
MOST_FILES = 16
MOST_LINES = 300
LONGEST_FUNCTION = 40
LARGE_ROOMS = {"cli/commands": "one file per command, named after it"}


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def functions(source: str) -> Iterator[tuple[str, int]]:
    """The name and the number of lines of every function, decorators excluded."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_every_module_name_is_unique() -> None:
    """A name in a message, a test or a conversation means one file."""
    counted = Counter(path.stem for path in NAMED)
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("room", ROOMS, ids=relative)
def test_no_room_is_crowded(room: Path) -> None:
    """A room with more files than can be read at a glance has sub-rooms."""
    if relative(room) in LARGE_ROOMS:
        return
    files = [path.name for path in NAMED if path.parent == room]
    assert len(files) <= MOST_FILES, files


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_files_and_functions_are_small(path: Path) -> None:
    """A file is one thing, a function one step of it."""
    source = path.read_text()
    assert len(source.splitlines()) <= MOST_LINES
    assert [(name, length) for name, length in functions(source) if length > LONGEST_FUNCTION] == []


@pytest.mark.parametrize("room", ROOMS, ids=relative)
def test_the_map_names_every_room(room: Path) -> None:
    """ARCHITECTURE.md has each room as `room/` and each sub-room as `room/sub_room/`."""
    named = rf"(?<![\w/])(claude_iterate/)?{re.escape(relative(room))}/"
    assert re.search(named, (ROOT / "ARCHITECTURE.md").read_text()), f"{relative(room)}/ is missing"


def test_large_rooms_exist() -> None:
    """An exception that is not needed any more is removed."""
    assert [name for name in LARGE_ROOMS if len(list((PACKAGE / name).glob("*.py"))) <= MOST_FILES] == []


def test_every_test_says_what_it_tests() -> None:
    """Each test function has a docstring that states its property."""
    silent = [
        f"{path.name}::{node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
