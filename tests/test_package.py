"""The wheel that people install and the source archive: what they hold, and that the wheel works on its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = (
    *("claude_iterate", "templates", "tests", "docs", "scripts", ".ci", ".github", "mkdocs.yml"),
    *("pyproject.toml", "requirements-dev.txt", "README.md", "SECURITY.md", "LICENSE", ".pre-commit-config.yaml"),
)
BUILD = "import sys; from hatchling import build; build.build_sdist(sys.argv[1]); build.build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and source archive, built by the project's own backend from a copy of the checkout, without network."""
    pytest.importorskip("hatchling", reason="the build backend is not installed; scripts/test installs it")
    copy = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy / name)
    built = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-c", BUILD, str(built)], cwd=copy, check=True, timeout=3000, capture_output=True)
    return built


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def test_source_archive_holds_all_that_the_suite_needs(built: Path) -> None:
    """Every part of the checkout is in it: it can be built, locked and tested, and says how it is protected."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()}
    assert set(SOURCES) - names == set()


def test_every_promised_python_is_tested() -> None:
    """`scripts/pythons` and the workflow test the same versions, and the classifiers promise no other."""
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    script = re.search(r"versions=\((3[\d. ]+)\)", (ROOT / "scripts" / "pythons").read_text())
    workflow = re.search(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "checks.yml").read_text())
    assert script
    assert workflow
    assert script[1].split() == re.findall(r"3\.\d+", workflow[1])
    assert set(promised) <= set(script[1].split())


def test_wheel_holds_what_it_needs(wheel: Path) -> None:
    """All modules, all prompts, what pages are made of, the mark for type checkers, the licence, the command."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        command = next(name for name in names if name.endswith("entry_points.txt"))
        assert "claude-iterate = claude_iterate.cli:program" in archive.read(command).decode()
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "claude_iterate").rglob("*.py")}
    shown = {
        str(path.relative_to(ROOT)) for path in (ROOT / "claude_iterate/views").rglob("*.*") if path.suffix != ".pyc"
    }
    assert len([name for name in shown if "/static/" in name]) == 3
    prompts = {f"claude_iterate/{path.relative_to(ROOT)}" for path in (ROOT / "templates").rglob("*.md")}
    assert prompts
    assert {*modules, *shown, *prompts, "claude_iterate/py.typed"} - names == set()
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    """No tests, no documentation, no compiled leftovers: only the package and its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    foreign = [name for name in names if not name.startswith(("claude_iterate/", "claude_iterate-"))]
    assert foreign == []
    assert [name for name in names if Path(name).name.startswith(("test", "conftest")) or name.endswith(".pyc")] == []


def test_wheel_works_alone(wheel: Path, tmp_path: Path) -> None:
    """With nothing but the wheel's files a dry run completes: the prompts are found inside the package."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path / "installed"),
        "TMPDIR": str(tmp_path),
        "CLAUDE_ITERATE_MOCK_LOG": str(tmp_path / "mock.log"),
        "CLAUDE_ITERATE_FAKE_PACE": "0",
    }
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "claude_iterate", "demo"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=3000,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr.decode()
    assert "Task completed successfully after 4 iterations" in answer.stdout.decode("utf-8", "replace")
