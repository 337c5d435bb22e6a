"""Disables one setting at a time, in a copy of the checkout: a test that is marked for it must fail.

`@pytest.mark.setting("limits.on_reserve")` says that a test fails when this setting always has its default. In the
processes that run the tests, this module is also the plugin of pytest that leaves out all others.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

from claude_iterate.core.settings.declared import catalogue

ROOT = Path(__file__).parents[1]
TABLE = "claude_iterate/core/settings/declared.py"
_TAKEN = "values.get(prefix + name, value)"
_KEYS = "CHECKED_SETTINGS"
_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-x",
    "-n",
    "2",
    "-p",
    "scripts.setting_effects",
    "-p",
    "no:cacheprovider",
)
_LEFT_OUT = shutil.ignore_patterns(".venv", ".git", ".*_cache", ".hypothesis", "__pycache__")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that are marked for one of the settings in question."""
    keys = set(os.environ[_KEYS].split())
    items[:] = [item for item in items if any(keys & set(mark.args) for mark in item.iter_markers("setting"))]


def marked_settings(tests: Path) -> dict[str, set[Path]]:
    """The settings that tests are marked for, and the files of these tests."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in tests.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.setting":
                for key in node.args:
                    found[str(ast.literal_eval(key))].add(path)
    return found


def unnoticed_settings(keys: list[str]) -> list[str]:
    """Those of the settings that can lose their effect without a test failing."""
    marked = marked_settings(ROOT / "tests")
    source = (ROOT / TABLE).read_text(encoding="utf-8")
    if source.count(_TAKEN) != 1:
        sys.exit(f"Error: `{_TAKEN}` is not in {TABLE} any more.\n  Change scripts/setting_effects.py.")
    unnoticed = []
    with tempfile.TemporaryDirectory(prefix="settings-") as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        if not _tests_pass(copy, keys, marked):
            sys.exit("Error: the tests fail without any change.\n  Try: scripts/test -m setting")
        for key in keys:
            fixed = source.replace(_TAKEN, f"(value if prefix + name == {key!r} else {_TAKEN})")
            (copy / TABLE).write_text(fixed, encoding="utf-8")
            if _tests_pass(copy, [key], marked):
                unnoticed.append(key)
                print(f"{key}: no test notices that it has no effect", flush=True)
            (copy / TABLE).write_text(source, encoding="utf-8")
    return unnoticed


def _tests_pass(copy: Path, keys: list[str], marked: dict[str, set[Path]]) -> bool:
    files = sorted({str(path.relative_to(ROOT)) for key in keys for path in marked.get(key, ())})
    environ = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", _KEYS: " ".join(keys)}
    command = [*_PYTEST, f"--basetemp={copy.parent / 'tests'}", *files]
    return (
        bool(files) and subprocess.run(command, cwd=copy, env=environ, capture_output=True, check=False).returncode == 0
    )


def main(arguments: list[str]) -> int:
    known = catalogue()
    if unknown := sorted(set(arguments) - known.keys()):
        sys.exit(f"Error: there is no setting {', '.join(unknown)}.\n  See docs/reference/settings.md.")
    keys = arguments or list(known)
    unnoticed = unnoticed_settings(keys)
    print(f"{len(keys) - len(unnoticed)} of {len(keys)} settings: a test notices when they have no effect.")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
