"""The commands that a project's files suggest."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.operations.project_commands import suggest_commands


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, ()),
        ({"package.json": '{"scripts": {"test": "x", "build": "x", "publish": "x"}}'}, ("npm test", "npm run build")),
        (
            {"package.json": '{"scripts": {"test": "x", "lint": "y"}}', "pnpm-lock.yaml": ""},
            ("pnpm test", "pnpm run lint"),
        ),
        ({"package.json": '{"scripts": {"test": "x"}}', "bun.lock": ""}, ("bun run test",)),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ("pytest", "python -m pytest")),
        ({"pyproject.toml": 'dev = ["pytest", "ruff>=1"]', "uv.lock": ""}, ("uv run pytest", "uv run ruff check")),
        ({"pyproject.toml": 'dependencies = ["pytest-unrelated"]'}, ()),
        ({"Makefile": "test: build\n\tx\nbuild:\n\ty\nVAR := 1\ncheck := 2\n"}, ("make test", "make build")),
        ({"Cargo.toml": ""}, ("cargo test", "cargo build", "cargo clippy")),
        ({"go.mod": "module x"}, ("go test", "go build", "go vet")),
        ({"package.json": "[" * 10_000}, ()),
        ({"package.json": '{"scripts": ["test"]}'}, ()),
        ({"package.json": "\x00\xff"}, ()),
    ],
)
def test_they_come_from_the_files_in_the_root(tmp_path: Path, files: dict[str, str], wanted: tuple[str, ...]) -> None:
    """Tests, builds and checks only; a file that makes no sense suggests nothing."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert suggest_commands(tmp_path) == wanted


def test_what_cannot_be_read_suggests_nothing(tmp_path: Path) -> None:
    """A folder or a dangling link in the place of a file, and no more than a handful from many files."""
    (tmp_path / "package.json").mkdir()
    (tmp_path / "Makefile").symlink_to(tmp_path / "nowhere")
    assert suggest_commands(tmp_path) == ()
    for name in ("Cargo.toml", "go.mod", "mix.exs", "gradlew", "pom.xml"):
        (tmp_path / name).touch()
    assert len(suggest_commands(tmp_path)) == 8
