"""What a start costs is what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from tests.package_path import PACKAGES

HEAVY = {"textual", "starlette", "uvicorn", "httpx", "jinja2", "watchdog", "tomlkit", "regex"}
CODE = """
import sys
from claude_iterate.cli import main
code = main()
print(*sys.modules)
sys.exit(code)
"""


@pytest.mark.parametrize("words", [("--help",), ("list",), ("show", "task")], ids=" ".join)
def test_a_command_that_only_looks_does_without_heavy_packages(
    words: tuple[str, ...], project: Project, environ: dict[str, str], folder: Path
) -> None:
    """`--help`, `list` and `show` answer at once: none of the eight packages is loaded."""
    project.create("task", instructions=b"Do it.\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE, *words],
        env=environ | {"PYTHONPATH": str(PACKAGES)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "claude_iterate.cli.application" in loaded
    assert loaded & HEAVY == set()
