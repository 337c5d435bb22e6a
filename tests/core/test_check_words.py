"""Which files, settings of tools and programs a check's command names."""

from __future__ import annotations

import pytest

from claude_iterate.core.tampering.check_words import Named, named_by


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sh check.sh", {"check.sh"}),
        ("./run-tests --fast", {"./run-tests"}),
        ("/opt/check.sh", {"/opt/check.sh"}),
        ("python tools/check.py --config=tools/check.toml", {"tools/check.py", "tools/check.toml"}),
        ("timeout 60 ./x", {"./x"}),
        ("timeout -k 5 60s sudo -u someone nice -n 5 ./x", {"./x"}),
        ("env A=b -u C ./x y.txt", {"./x", "y.txt"}),
        ("A=b ./x", {"./x"}),
        ("uv run --with more python check.py", {"check.py"}),
        ("poetry run ./x", {"./x"}),
        ("sh -c 'sh inner.sh'", {"inner.sh"}),
        ("""bash -lc "sh -c './deep.sh'" """, {"./deep.sh"}),
        ("cd sub && ./x", {"sub/./x"}),
        ("(cd sub; true) && ./x", {"./x"}),
        ("sh -c 'cd sub && ./x'", {"sub/./x"}),
        ("make -f build.mk check", {"build.mk"}),
        ("pytest tests/test_a.py::test_b", {"tests/test_a.py"}),
        ("diff expected.txt -", {"expected.txt"}),
        ("sort < data.txt > sorted.txt", {"data.txt"}),
        ("true; ./a | ./b || ./c & ./d", {"./a", "./b", "./c", "./d"}),
        ("if ! ./a; then ./b; fi", {"./a", "./b"}),
        ("true\n./second line.txt", {"./second", "line.txt"}),
        ("sh 'a b.sh'", {"a b.sh"}),
        ("./x 'no end", {"./x"}),
        ("sh tests/*.sh", {"tests/*.sh"}),
    ],
)
def test_files_of_a_command(command: str, files: set[str]) -> None:
    """Its words, what is behind other commands, in the folder of a `cd`; also when the quotes do not fit."""
    assert files <= set(named_by(command).files)


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("sh check.sh data.txt", {"check.sh"}),
        ("$PWD/bin/tool x", {"./bin/tool"}),
        ('timeout 60 "${PWD}/bin/tool"', {"./bin/tool"}),
        ("D=tools; $D/check.py", {"tools/check.py"}),
        ("$TOOLS/check", {"given/check"}),
        ("sh ${S:-tools/check.sh}", {"tools/check.sh"}),
        ("sh ${TOOLS:-x}/check.sh", {"given/check.sh"}),
        ("cd sub && $PWD/x", {"sub/x"}),
        ("env A=b sh -c 'python -u check.py'", {"check.py"}),
        ("uv run python tools/check.py", {"tools/check.py"}),
        ("node scripts/check.js", {"scripts/check.js"}),
        ("test -e out.txt", set()),
    ],
)
def test_scripts_that_a_command_runs(command: str, scripts: set[str]) -> None:
    """Behind other commands too, with the values of variables; what a command only reads is none."""
    found = {name.replace("/./", "/") for name in named_by(command, {"TOOLS": "given"}).scripts}
    assert (scripts <= found) if scripts else found == set()


@pytest.mark.parametrize(
    "command", ["PATH=bin:$PATH tool", "export PATH=bin:$PATH; tool", "env PATH=bin:/usr/bin tool", "PATH=./bin tool"]
)
def test_folders_of_programs_that_a_command_names(command: str) -> None:
    """A program of the project may stand there."""
    named = named_by(command)
    assert {name.removeprefix("./") for name in named.folders} >= {"bin"}
    assert "tool" in named.programs


@pytest.mark.parametrize("command", ["echo hi > out.txt", "echo hi >> out.txt", "x 2> out.txt", "x $HOME/out.txt"])
def test_what_is_written_or_not_known_is_not_named(command: str) -> None:
    """The output of a check is not what defines it; a variable's value is not known."""
    assert not any("out.txt" in name for name in named_by(command).files)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("make test", "Makefile"),
        ("make -C sub test", "sub/Makefile"),
        ("cd sub && make", "sub/Makefile"),
        ("npm test", "package.json"),
        ("npm --prefix web test", "web/package.json"),
        ("npx jest", "package.json"),
        ("pytest -q", "pytest.ini"),
        ("python3.12 -m pytest", "conftest.py"),
        ("uv run pytest", "pyproject.toml"),
        ("tox", "tox.ini"),
        ("cargo test", ".cargo/config.toml"),
        ("go test ./...", "go.mod"),
        ("./gradlew test", "build.gradle"),
        ("timeout 60 mypy .", "mypy.ini"),
    ],
)
def test_tools_read_their_configuration(command: str, file: str) -> None:
    """In the folder in which they work."""
    assert file in named_by(command).configuration


def test_programs_and_modules() -> None:
    """Bare names are looked for in PATH, those behind others too; `python -m` runs what stands in the folder first."""
    assert named_by("timeout 9 env A=b pytest | tee x").programs == ("timeout", "env", "pytest", "tee")
    assert named_by("python -m pytest").modules == ("pytest.py", "pytest/__init__.py", "pytest/__main__.py")
    assert named_by("python -m tools.check").modules[0] == "tools/check.py"


@pytest.mark.parametrize("command", ["", ";", "&& ||", "'", "sh -c", "cd", "timeout", "uv", "env", "-", "()" * 500])
def test_odd_commands_name_nothing_and_do_no_harm(command: str) -> None:
    """Whatever was typed."""
    assert named_by(command).configuration == ()


def test_a_command_within_itself_ends() -> None:
    """`sh -c` in `sh -c` in ... is followed some levels deep, and a very long line is cut."""
    command = "./x"
    for _ in range(12):
        command = "sh -c " + repr(command)
    assert isinstance(named_by(command), Named)
    assert len(named_by("./x " + "y " * 100_000).files) <= 1000
