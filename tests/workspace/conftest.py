"""The fixtures `project`, a project in a folder of its own, and `layout`, a workspace in it with instructions."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"HOME": f"{tmp_path}-home"})


@pytest.fixture
def layout(project: Project) -> Layout:
    return project.create("w", instructions=b"- one\n")
