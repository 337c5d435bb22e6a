"""Takes the effect from one setting at a time: a test that is marked for it has to fail.

`@pytest.mark.setting("limits.on_reserve")` says that a test fails when this setting always has its default.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.mutant_runs import Edit, Job

TABLE = "claude_iterate/core/settings/catalogue.py"
_TAKEN = "values.get(key, value)"
_PATIENCE = 600.0


def marked_settings(tests: Path) -> dict[str, set[Path]]:
    """The settings that tests are marked for, and the files of these tests."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in tests.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.setting":
                for key in node.args:
                    found[str(ast.literal_eval(key))].add(path)
    return found


def declared_settings(root: Path) -> list[str]:
    """The keys of the catalogue. Asked in another process, because children of ours import the changed code."""
    code = "from claude_iterate.core.settings.catalogue import catalogue; print(*catalogue())"
    environ = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.check_output([sys.executable, "-c", code], env=environ, text=True).split()


def setting_jobs(root: Path, only: list[str] | None) -> list[Job]:
    """One job for each setting, whose value is then always the default; before them one that changes nothing."""
    source, marked = (root / TABLE).read_text(), marked_settings(root / "tests")
    if source.count(_TAKEN) != 1:
        raise SystemExit(f"Error: `{_TAKEN}` is not in {TABLE} any more.\n  Change scripts/setting_runs.py.")
    keys = only or declared_settings(root)

    def job(name: str, text: str, keys: list[str], control: bool = False) -> Job:
        files = sorted({str(path.relative_to(root)) for key in keys for path in marked.get(key, ())})
        return Job(name, Edit(TABLE, text.encode()), tuple(files), _marked_for(keys), _PATIENCE, control)

    def fixed(key: str) -> str:
        return source.replace(_TAKEN, f"(value if key == {key!r} else {_TAKEN})")

    known = [key for key in keys if key in marked]
    return [job("no change", source, known, True), *(job(f"{key} has no effect", fixed(key), [key]) for key in keys)]


def _marked_for(keys: list[str]) -> Callable[[pytest.Item], bool]:
    return lambda item: any(key in mark.args for mark in item.iter_markers("setting") for key in keys)
