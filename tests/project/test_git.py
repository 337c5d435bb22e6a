"""Whether git had a text before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from claude_iterate.project.git import has_had_text
from tests.project.repository import Repository

pytestmark = pytest.mark.needs_git
TEXT = b'{"complete": true, "lastUpdated": "monday"}\n'
EARLIER, NOW = time.time() - 7 * 86400, time.time() - 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Repository(tmp_path / "project").root


def commit(root: Path, text: bytes, at: float) -> None:
    (root / "status").write_bytes(text)
    Repository(root).commit()
    for file in (root / ".git" / "objects").rglob("*"):
        if file.is_file():
            os.utime(file, (at, at))


def test_a_text_that_was_committed_before_is_known(root: Path) -> None:
    """Also if it was replaced since, on another branch, packed, or asked for in a folder of the repository."""
    commit(root, TEXT, EARLIER)
    commit(root, b"another", EARLIER)
    (root / "below").mkdir()
    assert has_had_text(root, TEXT, NOW)
    assert has_had_text(root / "below", TEXT, NOW)
    Repository(root).git("gc", "-q")
    assert has_had_text(root, TEXT, NOW)


def test_a_text_that_was_committed_since_is_not(root: Path) -> None:
    """The agent may commit its report."""
    commit(root, TEXT, time.time())
    assert not has_had_text(root, TEXT, NOW)


def test_what_git_never_had_is_not_known(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty repository; other words; no repository, no folder."""
    assert not has_had_text(root, TEXT, NOW)
    commit(root, b"another", EARLIER)
    assert not has_had_text(root, TEXT, NOW)
    assert not has_had_text(tmp_path_factory.mktemp("plain"), TEXT, NOW)
    assert not has_had_text(root / "missing", TEXT, NOW)
