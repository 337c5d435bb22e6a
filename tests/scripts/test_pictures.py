"""The pictures of the README show what the program shows today, and are small."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scripts import demo_pictures
from scripts.demo_pictures import DASHBOARD, MADE_FROM, PICTURES, TERMINAL
from tests.package_path import PACKAGES

STALE = "make them again: scripts/pictures"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the demo that does not wait."""
    here = {"TMPDIR": str(tmp_path_factory.mktemp("demo")), "CLAUDE_ITERATE_FAKE_PACE": "0", "LANG": "C.UTF-8"}
    return demo_pictures.run_demo({"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGES), **here})


def test_the_terminal_says_the_same(demo: Path, tmp_path: Path) -> None:
    """Word for word, figures aside: a demo of today, drawn today. The command that it ends with has no path of the
    machine that drew it."""
    demo_pictures.draw_terminal(demo, tmp_path / TERMINAL)
    now = demo_pictures.words_of(tmp_path / TERMINAL)
    assert len(now) > 20
    assert demo_pictures.words_of(PICTURES / TERMINAL) == now, STALE
    for drawn in (PICTURES, tmp_path):
        assert "Next: claude-iterate -C" in (drawn / TERMINAL).read_text()


def test_the_dashboard_looks_the_same(demo: Path) -> None:
    """What it draws of the demo, and its style sheet; figures, times and its script do not count."""
    assert json.loads((PICTURES / MADE_FROM).read_text()) == {DASHBOARD: demo_pictures.checksum(demo)}, STALE


def test_they_are_small() -> None:
    """All together, so that a clone stays quick; and the README has them."""
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 300_000
    readme = PICTURES.parents[1].joinpath("README.md").read_text()
    assert [name for name in (TERMINAL, DASHBOARD) if f"docs/pictures/{name}" not in readme] == []
