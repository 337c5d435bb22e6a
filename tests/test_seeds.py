"""docs/reference/seeds.md: every behaviour of the seeds once, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (\d+) \| (\w+) \| (.+) \| (\w+) \| (.+) \|$",
    (ROOT / "docs" / "reference" / "seeds.md").read_text("utf-8"),
    re.MULTILINE,
)
MOST_DROPPED = 15


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_behaviour_is_there_once() -> None:
    """1 to 195, in order, each with a fate; few are dropped."""
    assert [int(number) for number, *_ in ROWS] == list(range(1, 196))
    assert {fate for _, _, _, fate, _ in ROWS} <= {"kept", "changed", "dropped", "later"}
    assert sum(fate == "dropped" for _, _, _, fate, _ in ROWS) <= MOST_DROPPED


def is_shown(fate: str, evidence: str) -> bool:
    """What is kept has a test; all else has a reason in words, and perhaps a test. Tests that are named exist."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", evidence)
    if not all(test in functions_of(file) for file, test in named):
        return False
    return bool(named) if fate == "kept" else len(re.sub(r"`tests/\S+`", "", evidence).split()) >= 1


def test_every_row_has_its_tests_or_its_reason() -> None:
    """No row of the page rests on a test that does not exist."""
    assert [number for number, *_, fate, evidence in ROWS if not is_shown(fate, evidence)] == []
