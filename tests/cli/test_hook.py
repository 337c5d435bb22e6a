"""`hook list` and `hook test`: which programs a run would call, and what one of them does."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.system import processes
from claude_iterate.workspace.project import Project
from tests.bubblewrap import needs_bwrap
from tests.cli.conftest import Type


def write(path: Path, script: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(mode)


@pytest.fixture
def hooks(project: Project) -> Path:
    """The folder of the project's hooks; there is a workspace `w`."""
    project.create("w", instructions=b"- one\n")
    return project.root / "claude-iterate" / "hooks"


def test_list_names_all_in_their_order(typed: Type, hooks: Path, project: Project) -> None:
    """The project's first; what cannot run says why, and how to correct it."""
    write(hooks / "started", "true", 0o644)
    write(hooks / "finished", "true")
    write(project.layout("w").folder / "hooks" / "finished", "true")
    (hooks / "README").write_text("no hook")
    rows = typed("hook", "list", "-w", "w", "--json").document["hooks"]
    assert [(row["point"], row["scope"], row["runs"]) for row in rows] == [
        ("started", "project", False),
        ("finished", "project", True),
        ("finished", "workspace", True),
    ]
    said = typed("hook", "list", "-w", "w")
    assert "it is not executable" in said.out
    assert "chmod +x claude-iterate/hooks/started" in said.err
    assert "claude-iterate/hooks/started is not run" in typed("doctor").out


def test_nearly_the_name_of_a_hook_is_reported(typed: Type, hooks: Path) -> None:
    """Unless the hook is there, too: then it may be its helper. Other files are nobody's business."""
    write(hooks / "iteration_finish", "true")
    for name in ("finished", "finished.sh", "library.sh", "started.disabled"):
        write(hooks / name, "true")
    said = typed("hook", "list", "-w", "w")
    folder = "claude-iterate/hooks"
    assert f"mv {folder}/iteration_finish {folder}/iteration_finished" in said.err
    assert said.err.count("mv ") == 1
    assert f"{folder}/iteration_finish is not run: its name is not iteration_finished" in typed("doctor").out


def test_list_without_hooks_says_where_they_go(typed: Type, hooks: Path) -> None:
    """And which names they have."""
    said = typed("hook", "list")
    assert said.code == 0
    assert str(hooks) in said.err
    assert "iteration_finished" in said.err


@pytest.mark.parametrize(
    ("script", "code", "means"),
    [("exit 0", 0, "go_on"), ("exit 1", 0, "skip"), ("exit 2", 1, "abort"), ("exit 3", 1, "failed")],
)
def test_test_says_what_the_exit_code_means(typed: Type, hooks: Path, script: str, code: int, means: str) -> None:
    """The hook gets what it gets in a run, marked as a test; its output is shown."""
    write(hooks / "next_iteration", f'echo "$CLAUDE_ITERATE_HOOK_WORKSPACE $CLAUDE_ITERATE_HOOK_TEST"; cat; {script}')
    answer = typed("hook", "test", "next_iteration", "-w", "w", "--json")
    assert answer.code == code
    (row,) = answer.document["hooks"]
    assert row["means"] == means
    assert row["output"].startswith("w 1\n")
    assert '"point": "next_iteration"' in row["output"]


def test_test_goes_on_with_the_next_hook_after_a_failure(typed: Type, hooks: Path, project: Project) -> None:
    """As a run does; the exit code still tells of it. After `finished` there is no run that could go on."""
    write(hooks / "finished", "exit 3")
    write(project.layout("w").folder / "hooks" / "finished", "echo own")
    answer = typed("hook", "test", "finished", "-w", "w")
    assert (answer.code, answer.out) == (1, "own\n")
    assert "exit code 3" in answer.err
    assert "The run would warn; it is over by then." in answer.err


def test_test_ends_one_that_takes_too_long(typed: Type, hooks: Path, project: Project) -> None:
    """With everything that it started."""
    write(hooks / "finished", "sleep 600 & echo $! > left; sleep 600")
    assert typed("config", "hooks.timeout", "1").code == 0
    answer = typed("hook", "test", "finished", "-w", "w")
    assert answer.code == 1
    assert "did not end in time" in answer.err
    assert not processes.is_alive(int((project.root / "left").read_text()))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["finished"], 2, "Missing option '-w'"),
        (["finished", "-w", "w"], 1, "There is no hook finished"),
        (["finished", "-w", "none"], 1, "Workspace not found"),
        (["sometimes", "-w", "w"], 2, "started"),
    ],
)
def test_a_test_of_nothing_is_refused(typed: Type, hooks: Path, words: list[str], code: int, said: str) -> None:
    """With the next step."""
    answer = typed("hook", "test", *words)
    assert answer.code == code
    assert said in answer.err


@needs_bwrap
def test_test_calls_it_in_the_sandbox_of_the_workspace(typed: Type, hooks: Path, environ: dict[str, str]) -> None:
    """As a run would: it sees no other file of the user and no other variable; one that takes too long is ended."""
    (Path(environ["HOME"]) / "secret").write_text("plover")
    environ["SECRET_OF_MINE"] = "plover"
    write(hooks / "finished", 'cat ~/secret; env; [ -e deaf ] || exit 0; trap "" TERM; setsid sleep 600 & sleep 600')
    assert typed("config", "-w", "w", "sandbox.kind", "bwrap").code == 0
    (row,) = typed("hook", "test", "finished", "-w", "w", "--json").document["hooks"]
    assert row["code"] == 0
    assert "plover" not in row["output"]
    assert "IS_SANDBOX=1" in row["output"]
    assert "CLAUDE_ITERATE_HOOK_POINT=finished" in row["output"]
    (hooks.parent.parent / "deaf").touch()
    assert typed("config", "hooks.timeout", "1").code == 0
    answer = typed("hook", "test", "finished", "-w", "w")
    assert (answer.code, "did not end in time" in answer.err) == (1, True)
