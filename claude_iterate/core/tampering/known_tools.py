"""Tools that people use in checks: which files they read, and which of them only start another command."""

from __future__ import annotations

import msgspec

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})

INTERPRETERS = frozenset({"node", "ruby", "perl", "php", "lua", "Rscript", "tclsh", "pwsh", "awk"})
"""Beside shells and Python: the first word after their options is the script that they run."""

PYTHON_TOOLS = frozenset({"pytest", "py.test", "tox", "nox", "coverage", "nose2", "stestr"})
"""Programs that import modules of the project, beside Python itself."""

_PYTEST = ("pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "conftest.py", "tests/conftest.py")
_PACKAGE = (
    "package.json",
    *(f"{tool}.config.{ending}" for tool in ("jest", "vitest", "playwright") for ending in ("js", "mjs", "cjs", "ts")),
    *("jest.config.json", "karma.conf.js", ".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.yml"),
)
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties")
_MAVEN = ("pom.xml", ".mvn/maven.config", ".mvn/jvm.config")
CONFIGURATION: dict[str, tuple[str, ...]] = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "gmake": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "npm": (*_PACKAGE, ".npmrc"),
    "pnpm": (*_PACKAGE, ".npmrc"),
    "yarn": (*_PACKAGE, ".yarnrc", ".yarnrc.yml"),
    "bun": (*_PACKAGE, "bunfig.toml"),
    "node": ("package.json",),
    "jest": _PACKAGE,
    "vitest": _PACKAGE,
    "mocha": _PACKAGE,
    "playwright": _PACKAGE,
    "deno": ("deno.json", "deno.jsonc"),
    "tsc": ("tsconfig.json",),
    "eslint": (
        *(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts")),
        *(f".eslintrc{ending}" for ending in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
        *(".eslintignore", "package.json"),
    ),
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": (),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg", *_PYTEST[-2:]),
    "nox": ("noxfile.py", *_PYTEST),
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
    "pyright": ("pyrightconfig.json", "pyproject.toml"),
    "flake8": (".flake8", "setup.cfg", "tox.ini"),
    "pylint": (".pylintrc", "pylintrc", "pyproject.toml", "setup.cfg"),
    "pre-commit": (".pre-commit-config.yaml",),
    "cargo": ("Cargo.toml", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"),
    "go": ("go.mod", "go.work"),
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "mvn": _MAVEN,
    "mvnw": _MAVEN,
    "rake": ("Rakefile", "rakefile"),
    "rspec": (".rspec", "spec/spec_helper.rb", "spec/rails_helper.rb"),
    "phpunit": ("phpunit.xml", "phpunit.xml.dist"),
    "composer": ("composer.json", "phpunit.xml", "phpunit.xml.dist"),
    "mix": ("mix.exs", "test/test_helper.exs"),
    "dotnet": ("Directory.Build.props", "global.json"),
    "ctest": ("CTestTestfile.cmake", "CMakeLists.txt"),
    "docker": ("Dockerfile", "docker-compose.yml", "compose.yaml"),
}
"""Files that a tool reads in the folder in which it works."""


class Wrapper(msgspec.Struct, frozen=True):
    """A tool that starts the command after its own arguments: options that take a value, and other words before it."""

    options: frozenset[str] = frozenset()
    words: int = 0


WRAPPERS: dict[str, Wrapper] = {
    "timeout": Wrapper(frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "gtimeout": Wrapper(frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "env": Wrapper(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "nice": Wrapper(frozenset({"-n", "--adjustment"})),
    "ionice": Wrapper(frozenset({"-c", "-n", "-p"})),
    "stdbuf": Wrapper(frozenset({"-i", "-o", "-e"})),
    "sudo": Wrapper(frozenset({"-u", "-g"})),
    "flock": Wrapper(frozenset({"-w", "-E"}), 1),
    **dict.fromkeys(("nohup", "command", "setsid", "caffeinate", "npx", "bunx", "xvfb-run", "dotenv"), Wrapper()),
}

RUNNERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "uv": (
        frozenset({"run"}),
        frozenset({"--with", "--python", "-p", "--extra", "--group", "--directory", "--project", "--package"}),
    ),
    "poetry": (frozenset({"run"}), frozenset({"-C", "--directory"})),
    "pipenv": (frozenset({"run"}), frozenset()),
    "pdm": (frozenset({"run"}), frozenset({"-p"})),
    "rye": (frozenset({"run"}), frozenset()),
    "hatch": (frozenset({"run"}), frozenset({"-e"})),
    "pixi": (frozenset({"run"}), frozenset({"-e"})),
    "bundle": (frozenset({"exec"}), frozenset()),
    "mise": (frozenset({"exec", "x"}), frozenset()),
    "direnv": (frozenset({"exec"}), frozenset()),
}
"""Tools with a word after which a command follows, and the options before it that take a value."""
