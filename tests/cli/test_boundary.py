"""Every way to go wrong is one line of what, one line of what to do, and a documented exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.cli import boundary, invocation
from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.package_path import PACKAGES

HEAVY = {"textual", "starlette", "uvicorn", "httpx", "jinja2", "psutil", "watchdog", "tomlkit", "regex"}
CODE = """
import sys
from claude_iterate.cli import main
code = main()
print(*sys.modules)
sys.exit(code)
"""

Start = Callable[..., subprocess.CompletedProcess[bytes]]


def test_help_names_every_command(typed: Type) -> None:
    """The table is what the help shows; no command at all shows it too."""
    for words in (["--help"], ["-h"], []):
        answer = typed(*words)
        assert answer.code == 0
        for row in COMMANDS:
            assert re.search(rf"[ ,] {row.name}[ ,]", answer.out)


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_every_command_has_help(typed: Type, row: Any) -> None:
    """Each module in the table offers its command."""
    answer = typed(row.name, "-h")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: claude-iterate {row.name} ")


@pytest.mark.parametrize(
    "words",
    [["init"], ["init", "a", "b"], ["list", "--nope"], ["init", "a", "-m", "abc"], ["-C", "/nowhere", "list"]],
)
def test_usage_errors_exit_2(typed: Type, folder: Path, words: list[str]) -> None:
    """The usage line, what is wrong, where to look; nothing is made."""
    answer = typed(*words)
    assert answer.code == 2
    assert answer.out == ""
    usage, error, hint = answer.err.splitlines()
    assert usage.startswith("Usage: claude-iterate")
    assert error.startswith("Error: ")
    assert hint.startswith("  ")
    assert list(folder.iterdir()) == []


def test_project_option_works_from_anywhere(typed: Type, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-C names the project, from a sub-directory of it too."""
    typed("init", "w")
    (folder / "deep").mkdir()
    monkeypatch.chdir("/")
    answer = typed("-C", str(folder / "deep"), "list", "--json")
    assert [row["name"] for row in answer.document["workspaces"]] == ["w"]


def test_gone_folder_is_no_crash(typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder that was deleted is told."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    answer = typed("list")
    monkeypatch.chdir(tmp_path)
    assert answer.code == 2
    assert "no longer exists" in answer.err


def test_bug_leaves_a_crash_report(typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug exits 70 and names a file with the traceback, version and arguments; no traceback on the screen."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def broken(_self: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(invocation.Invocation, "project", property(broken))
    answer = typed("list", "--json")
    assert answer.code == 70
    assert answer.out == ""
    assert "Traceback" not in answer.err
    (report,) = tmp_path.glob("claude-iterate-crash-*.txt")
    assert str(report) in answer.err
    text = report.read_text()
    assert "ZeroDivisionError: oops" in text
    assert "'list', '--json'" in text


def test_interrupt_is_130(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is no bug."""

    def interrupted(_self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(invocation.Invocation, "project", property(interrupted))
    answer = typed("list")
    assert answer.code == boundary.INTERRUPTED == 130
    assert "Traceback" not in answer.err


@pytest.fixture
def start(environ: dict[str, str], folder: Path) -> Start:
    """Start the program with these streams."""

    def run(*words: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "claude_iterate", *words]
        known: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": folder}
        known["env"] = environ | {"PYTHONPATH": str(PACKAGES)}
        return subprocess.run(command, check=False, **known | streams)

    return run


def test_reader_that_leaves_is_no_error(start: Start) -> None:
    """`claude-iterate ... | head` prints nothing on stderr."""
    read, write = os.pipe()
    os.close(read)
    done = start("config", "--keys", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (boundary.BROKEN_PIPE, b"")


def test_poor_terminal_gets_plain_signs(called: Type) -> None:
    """Where ✓ cannot be printed, something else is."""
    answer = called("init", "w", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert answer.code == 0
    assert answer.out.startswith("[ok] Made")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug_and_a_lost_note_no_error(start: Start) -> None:
    """An answer that cannot be written is exit code 1 with one line of why. A note that nobody can read changes
    nothing: the exit code is that of the command, not Python's own 120."""
    with Path("/dev/full").open("wb") as full:
        done = start("list", "--json", stdout=full)
        assert done.returncode == 1
        assert done.stderr.startswith(b"Error: No space left on device")
        assert len(done.stderr.splitlines()) == 2
        for words, code in ((["list", "--json"], 0), (["show", "nobody"], 1), (["--no-such-option"], 2)):
            assert start(*words, stderr=full).returncode == code


def test_an_option_without_its_value_points_at_the_help_of_its_command(typed: Type) -> None:
    """Click does not say which command it was."""
    assert typed("run", "x", "--model").err.endswith("See: claude-iterate run --help\n")


def test_a_missing_name_lists_the_workspaces(typed: Type) -> None:
    """The names that there are, except where a new one is wanted; with none, how to make one."""
    assert "Make one: claude-iterate setup NAME" in typed("show").err
    for name in ("a", "b"):
        typed("init", name)
    assert typed("run").err.endswith("Workspaces here: a, b\n")
    assert typed("init").err.endswith("See: claude-iterate init --help\n")


@pytest.mark.parametrize("words", [("--help",), ("list",), ("show", "task")], ids=" ".join)
def test_a_command_that_only_looks_does_without_heavy_packages(
    words: tuple[str, ...], project: Project, environ: dict[str, str], folder: Path
) -> None:
    """`--help`, `list` and `show` answer at once: none of the nine packages is loaded."""
    project.create("task", instructions=b"Do it.\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE, *words],
        env=environ | {"PYTHONPATH": str(PACKAGES)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "claude_iterate.cli.application" in loaded
    assert loaded & HEAVY == set()
