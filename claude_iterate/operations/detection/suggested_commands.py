"""Commands that a project's own files suggest: how it is tested, built and checked. Only files in its root are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from claude_iterate.operations.detection.project_files import MANAGERS, TARGET, json_in, text_of

_WORDS = ("test", "build", "lint", "check", "typecheck", "type-check", "format")
"""Scripts and targets that are worth a question; others deploy, publish or start something."""
_MOST = 8
_PYTHON_TOOLS = {"pytest": "pytest", "ruff": "ruff check", "mypy": "mypy", "tox": "tox", "nox": "nox"}


def suggested(root: Path) -> tuple[str, ...]:
    """The commands, tests first, each once; none where no file is known or readable."""
    found = dict.fromkeys(command for find in _FINDERS for command in find(root))
    return tuple(list(found)[:_MOST])


def _node(root: Path) -> Iterator[str]:
    scripts = json_in(root / "package.json").get("scripts")
    if not isinstance(scripts, dict):
        return
    manager = next((name for file, name in MANAGERS.items() if (root / file).exists()), "npm")
    for word in _WORDS:
        if word in scripts:
            short = word == "test" and manager != "bun"
            yield f"{manager} test" if short else f"{manager} run {word}"


def _python(root: Path) -> Iterator[str]:
    text = text_of(root / "pyproject.toml") + text_of(root / "requirements-dev.txt") + text_of(root / "setup.cfg")
    prefix = "uv run " if (root / "uv.lock").exists() else "poetry run " if (root / "poetry.lock").exists() else ""
    for name, command in _PYTHON_TOOLS.items():
        named = re.search(rf"(?<![\w-]){name}(?![\w-])", text)
        if named or (root / f"{name}.ini").exists() or (name == "nox" and (root / "noxfile.py").exists()):
            yield prefix + command
            if name == "pytest" and not prefix:
                yield "python -m pytest"
    if (root / "manage.py").exists():
        yield "python manage.py test"


def _make(root: Path) -> Iterator[str]:
    for program, names in (("make", ("Makefile", "makefile", "GNUmakefile")), ("just", ("justfile", "Justfile"))):
        targets = {target for name in names for target in TARGET.findall(text_of(root / name))}
        yield from (f"{program} {word}" for word in _WORDS if word in targets)


def _others(root: Path) -> Iterator[str]:
    for file, commands in (
        ("Cargo.toml", ("cargo test", "cargo build", "cargo clippy")),
        ("go.mod", ("go test", "go build", "go vet")),
        ("gradlew", ("./gradlew test", "./gradlew build")),
        ("mvnw", ("./mvnw test",)),
        ("pom.xml", ("mvn test",)),
        ("mix.exs", ("mix test",)),
        ("Gemfile", ("bundle exec rake",)),
        ("composer.json", ("composer test",)),
        ("Package.swift", ("swift test", "swift build")),
        ("deno.json", ("deno test", "deno check")),
    ):
        if (root / file).is_file():
            yield from commands


_FINDERS: tuple[Callable[[Path], Iterator[str]], ...] = (_node, _python, _make, _others)
