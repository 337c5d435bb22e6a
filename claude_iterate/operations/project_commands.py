"""What a project's own files say of how it is tested, built and linted: a proposal for the settings `commands.*`, and
commands that are worth a question. Only files in its root are read, bounded, and broken ones are tolerated.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from claude_iterate.core.settings.declared import Settings
from claude_iterate.errors import ExpectedError
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import settings_writer
from claude_iterate.workspace.project import Project

WORDS = ("test", "build", "lint")
_WORTH_ASKING = (*WORDS, "check", "typecheck", "type-check", "format")
"""Scripts and targets that are worth a question; others deploy, publish or start something."""
_MOST_SUGGESTED = 8
_LARGEST = 1_000_000
_NO_TEST = "no test specified"
"""What `npm init` writes as the test of a project that has none."""
_TARGET = re.compile(r"^([a-z][\w-]*+)(?:[ \t][^:\n]*+)?:(?!=)", re.MULTILINE)
"""A target of a Makefile or a recipe of a justfile, which may have parameters."""


class Root:
    """The root of a project: the names of what is in it, and the texts of its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names = frozenset(untrusted_files.names_in(folder))

    def has(self, *patterns: str) -> bool:
        """True when there is any of these. `*.sln` stands for every name with that ending."""
        return any(name == one or ("*" in one and name.endswith(one[1:])) for one in patterns for name in self.names)

    def text(self, *names: str) -> str:
        """The beginnings of regular files; nothing of anything else."""
        found = []
        for name in names:
            with contextlib.suppress(OSError):
                found.append(untrusted_files.look(self._folder / name, _LARGEST).data.decode("utf-8", "replace"))
        return "\n".join(found)


class Commands(msgspec.Struct, frozen=True):
    """`proposed` are commands by `test`, `build` and `lint`; `suggested` are those that Claude may be allowed to run,
    in the order in which a user is asked about them. `kind` is the kind of project, empty for an unknown one."""

    proposed: Mapping[str, str] = {}
    suggested: tuple[str, ...] = ()
    kind: str = ""


def _node(root: Root) -> Commands:
    try:
        document = json.loads(root.text("package.json") or "{}")
    except (ValueError, RecursionError):
        document = {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    if not isinstance(scripts, dict):
        return Commands()
    managers = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
    manager = next((program for file, program in managers.items() if root.has(file)), "npm")
    run = {word: f"{manager} run {word}" for word in _WORTH_ASKING if word in scripts}
    if "test" in run and manager != "bun":
        run["test"] = f"{manager} test"
    known = {word: run[word] for word in WORDS if word in run and _NO_TEST not in str(scripts[word])}
    return Commands(known, tuple(run.values()))


def _python(root: Root) -> Commands:
    text = root.text("pyproject.toml", "setup.cfg", "requirements.txt", "requirements-dev.txt", "tox.ini")
    prefix = "uv run " if root.has("uv.lock") else "poetry run " if root.has("poetry.lock") else ""

    def uses(tool: str) -> bool:
        named = re.search(rf"(?<![\w-]){tool}(?![\w-])", text)
        return named is not None or root.has(f"{tool}.ini", f"{tool}file.py")

    tests = [tool for tool in ("pytest", "tox", "nox") if uses(tool)]
    lints = {"ruff": "ruff check", "flake8": "flake8", "pylint": "pylint .", "mypy": "mypy ."}
    lint = next((prefix + command for tool, command in lints.items() if uses(tool)), "")
    django = "python manage.py test" if root.has("manage.py") else ""
    tools = {"pytest": "pytest", "ruff": "ruff check", "mypy": "mypy", "tox": "tox", "nox": "nox"}
    suggested = [prefix + command for tool, command in tools.items() if uses(tool)]
    if "pytest" in suggested:
        suggested.insert(1, "python -m pytest")
    test = prefix + (tests[0] if tests else django or "pytest")
    return Commands(
        {"test": test} | ({"lint": lint} if lint else {}), (*suggested, django) if django else tuple(suggested)
    )


def _ruby(root: Root) -> Commands:
    text = root.text("Gemfile")
    test = "bundle exec rspec" if root.has(".rspec") or "rspec" in text else "bundle exec rake test"
    lint = {"lint": "bundle exec rubocop"} if "rubocop" in text else {}
    return Commands({"test": test} | lint, ("bundle exec rake",))


def _targets(program: str, *files: str) -> Callable[[Root], Commands]:
    """The commands for the targets of the first of these files that is there."""

    def read(root: Root) -> Commands:
        file = next(name for name in files if root.has(name))
        run = {word: f"{program} {word}" for word in _WORTH_ASKING if word in _TARGET.findall(root.text(file))}
        known = {word: run[word] for word in WORDS if word in run}
        return Commands({"test": run["check"]} | known if "check" in run else known, tuple(run.values()))

    return read


def _wrapped(wrapper: str, program: str, tasks: Mapping[str, str]) -> Callable[[Root], Commands]:
    """The commands of a tool that a project may bring a wrapper of."""

    def read(root: Root) -> Commands:
        found = f"./{wrapper}" if root.has(wrapper) else program
        return Commands({word: f"{found} {task}" for word, task in tasks.items()}, (f"{found} test",))

    return read


_GO = {"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}
_RUST = {"test": "cargo test", "build": "cargo build", "lint": "cargo clippy"}
_DOTNET = {"test": "dotnet test", "build": "dotnet build", "lint": "dotnet format --verify-no-changes"}
_JUST, _MAKE = ("justfile", "Justfile", ".justfile"), ("GNUmakefile", "makefile", "Makefile")

_KINDS: tuple[tuple[str, tuple[str, ...], Commands | Callable[[Root], Commands]], ...] = (
    ("Node", ("package.json",), _node),
    ("Python", ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "manage.py"), _python),
    ("Rust", ("Cargo.toml",), Commands(_RUST, tuple(_RUST.values()))),
    ("Go", ("go.mod", "go.work"), Commands(_GO, ("go test", "go build", "go vet"))),
    ("Java (Maven)", ("pom.xml",), _wrapped("mvnw", "mvn", {"test": "test", "build": "package -DskipTests"})),
    (
        "Java (Gradle)",
        ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
        _wrapped("gradlew", "gradle", {"test": "test", "build": "assemble"}),
    ),
    (".NET", ("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"), Commands(_DOTNET)),
    ("Ruby", ("Gemfile",), _ruby),
    ("just", _JUST, _targets("just", *_JUST)),
    ("Make", _MAKE, _targets("make", *_MAKE)),
    ("Elixir", ("mix.exs",), Commands(suggested=("mix test",))),
    ("PHP", ("composer.json",), Commands(suggested=("composer test",))),
    ("Swift", ("Package.swift",), Commands(suggested=("swift test", "swift build"))),
    ("Deno", ("deno.json",), Commands(suggested=("deno test", "deno check"))),
)
"""The kinds of projects, the files that mark them, and their commands. They are asked in this order; a later one only
adds what the earlier ones lack, so a Python project whose Makefile has a target `lint` gets `make lint`."""


def detect(folder: Path) -> Commands:
    """What the files in the root of a project say: its kind is the first that is recognised."""
    root = Root(folder)
    kinds = [(kind, found(root) if callable(found) else found) for kind, files, found in _KINDS if root.has(*files)]
    proposed: dict[str, str] = {}
    for _, found in kinds:
        proposed = {**found.proposed, **proposed}
    suggested = dict.fromkeys(command for _, found in kinds for command in found.suggested)
    known = {word: proposed[word] for word in WORDS if word in proposed}
    return Commands(known, tuple(suggested)[:_MOST_SUGGESTED], kinds[0][0] if kinds else "")


def find_test_command(settings: Settings, root: Path) -> str:
    """What tests this project: as the settings say, or as its files do; empty where neither does."""
    return settings.commands.test or detect(root).proposed.get("test", "")


def propose_commands(project: Project) -> tuple[Mapping[str, str], str]:
    """Write what the files of the project say into its settings, unless any of these settings is set anywhere. Returns
    what was written, and what to tell the user. No failure here undoes what the command did before."""
    if any(f"commands.{word}" in project.resolved.origins for word in WORDS):
        return {}, ""
    found = detect(project.root)
    proposed = found.proposed
    if not proposed:
        return {}, ""
    target = settings_writer.project_target(project.root)
    try:
        for word, command in proposed.items():
            settings_writer.set_value(target, f"commands.{word}", command)
    except (ExpectedError, OSError) as error:
        why = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
        return {}, f"The commands of this {found.kind} project were not saved: {why}"
    known = ", ".join(f"commands.{word} = `{command}`" for word, command in proposed.items())
    return proposed, (
        f"This is a {found.kind} project: {known}. Claude is told about these; checks are set separately.\n"
        f"  Saved in {target}. Change one, for example: claude-iterate config commands.test 'npm test'"
    )
