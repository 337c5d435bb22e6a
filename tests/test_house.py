"""The tree shows the architecture: unique names, small rooms, small files, small functions, a complete map."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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


def test_no_room_is_crowded() -> None:
    """A room with more files than can be read at a glance has sub-rooms."""
    files = {relative(room): [path.name for path in NAMED if path.parent == room] for room in ROOMS}
    assert {room: names for room, names in files.items() if room not in LARGE_ROOMS and len(names) > MOST_FILES} == {}


def test_files_and_functions_are_small() -> None:
    """A file is one thing, a function one step of it."""
    sources = {relative(path): path.read_text() for path in MODULES}
    assert [path for path, source in sources.items() if len(source.splitlines()) > MOST_LINES] == []
    lengths = [(path, *found) for path, source in sources.items() for found in functions(source)]
    assert [(path, name, length) for path, name, length in lengths if length > LONGEST_FUNCTION] == []


def test_the_map_names_every_room() -> None:
    """ARCHITECTURE.md has each room as `room/` and each sub-room as `room/sub_room/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {relative(room): rf"(?<![\w/])(claude_iterate/)?{re.escape(relative(room))}/" for room in ROOMS}
    assert [room for room, pattern in named.items() if not re.search(pattern, text)] == []


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
