"""An upgrade of the package in the middle of a run: what is loaded by then, and what a broken moment does."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

from claude_iterate.operations import late_imports
from tests.package_path import PACKAGES

ROOT = Path(__file__).parents[2]

CODE = """
import sys
from claude_iterate.operations.late_imports import loader
load = loader()
for _ in range(10_000):
    load()
print(*sys.modules)
"""


def output_of(code: str, folder: Path) -> str:
    command = [sys.executable, "-P", "-c", code]
    environ = {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def copied(folder: Path) -> Path:
    """The package as a wheel installs it."""
    copy = folder / "claude_iterate"
    shutil.copytree(PACKAGES / "claude_iterate", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", copy / "templates", dirs_exist_ok=True)
    return copy


def test_a_damaged_file_ends_nothing(tmp_path: Path) -> None:
    """A package that is being replaced has broken files for a moment: the rest is loaded all the same."""
    copy = copied(tmp_path)
    (copy / "core" / "outcomes" / "denials.py").write_text("def (")
    (copy / "engine" / "shell_command.py").write_text("raise KeyError('mixed versions')")
    loaded = output_of(CODE, tmp_path).split()
    assert "claude_iterate.core.outcomes.denials" not in loaded
    assert {"claude_iterate.text.wait_lines", "claude_iterate.workspace.running.liveness"} <= set(loaded)


def test_every_module_that_is_to_be_loaded_exists() -> None:
    """A name that is gone would be passed over in silence."""
    names = {*late_imports._ANY_RUN, *late_imports._WITH, *chain.from_iterable(late_imports._WITH.values())}
    missing = [name for name in names if importlib.util.find_spec(f"claude_iterate.{name}") is None]
    assert missing == []
