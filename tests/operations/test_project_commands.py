"""What `init` finds out about a project, and what it writes into its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.operations.project_commands import Commands, detect, propose_commands
from claude_iterate.workspace.project import Project

CARGO = {"test": "cargo test", "build": "cargo build", "lint": "cargo clippy"}
DOTNET = {"test": "dotnet test", "build": "dotnet build", "lint": "dotnet format --verify-no-changes"}


def project_in(folder: Path) -> Project:
    return Project(folder, {"HOME": f"{folder}-home"})


@pytest.mark.parametrize(
    ("files", "kind", "commands"),
    [
        ({}, "", {}),
        ({"pyproject.toml": "[project]\n"}, "Python", {"test": "pytest"}),
        (
            {"pyproject.toml": 'dev = ["pytest", "ruff"]', "uv.lock": ""},
            "Python",
            {"test": "uv run pytest", "lint": "uv run ruff check"},
        ),
        ({"manage.py": ""}, "Python", {"test": "python manage.py test"}),
        ({"setup.cfg": "", "noxfile.py": ""}, "Python", {"test": "nox"}),
        (
            {"package.json": '{"scripts": {"test": "x", "build": "y", "start": "z"}}', "yarn.lock": ""},
            "Node",
            {"test": "yarn test", "build": "yarn run build"},
        ),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, "Node", {}),
        ({"package.json": "{ broken"}, "Node", {}),
        ({"Cargo.toml": ""}, "Rust", CARGO),
        (
            {"go.mod": "module x"},
            "Go",
            {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."},
        ),
        ({"pom.xml": "", "mvnw": ""}, "Java (Maven)", {"test": "./mvnw test", "build": "./mvnw package -DskipTests"}),
        ({"build.gradle.kts": ""}, "Java (Gradle)", {"test": "gradle test", "build": "gradle assemble"}),
        ({"App.csproj": ""}, ".NET", DOTNET),
        (
            {"Gemfile": 'gem "rspec"\ngem "rubocop"'},
            "Ruby",
            {"test": "bundle exec rspec", "lint": "bundle exec rubocop"},
        ),
        (
            {"Makefile": "check: build\n\tx\nbuild:\n\ty\nlint := 2\n"},
            "Make",
            {"test": "make check", "build": "make build"},
        ),
        ({"justfile": "test filter='':\n  x\n@lint:\n  y\n"}, "just", {"test": "just test"}),
        (
            {"pyproject.toml": "", "Makefile": "test:\n\tx\nlint:\n\ty\n"},
            "Python",
            {"test": "pytest", "lint": "make lint"},
        ),
    ],
)
def test_the_kind_of_project_says_how_it_is_tested(
    tmp_path: Path, files: dict[str, str], kind: str, commands: dict[str, str]
) -> None:
    """Each kind by its files; what one kind lacks another may add; a broken file says nothing."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = detect(tmp_path)
    assert (found.kind, dict(found.proposed)) == (kind, commands)


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
def test_suggestions_come_from_the_files_in_the_root(
    tmp_path: Path, files: dict[str, str], wanted: tuple[str, ...]
) -> None:
    """Tests, builds and checks only; a file that makes no sense suggests nothing."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert detect(tmp_path).suggested == wanted


def test_what_cannot_be_read_suggests_nothing(tmp_path: Path) -> None:
    """A folder, a dangling link or megabytes in the place of a file, and no more than a handful from many files."""
    (tmp_path / "package.json").mkdir()
    (tmp_path / "Makefile").symlink_to(tmp_path / "nowhere")
    (tmp_path / "justfile").write_text("x" * 3_000_000 + "\ntest:\n")
    assert detect(tmp_path) == Commands(kind="Node")
    assert detect(tmp_path / "missing").kind == ""
    for name in ("Cargo.toml", "go.mod", "mix.exs", "gradlew", "pom.xml"):
        (tmp_path / name).touch()
    assert len(detect(tmp_path).suggested) == 8


def test_a_proposal_is_written_once_and_said(tmp_path: Path) -> None:
    """Into the project file; a second time there is nothing to propose."""
    (tmp_path / "Cargo.toml").touch()
    commands, text = propose_commands(project_in(tmp_path))
    assert dict(commands) == CARGO
    assert "commands.test = `cargo test`" in text
    assert project_in(tmp_path).resolved.settings.commands.lint == "cargo clippy"
    assert propose_commands(project_in(tmp_path)) == ({}, "")


@pytest.mark.parametrize("text", ['[commands]\nlint = "mine"\n', 'commands.test = "mine"\n'])
def test_nothing_is_overwritten(tmp_path: Path, text: str) -> None:
    """One command of the user's own, and nothing is proposed at all: the file stays byte for byte."""
    (tmp_path / "Cargo.toml").touch()
    file = tmp_path / ".claude-iterate.toml"
    file.write_text(text)
    assert propose_commands(project_in(tmp_path)) == ({}, "")
    assert file.read_text() == text


@pytest.mark.setting("commands.test", "commands.build", "commands.lint")
def test_the_commands_reach_the_prompt(tmp_path: Path) -> None:
    """Each in its line; one that is not set is not named."""
    project = project_in(tmp_path)
    layout = project.create("w", instructions=b"Do it.\n", settings={"commands.test": "t 1", "commands.build": "b 2"})
    other = project.create("v", instructions=b"Do it.\n", settings={"commands.lint": "l 3"})
    asked = RunRequest()
    system = [
        TextSource(project, at, asked.settings_for(project, at), asked.mode_for(at)).iteration(1, "", "").system
        for at in (layout, other)
    ]
    assert "- test: `t 1`" in system[0]
    assert "- build: `b 2`" in system[0]
    assert "- lint:" not in system[0]
    assert "- lint: `l 3`" in system[1]
