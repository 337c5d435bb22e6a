"""`scripts/mutate` finds what tests overlook, and only that."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutants import mutants
from scripts.setting_runs import marked_settings
from tests.package_path import PACKAGES

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A small module."""


def is_adult(age: int) -> bool:
    """From 18 years on."""
    return age >= 18


def never_tested(age: int) -> bool:
    return age > 100
'''
WEAK = """from claude_iterate.core.rules.small import is_adult


def test_it():
    assert is_adult(40)
    assert not is_adult(3)
"""
STRONG = WEAK + "    assert is_adult(18)\n    assert not is_adult(17)\n    assert is_adult(18) is True\n"


def mutate(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.mutation", *arguments]
    environ = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=110, check=False)


def planted(folder: Path, test: str) -> list[str]:
    """What the run prints for a checkout with one small module and this test."""
    root, rules, tests = folder / "root", folder / "root/claude_iterate/core/rules", folder / "root/tests/core"
    for place in (rules, tests):
        place.mkdir(parents=True)
    for place in (rules, rules.parent, rules.parent.parent):
        (place / "__init__.py").touch()
    (rules / "small.py").write_text(SOURCE)
    (tests / "test_small.py").write_text(test)
    (folder / "temporary").mkdir()
    done = mutate("--root", str(root), "--all", folder=folder / "temporary")
    assert done.stderr == ""
    assert list((folder / "temporary").iterdir()) == []
    assert (rules / "small.py").read_text() == SOURCE
    return done.stdout.splitlines()


def test_a_weak_test_leaves_survivors_that_are_printed(tmp_path: Path) -> None:
    """With file, line and change; what no test runs is not changed."""
    *survivors, count = planted(tmp_path, WEAK)
    assert sorted(survivors) == [
        "survived: claude_iterate/core/rules/small.py:6: 18 -> (19)",
        "survived: claude_iterate/core/rules/small.py:6: age >= 18 -> (age > 18)",
    ]
    assert count.startswith("2 of 3 survived, 1 were caught")


def test_a_strong_test_leaves_none(tmp_path: Path) -> None:
    """Only the count is printed."""
    (count,) = planted(tmp_path, STRONG)
    assert count.startswith("0 of 3 survived, 3 were caught")


def test_tests_that_fail_anyway_prove_nothing(tmp_path: Path) -> None:
    """Then nothing is changed, and no change is called caught."""
    (tmp_path / "root/tests/core").mkdir(parents=True)
    (tmp_path / "root/tests/core/test_small.py").write_text("def test_it():\n    assert False\n")
    done = mutate("--root", str(tmp_path / "root"), folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "fail without any change" in done.stderr


@pytest.mark.skipif(PACKAGES != ROOT, reason="what is tested is an installed wheel; this changes the checkout")
def test_a_setting_without_effect_is_noticed(tmp_path: Path) -> None:
    """By the test that is marked for it."""
    done = mutate("--settings", "--only", "delay", folder=tmp_path)
    assert done.stdout.startswith("0 of 1 survived, 1 were caught"), done.stderr


def test_marks_are_found_wherever_they_stand(tmp_path: Path) -> None:
    """On a function with several keys, and on one row of a table."""
    (tmp_path / "test_a.py").write_text(
        '@pytest.mark.setting("a", "b.c")\ndef test_a(): ...\nROW = pytest.param(1, marks=pytest.mark.setting("d"))\n'
    )
    assert set(marked_settings(tmp_path)) == {"a", "b.c", "d"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"x = (a <= b)"}),
        ("x = a and not b", {"x = (a)", "x = (not b)"}),
        ("x = f(y, k=z)", {"x = (f(y))"}),
        ("x = min(a)", {"x = (max(a))"}),
        ("x: int = 'ä', 3", {"x: int = (('ä',))", "x: int = ((3,))", "x: int = 'ä', (4)"}),
        ("s.x = a", {"pass"}),
        ("x = f'{a < b}'", set()),
    ],
)
def test_the_changes(source: str, expected: set[str]) -> None:
    """Each can be parsed, and differs from the source in one place."""
    found = {mutant.applied(source.encode()).decode() for mutant in mutants("m", source)}
    assert found == expected
    for text in found:
        ast.parse(text)
