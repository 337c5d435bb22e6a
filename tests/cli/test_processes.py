"""The program as a stranger meets it: a real process, a real terminal, an environment made from nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.workspace.lifecycle.project import Project
from tests.cli.conftest import Type
from tests.package_path import PACKAGES

pty = pytest.importorskip("pty")


def test_first_steps(called: Type, folder: Path) -> None:
    """init, setup, list, show, logs, reset, clean: the newcomer's path, with JSON that parses everywhere."""
    assert called("init", "w", "--json").document["name"] == "w"
    assert called("setup", "w", "--json", stdin=b"# Task\n- [ ] one\n").document["made"] is False
    assert called("run", "w", "--dry-run", "--no-delay", "-q").code == 0
    row = called("list", "--json").document["workspaces"][0]
    assert (row["state"], row["reason"]) == ("new", None)
    assert called("show", "w", "--json").document["lastDryRun"]["reason"] == "completed"
    assert called("logs", "w", "--json").document["entries"]
    assert called("reset", "w", "--json").code == 0
    assert called("clean", "w", "--force", "--json").code == 0
    assert called("list", "--json").document["workspaces"] == []


def test_demo_runs_to_completion(called: Type, environ: dict[str, str]) -> None:
    """One command, no login: a real run, and the commands it names work."""
    answer = called("demo", CLAUDE_ITERATE_MAX_ITERATIONS="1", CLAUDE_ITERATE_PATHS__WORKSPACES_DIR="/nowhere")
    assert answer.code == 0, answer.err
    assert "Completed after" in answer.out
    words = next(line for line in answer.out.splitlines() if line.endswith("show demo")).split()
    shown = called(*words[1:], "--json")
    assert shown.document["lastDryRun"]["reason"] == "completed"
    assert Path(words[2]).parent == Path(environ["TMPDIR"])


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


def test_clean_asks_on_a_terminal(project: Project, folder: Path, environ: dict[str, str]) -> None:
    """No is no, yes is yes; without an archive it says what is lost."""
    layout = project.create("w")
    code, shown = on_terminal(folder, environ, "n\n", "clean", "w", "--no-archive")
    assert code == 1
    assert "lost for good" in shown
    assert layout.metadata.exists()
    code, shown = on_terminal(folder, environ, "y\n", "clean", "w")
    assert code == 0, shown
    assert not layout.folder.exists()


def test_archiving_asks_on_a_terminal(project: Project, folder: Path, environ: dict[str, str]) -> None:
    """It deletes the workspace. --keep does not, so it does not ask; nor does --force."""
    layout = project.create("w")
    code, shown = on_terminal(folder, environ, "n\n", "archive", "save", "w")
    assert (code, "Archive and delete" in shown, layout.metadata.exists()) == (1, True, True)
    assert not project.archive_folder.exists()
    code, shown = on_terminal(folder, environ, "", "archive", "save", "w", "--keep")
    assert (code, layout.metadata.exists()) == (0, True), shown
    code, shown = on_terminal(folder, environ, "", "archive", "save", "w", "--force")
    assert (code, layout.folder.exists()) == (0, False), shown


def test_setup_opens_the_editor_and_asks_for_permissions(
    project: Project, folder: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """What was saved becomes the instructions, without our advice; the answer becomes a setting."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/What should be there when the work is done?/A poem./" "$1"\n')
    editor.chmod(0o755)
    code, shown = on_terminal(folder, environ | {"VISUAL": str(editor)}, "1\n", "setup", "w")
    assert code == 0, shown
    layout = project.layout("w")
    text = layout.instructions.read_text()
    assert "A poem." in text
    assert "left out" not in text
    assert project.settings_for(layout).settings.claude.permission_mode == "acceptEdits"


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


def test_unknown_keys_survive_a_run(called: Type, project: Project) -> None:
    """Metadata of another version is not thrown away."""
    layout = project.create("w", instructions=b"- [ ] one\n")
    layout.metadata.write_text(json.dumps(json.loads(layout.metadata.read_text()) | {"mine": {"a": 1}}))
    fake = json.dumps([sys.executable, "-P", "-m", "claude_iterate.fake_claude"])
    assert called("run", "w", "--no-delay", "-q", CLAUDE_ITERATE_CLAUDE__COMMAND=fake).code == 0
    document = json.loads(layout.metadata.read_text())
    assert document["mine"] == {"a": 1}
    assert document["run"]["state"] == "finished"


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
        (1, f"setup w --force --from {tmp_path / 'new'}"),
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
                [*powerless(), sys.executable, "-m", "claude_iterate", *words.split()],
                cwd=folder,
                env=environ | {"PYTHONPATH": str(PACKAGES)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, (words, done.stderr)
            assert code == 0 or (len(done.stderr.splitlines()) == 2 and "Permission denied" in done.stderr), words
    finally:
        for place in reversed(places):
            place.chmod(0o700)
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert layout.instructions.read_text() == "old"
