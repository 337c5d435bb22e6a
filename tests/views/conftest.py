"""What the tests of the views share."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without workspaces."""
    return Project(tmp_path / "project", {"HOME": str(tmp_path)})
