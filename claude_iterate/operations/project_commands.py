"""What a project's own files say of how it is tested, built and linted: a proposal for the settings `commands.*`, and
commands that are worth a question. Only files in its root are read, bounded, and broken ones are tolerated.

The kinds are asked in order; a later one only adds what the earlier ones lack, so a Python project whose Makefile has a
target `lint` gets `make lint`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from claude_iterate.core.settings.declared import Settings
from claude_iterate.errors import ExpectedError
from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.settings_files import settings_writer

_LARGEST = 1_000_000
MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
"""Which program runs the scripts of package.json, by the file that it leaves."""
TARGET = re.compile(r"^([a-z][\w-]*+)(?:[ \t][^:\n]*+)?:(?!=)", re.MULTILINE)
"""A target of a Makefile or a recipe of a justfile, which may have parameters."""


def text_of(path: Path) -> str:
    """The beginning of a regular file; empty for anything else."""
    try:
        return untrusted_files.look(path, _LARGEST).data.decode("utf-8", "replace")
    except OSError:
        return ""


def json_in(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one for anything else."""
    try:
        found = json.loads(text_of(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def names_in(root: Path) -> frozenset[str]:
    """The names of what is in a folder, as far as it can be read."""
    try:
        return frozenset(path.name for path in root.iterdir())
    except OSError:
        return frozenset()


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


class Proposal(msgspec.Struct, frozen=True):
    """What was written, and where; `problem` says why it could not be."""

    kind: str = ""
    commands: Mapping[str, str] = MappingProxyType({})
    file: str = ""
    problem: str = ""

    def text(self) -> str:
        """What to tell the user."""
        if self.problem:
            return f"The commands of this {self.kind} project were not saved: {self.problem}"
        if not self.commands:
            return ""
        known = ", ".join(f"commands.{word} = `{command}`" for word, command in self.commands.items())
        return (
            f"This is a {self.kind} project: {known}. Claude's prompts name this; checks are set apart.\n"
            f"  Saved in {self.file}. Change one: claude-iterate config commands.test 'COMMAND'"
        )


def propose(project: Project) -> Proposal:
    """Write what the files of the project say, unless any of these settings is set anywhere. Nothing is overwritten,
    and no failure here undoes what the command did before."""
    if any(f"commands.{word}" in project.resolved.origins for word in WORDS):
        return Proposal()
    found = detect(project.root)
    if not found.commands:
        return Proposal(found.kind)
    target = settings_writer.project_target(project.root)
    try:
        for word, command in found.commands.items():
            settings_writer.set_value(target, f"commands.{word}", command)
    except (ExpectedError, OSError) as error:
        said = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
        return Proposal(found.kind, problem=said)
    return Proposal(found.kind, found.commands, str(target))


_WORTH_ASKING = ("test", "build", "lint", "check", "typecheck", "type-check", "format")
"""Scripts and targets that are worth a question; others deploy, publish or start something."""
_MOST = 8
_PYTHON_TOOLS = {"pytest": "pytest", "ruff": "ruff check", "mypy": "mypy", "tox": "tox", "nox": "nox"}


def suggest_commands(root: Path) -> tuple[str, ...]:
    """The commands, tests first, each once; none where no file is known or readable."""
    found = dict.fromkeys(command for find in _FINDERS for command in find(root))
    return tuple(list(found)[:_MOST])


def _node_words(root: Path) -> Iterator[str]:
    scripts = json_in(root / "package.json").get("scripts")
    if not isinstance(scripts, dict):
        return
    manager = next((name for file, name in MANAGERS.items() if (root / file).exists()), "npm")
    for word in _WORTH_ASKING:
        if word in scripts:
            short = word == "test" and manager != "bun"
            yield f"{manager} test" if short else f"{manager} run {word}"


def _python_words(root: Path) -> Iterator[str]:
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


def _make_words(root: Path) -> Iterator[str]:
    for program, names in (("make", ("Makefile", "makefile", "GNUmakefile")), ("just", ("justfile", "Justfile"))):
        targets = {target for name in names for target in TARGET.findall(text_of(root / name))}
        yield from (f"{program} {word}" for word in _WORTH_ASKING if word in targets)


def _other_words(root: Path) -> Iterator[str]:
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


_FINDERS: tuple[Callable[[Path], Iterator[str]], ...] = (_node_words, _python_words, _make_words, _other_words)
