"""`scripts/settings` finds settings that have lost their effect without a test noticing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.setting_effects import marked_settings
from tests.package_path import PACKAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(PACKAGES != ROOT, reason="what is tested is an installed wheel; this changes the checkout")
def test_a_setting_without_effect_is_noticed(tmp_path: Path) -> None:
    """By the test that is marked for it. The copy of the checkout is removed."""
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "scripts.setting_effects", "delay"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.startswith("1 of 1 settings"), done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_marks_are_found_wherever_they_stand(tmp_path: Path) -> None:
    """On a function with several keys, and on one row of a table."""
    (tmp_path / "test_a.py").write_text(
        '@pytest.mark.setting("a", "b.c")\ndef test_a(): ...\nROW = pytest.param(1, marks=pytest.mark.setting("d"))\n'
    )
    assert set(marked_settings(tmp_path)) == {"a", "b.c", "d"}
