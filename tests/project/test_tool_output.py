"""What tools leave is no work: neither for measuring nor for checks and reviews, inside and outside git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.project import files_with_tests, ignored, project_state
from claude_iterate.project.project_work import Work
from claude_iterate.project.snapshots import Place
from tests.project.repository import Repository, clean_environment

Changed = Callable[[], list[str]]
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "measured-work.md"


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.needs_git), False], ids=["git", "no-git"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project without a .gitignore."""
    folder = tmp_path / "project"
    folder.mkdir()
    if request.param:
        Repository(folder)
    for name in ("Cargo.toml", "work.txt"):
        (folder / name).write_text("")
    return folder


@pytest.fixture(params=["measured", "reviewed"])
def changed(request: pytest.FixtureRequest, root: Path) -> Changed:
    """What changed since the first look, for each of those who look."""
    if request.param == "measured":
        how = "auto" if (root / ".git").exists() else "files"
        place = Place(root, "t", "000001-x", ("claude-iterate/",))
        work = Work(place, clean_environment(root.parent), how, root / "claude-iterate" / "snapshots.git")
        work.look(0)
        return lambda: sorted(work.look(1).changes or {})
    scratch = root.parent / "scratch"
    before = project_state.look(root, [], [], scratch)
    return lambda: list(project_state.look(root, [], [], scratch).changes_since(before))


def write(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("left behind\n")


LEFT = (
    *("__pycache__/a.cpython-311.pyc", "src/pkg/__pycache__/b.pyc", "src/c.pyc", ".pytest_cache/v/cache/lastfailed"),
    *(".mypy_cache/3.11/x.json", ".ruff_cache/1", ".import_linter_cache/x", ".hypothesis/examples/1"),
    *(".coverage", ".coverage.host.1", "htmlcov/index.html", "coverage.xml", ".nyc_output/x.json", "junit.xml"),
    *("node_modules/.cache/babel/x.json", "node_modules/left-pad/index.js", "web/node_modules/.vite/deps/x.js"),
    *(".venv/bin/python", ".tox/py311/log/1", "app.egg-info/PKG-INFO", ".next/cache/x", ".eslintcache"),
    *("app.tsbuildinfo", ".DS_Store", "target/debug/app", ".gradle/8.5/x"),
)


@pytest.mark.parametrize("together", [LEFT])
def test_what_tools_leave_does_not_count(root: Path, changed: Changed, together: tuple[str, ...]) -> None:
    """An agent that only ran the tests has done nothing, and a reviewer that did has changed nothing."""
    for path in together:
        write(root, path)
    assert changed() == []


@pytest.mark.parametrize("sign", ["CACHEDIR.TAG", "pyvenv.cfg", "lcov-report/index.html"])
def test_a_folder_is_known_by_what_only_a_tool_writes_into_it(root: Path, changed: Changed, sign: str) -> None:
    """Whatever its name is, with all that is below it."""
    for path in ("coverage/x", "coverage/deep/y", f"coverage/{sign}"):
        write(root, path)
    assert changed() == []


def test_what_only_sounds_like_it_counts(root: Path, changed: Changed) -> None:
    """Work is never taken for what a tool left: names that people choose, too, need a sign of the tool."""
    work = [
        *("a.pyx", "build/x", "cache/x", "coverage/model.py", "lib/target/x", "next/cache/x", "node_modules.md"),
        *("pycache.py", "src/coverage.py", "venv.py"),
    ]
    for path in work:
        write(root, path)
    assert changed() == work


@pytest.mark.needs_git
@pytest.mark.parametrize("root", [True], indirect=True)
def test_what_git_tracks_is_work_whatever_it_is_called(root: Path) -> None:
    """A generated file that the project keeps is the user's choice."""
    repository = Repository(root)
    for path in ("htmlcov/index.html", "target/x"):
        write(root, path)
    repository.git("add", "-f", ".")
    repository.git("commit", "-qm", "kept")
    work = Work(Place(root, "t", "000001-x"), clean_environment(root.parent), "auto", root / "store")
    work.look(0)
    before = project_state.look(root, [], [], root.parent / "scratch")
    for path in ("htmlcov/index.html", "target/x"):
        (root / path).write_text("other\n")
    write(root, "target/y")
    kept = ["htmlcov/index.html", "target/x"]
    assert sorted(work.look(1).changes or {}) == kept
    assert list(project_state.look(root, [], [], root.parent / "scratch").changes_since(before)) == kept


def test_no_tests_are_looked_for_in_it(tmp_path: Path) -> None:
    """The same names; a test of a package is none of the project."""
    for path in ("tests/test_a.py", "node_modules/x/test_b.py", "htmlcov/test_c.py"):
        write(tmp_path, path)
    assert files_with_tests.find(str(tmp_path), lambda _name: True).paths == ["tests/test_a.py"]


def test_the_page_has_the_whole_table() -> None:
    """Users see what does not count."""
    page = PAGE.read_text(encoding="utf-8")
    names = [name for names in ignored.NAMES.values() for name in names]
    signs = [
        *ignored.INSIDE,
        *ignored.BESIDE,
        *(file for files in ignored.BESIDE.values() for file in files),
    ]
    assert [name for name in (*names, *signs) if f"`{name}`" not in page] == []
