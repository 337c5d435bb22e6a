"""What kind of project this is, and how it is tested, built and linted: a proposal for the settings `commands.*`.

Only files in the root are read. The kinds are asked in order; a later one only adds what the earlier ones lack, so a
Python project whose Makefile has a target `lint` gets `make lint`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from claude_iterate.core.settings.declared import Settings
from claude_iterate.operations.detection.project_files import MANAGERS, TARGET, json_in, names_in, text_of

WORDS = ("test", "build", "lint")
Commands = Mapping[str, str]
_NO_TEST = "no test specified"
"""What `npm init` writes as the test of a project that has none."""


class Detected(msgspec.Struct, frozen=True):
    """`kind` is the first kind that was recognised, empty for none; `commands` has `test`, `build`, `lint` where they
    are known."""

    kind: str = ""
    commands: Commands = MappingProxyType({})


def detect(root: Path) -> Detected:
    """What the files in the root say."""
    names = names_in(root)
    kind = ""
    commands: dict[str, str] = {}
    for found_kind, find in _KINDS.items():
        found = find(root, names)
        if found is not None:
            kind = kind or found_kind
            commands = dict(found) | commands
    return Detected(kind, {word: commands[word] for word in WORDS if word in commands})


def test_command(settings: Settings, root: Path) -> str:
    """What tests this project: as the settings say, or as its files do; empty where neither does."""
    return settings.commands.test or detect(root).commands.get("test", "")


def _node(root: Path, names: frozenset[str]) -> Commands | None:
    if "package.json" not in names:
        return None
    scripts = json_in(root / "package.json").get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    manager = next((name for file, name in MANAGERS.items() if file in names), "npm")
    known = [word for word in WORDS if word in scripts and _NO_TEST not in str(scripts[word])]
    return {
        word: f"{manager} test" if word == "test" and manager != "bun" else f"{manager} run {word}" for word in known
    }


def _python(root: Path, names: frozenset[str]) -> Commands | None:
    if not names & {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "manage.py"}:
        return None
    files = ("pyproject.toml", "setup.cfg", "requirements.txt", "requirements-dev.txt", "tox.ini")
    text = "\n".join(text_of(root / name) for name in files)
    prefix = "uv run " if "uv.lock" in names else "poetry run " if "poetry.lock" in names else ""
    tests = {"pytest": "pytest", "tox": "tox", "nox": "nox"}
    used = [tests[tool] for tool in tests if _named(tool, text) or names & {f"{tool}.ini", f"{tool}file.py"}]
    if not used and "manage.py" in names:
        used = ["python manage.py test"]
    lints = {"ruff": "ruff check", "flake8": "flake8", "pylint": "pylint .", "mypy": "mypy ."}
    lint = next((prefix + command for tool, command in lints.items() if _named(tool, text)), "")
    return {"test": prefix + (used[0] if used else "pytest")} | ({"lint": lint} if lint else {})


def _named(tool: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){tool}(?![\w-])", text) is not None


def _rust(_root: Path, names: frozenset[str]) -> Commands | None:
    found = {"test": "cargo test", "build": "cargo build", "lint": "cargo clippy"}
    return found if "Cargo.toml" in names else None


def _go(_root: Path, names: frozenset[str]) -> Commands | None:
    found = {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}
    return found if names & {"go.mod", "go.work"} else None


def _maven(_root: Path, names: frozenset[str]) -> Commands | None:
    program = "./mvnw" if "mvnw" in names else "mvn"
    found = {"test": f"{program} test", "build": f"{program} package -DskipTests"}
    return found if "pom.xml" in names else None


def _gradle(_root: Path, names: frozenset[str]) -> Commands | None:
    program = "./gradlew" if "gradlew" in names else "gradle"
    found = {"test": f"{program} test", "build": f"{program} assemble"}
    return found if names & {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"} else None


def _dotnet(_root: Path, names: frozenset[str]) -> Commands | None:
    found = {"test": "dotnet test", "build": "dotnet build", "lint": "dotnet format --verify-no-changes"}
    ends = (".sln", ".slnx", ".csproj", ".fsproj", ".vbproj")
    return found if any(name.endswith(ends) for name in names) else None


def _ruby(root: Path, names: frozenset[str]) -> Commands | None:
    if "Gemfile" not in names:
        return None
    text = text_of(root / "Gemfile")
    test = "bundle exec rspec" if ".rspec" in names or "rspec" in text else "bundle exec rake test"
    return {"test": test} | ({"lint": "bundle exec rubocop"} if "rubocop" in text else {})


def _just(root: Path, names: frozenset[str]) -> Commands | None:
    return _targets("just", root, names, ("justfile", "Justfile", ".justfile"))


def _make(root: Path, names: frozenset[str]) -> Commands | None:
    return _targets("make", root, names, ("GNUmakefile", "makefile", "Makefile"))


def _targets(program: str, root: Path, names: frozenset[str], files: tuple[str, ...]) -> Commands | None:
    file = next((name for name in files if name in names), None)
    if file is None:
        return None
    targets = set(TARGET.findall(text_of(root / file)))
    found = {word: f"{program} {word}" for word in WORDS if word in targets}
    return {"test": f"{program} check"} | found if "check" in targets else found


_KINDS: dict[str, Callable[[Path, frozenset[str]], Commands | None]] = {
    "Node": _node,
    "Python": _python,
    "Rust": _rust,
    "Go": _go,
    "Java (Maven)": _maven,
    "Java (Gradle)": _gradle,
    ".NET": _dotnet,
    "Ruby": _ruby,
    "just": _just,
    "Make": _make,
}
"""The kinds in the order in which they are asked."""
