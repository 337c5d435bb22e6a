"""What a run that lasts loads while Claude works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.package_path import PACKAGES

CODE = """
import sys
from claude_iterate.operations.late_imports import loader
load = loader()
for _ in range(10_000):
    load()
print(*sys.modules)
"""


def test_a_damaged_file_ends_nothing(tmp_path: Path) -> None:
    """A package that is being replaced has broken files for a moment: the rest is loaded all the same."""
    copy = tmp_path / "claude_iterate"
    shutil.copytree(PACKAGES / "claude_iterate", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for broken in ("views/__init__.py", "engine/check.py"):
        (copy / broken).write_text("def (")
    (copy / "workspace" / "leftover_files.py").write_text("raise KeyError('mixed versions')")
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    loaded = done.stdout.split()
    assert "claude_iterate.engine.check" not in loaded
    assert {"jinja2", "claude_iterate.workspace.settings_files.settings_writer"} <= set(loaded)
