"""The program as a stranger meets it: a real process, a real terminal, an environment made from nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.cli.invocation import own_program
from claude_iterate.operations import demo_project
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.package_path import PACKAGES

pty = pytest.importorskip("pty")


def test_demo_runs_to_completion(called: Type, environ: dict[str, str], tmp_path: Path) -> None:
    """One command, no login: a claim, a failing check, its repair. The commands it prints work as they stand, blanks in
    paths included. No setting of the user reaches it, nothing is spent, and all that it writes is in one folder."""
    place = tmp_path / "a place"
    place.mkdir()
    more = {"CLAUDE_ITERATE_FAKE_PACE": "0", "TMPDIR": str(place), "CLAUDE_ITERATE_PATHS__WORKSPACES_DIR": "/nowhere"}
    answer = called("demo", CLAUDE_ITERATE_MAX_ITERATIONS="1", **more)
    assert answer.code == 0, answer.err
    assert "autumn.txt has 3 lines, not 4" in answer.err
    assert "Task completed successfully after 4 iterations" in answer.out
    (folder,) = place.iterdir()
    printed = answer.out.splitlines()
    commands = [line for line in printed if line.endswith((" show demo", " history demo", " logs demo"))]
    assert len(commands) == 3
    environment = environ | {"PYTHONPATH": str(PACKAGES)}
    shown = [
        subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, encoding="utf-8", timeout=120, check=True
        )
        for command in (f"{commands[0]} --json", *commands[1:])
    ]
    view = json.loads(shown[0].stdout)
    assert (view["status"], view["counters"]["costUsd"], view["proof"]["passed"]) == ("completed", 0.0, True)
    assert sorted(path.name for path in folder.iterdir()) == [
        *(".stand-in", "autumn.txt", "check.sh", "claude-iterate", "spring.txt", "summer.txt")
    ]
    delete = next(line for line in printed if line.startswith("rm "))
    subprocess.run(["sh", "-c", delete], timeout=120, check=True)
    assert list(place.iterdir()) == []
    assert not Path(environ["CLAUDE_ITERATE_MOCK_LOG"]).exists()


def test_the_demo_can_be_watched(project: Project, environ: dict[str, str]) -> None:
    """Unless a test hurries it, the stand-in pauses before each event, about ten seconds in all."""
    folder = project.root / "demo"
    folder.mkdir()
    made, layout = demo_project.make_demo(environ, folder)
    settings = made.settings_for(layout).settings
    calls = json.loads((folder / ".stand-in" / "script.json").read_text())["calls"]
    printed = {"init": 1, "tool": 2, "say": 1, "result": 1}
    events = sum(printed.get(verb, 0) for steps in calls for step in steps for verb in step)
    pace = float(settings.claude.env["CLAUDE_ITERATE_FAKE_PACE"])
    assert 7 <= events * pace + 3 * settings.delay <= 12


@pytest.mark.parametrize("found", [True, False])
def test_printed_commands_name_the_program_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    """By its name if a shell finds it, else by its path; called as a module, the same way again."""
    program = tmp_path / "claude-iterate"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) if found else "/usr/bin")
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    assert own_program() == (("claude-iterate",) if found else (str(program),))
    monkeypatch.setattr(sys, "argv", ["/x/claude_iterate/__main__.py", "demo"])
    assert own_program() == (sys.executable, "-m", "claude_iterate")


def on_terminal(folder: Path, environ: dict[str, str], typed: str, *words: str) -> tuple[int, str]:
    """Run with a terminal on all three streams; what is typed waits in the terminal until it is asked for."""
    keyboard, screen = pty.openpty()
    os.write(keyboard, typed.encode())
    process = subprocess.Popen(
        [sys.executable, "-m", "claude_iterate", *words],
        cwd=folder,
        env=environ | {"PYTHONPATH": str(PACKAGES), "TERM": "xterm"},
        stdin=screen,
        stdout=screen,
        stderr=screen,
    )
    os.close(screen)
    shown = b""
    while True:
        try:
            part = os.read(keyboard, 65536)
        except OSError:  # Linux says EIO when the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(keyboard)
    return process.wait(120), shown.decode()


@pytest.mark.parametrize(
    ("words", "typed", "code", "said", "there"),
    [
        ("clean w --no-archive", "n\n", 1, "lost for good", True),
        ("clean w", "y\n", 0, "Archive and delete", False),
        ("archive save w", "n\n", 1, "Archive and delete", True),
        ("archive save w --keep", "", 0, "Archived w", True),
        ("archive save w --force", "", 0, "Archived w", False),
    ],
)
def test_deleting_asks_on_a_terminal(
    project: Project, folder: Path, environ: dict[str, str], words: str, typed: str, code: int, said: str, there: bool
) -> None:
    """No is no, yes is yes; without an archive it says what is lost. What deletes nothing does not ask; nor does
    --force."""
    layout = project.create("w")
    ended, shown = on_terminal(folder, environ, typed, *words.split())
    assert (ended, said in shown, layout.metadata.exists()) == (code, True, there), shown
    assert project.archive_folder.exists() == (code == 0)


def test_setup_opens_the_editor(project: Project, folder: Path, environ: dict[str, str], tmp_path: Path) -> None:
    """What was saved becomes the instructions, without our advice; then a limit of money is asked for."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/What should be there when the work is done?/A poem./" "$1"\n')
    editor.chmod(0o755)
    code, shown = on_terminal(folder, environ | {"VISUAL": shlex.quote(str(editor))}, "\n", "setup", "w")
    assert code == 0, shown
    layout = project.layout("w")
    text = layout.instructions.read_text()
    assert "A poem." in text
    assert "left out" not in text
    assert project.settings_for(layout).settings.claude.permission_mode is None


def test_setup_without_saving_makes_nothing(folder: Path, environ: dict[str, str]) -> None:
    """An editor that is closed without saving leaves no empty instructions."""
    code, shown = on_terminal(folder, environ | {"VISUAL": "true"}, "", "setup", "w")
    assert code == 1
    assert "Nothing was saved" in shown
    assert list(folder.iterdir()) == []


@pytest.mark.setting("colors")
@pytest.mark.parametrize("without", [["--no-color"], []])
def test_colour_only_where_it_is_welcome(
    project: Project, folder: Path, environ: dict[str, str], without: list[str]
) -> None:
    """A terminal gets colour; --no-color, NO_COLOR and the setting take it away."""
    project.create("w")
    _code, shown = on_terminal(folder, environ, "", *without, "show", "w")
    assert ("\x1b[" in shown) is (not without)
    for variable, value in (("NO_COLOR", "1"), ("CLAUDE_ITERATE_COLORS", "false")):
        assert "\x1b[" not in on_terminal(folder, environ | {variable: value}, "", "show", "w")[1]


def powerless() -> list[str]:
    """What makes permissions count for root as well."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere: run the tests as a normal user, or install setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_read_only_workspace_is_told_by_every_command(
    project: Project, folder: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """Looking works; whatever would write says in two lines why it cannot, and leaves everything as it was."""
    layout = project.create("w", instructions=b"old")
    (tmp_path / "new").write_text("new")
    before = sorted(path.name for path in folder.rglob("*"))
    places = (layout.folder, project.workspaces_folder, folder / "claude-iterate", folder)
    commands = (
        (0, "list"),
        (0, "show w"),
        (1, "init x"),
        (1, "init w --force"),
        (1, f"setup w --force --from {shlex.quote(str(tmp_path / 'new'))}"),
        (1, "reset w"),
        (1, "clean w --force"),
        (1, "clean w --force --no-archive"),
        (1, "config delay 3"),
        (1, "config delay 3 --workspace w"),
    )
    for place in places:
        place.chmod(0o500)
    try:
        for code, words in commands:
            done = subprocess.run(
                [*powerless(), sys.executable, "-m", "claude_iterate", *shlex.split(words)],
                cwd=folder,
                env=environ | {"PYTHONPATH": str(PACKAGES)},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            assert done.returncode == code, (words, done.stderr)
            assert code == 0 or (len(done.stderr.splitlines()) == 2 and "Permission denied" in done.stderr), words
    finally:
        for place in reversed(places):
            place.chmod(0o700)
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert layout.instructions.read_text() == "old"
