"""`doctor` says what is wrong and how to fix it, and prints no secret; `--fix` repairs what killed runs left."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from freezegun import freeze_time

from claude_iterate.core.events import IterationFinished, IterationStarted, Outcome, RunFinished
from claude_iterate.core.events.enums import Kind
from claude_iterate.system import processes
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Answer, Type
from tests.cli.journals import beginning, journal, write

pytestmark = pytest.mark.usefixtures("claude")
# Its mark is looked for on the whole machine, where tests run side by side.
RUN = f"000001-20260101-000000-{os.getpid():06x}"
FIX = "claude-iterate doctor --fix"
HOST = socket.gethostname()
NOBODY = 4194303
"""A number that no process has."""


def findings(answer: Answer) -> dict[str, dict[str, str]]:
    return {finding["check"]: finding for finding in answer.document["checks"]}


def test_all_is_well(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0, the version shown, the credential named but not printed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    project.create("w")
    answer = typed("doctor", "--json")
    assert answer.code == 0
    assert answer.document["ok"] is True
    assert "9.9.9" in findings(answer)["claude"]["message"]
    assert findings(answer)["login"]["state"] == "ok"
    assert (Path(findings(answer)["prompts"]["message"].rpartition(" in ")[2]) / "loop" / "iteration.md").is_file()
    text = typed("doctor")
    assert text.code == 0
    assert "sk-very-secret" not in answer.out + text.out + text.err


def test_lost_instructions_are_found(typed: Type, project: Project) -> None:
    """Of a workspace that has run; a new one has none yet."""
    layout = project.create("w")
    layout.instructions.unlink(missing_ok=True)
    assert "workspace w" not in findings(typed("doctor", "--json"))
    journal(layout, RunFinished("blocked", "because"))
    found = findings(typed("doctor", "--json"))["workspace w"]
    assert (found["state"], "claude-iterate setup w" in found["fix"]) == ("problem", True)


def test_missing_claude_counts(claude: Path, typed: Type) -> None:
    """Exit 1 and how to get it."""
    claude.unlink()
    answer = typed("doctor")
    assert answer.code == 1
    assert "❌ claude: Claude CLI not found." in answer.out
    assert "npm install" in answer.out


def test_unknown_variables_are_told(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable would otherwise do nothing, silently."""
    monkeypatch.setenv("CLAUDE_ITERATE_DELLAY", "3")
    answer = typed("doctor", "--json")
    assert answer.code == 0
    assert "CLAUDE_ITERATE_DELLAY" in findings(answer)["environment"]["message"]


def test_sick_workspaces_are_found(typed: Type, project: Project) -> None:
    """Torn metadata, a killed run, bad settings, an unusable name: each with its remedy."""
    for name in ("torn", "killed", "odd"):
        project.create(name)
    project.layout("torn").metadata.write_text("{")
    record_run(project.layout("killed"), finished=False)
    odd = project.layout("odd").metadata
    odd.write_text(json.dumps(json.loads(odd.read_text()) | {"config": {"delay": "soon"}}))
    project.create("x").folder.rename(project.workspaces_folder / "_x")
    answer = typed("doctor", "--json")
    assert answer.code == 1
    found = findings(answer)
    assert "doctor --fix" in found["workspace torn"]["fix"]
    assert "claude-iterate run killed" in found["workspace killed"]["fix"]
    assert "delay" in found["workspace odd"]["message"]
    assert "_x" in found["workspaces"]["message"]


def test_a_full_disk_is_found(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not tell of it: something is written, and nothing of it stays."""
    before = sorted(project.root.rglob("*"))
    assert findings(typed("doctor", "--json"))["workspaces"]["state"] == "ok"
    assert sorted(project.root.rglob("*")) == before

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = typed("doctor", "--json")
    assert (answer.code, answer.document["ok"]) == (1, False)
    assert "No space left on device" in findings(answer)["workspaces"]["message"]


def test_the_home_folder_is_not_made_a_repository(typed: Type, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere `git init` is the advice."""
    assert "Make it one: git init" in typed("doctor").out
    monkeypatch.setenv("HOME", str(folder))
    said = typed("doctor").out
    assert (f"{folder} is your home folder" in said, "git init" in said) == (True, False)


def test_the_last_line_counts_problems_and_warnings(typed: Type, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are not called errors, and are not hidden by a good word."""
    (folder / ".git").mkdir()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert typed("doctor").err.strip() in {"No errors.", "No errors, 1 warning."}  # the second where git is missing
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_ITERATE_DELLAY", "3")
    assert typed("doctor").err.strip() in {"No errors, 2 warnings.", "No errors, 3 warnings."}
    (folder / ".claude-iterate.toml").write_text("delay =")
    assert typed("doctor").err.strip() == "1 problem to fix."


@pytest.mark.parametrize(
    ("version", "state", "words"),
    [
        ("2.1.196 (Claude Code)", "warning", "is older than"),
        ("2.1.197 (Claude Code)", "ok", ""),
        ("10.0.0 (Claude Code)", "ok", "is newer than"),
        ("dev", "ok", ""),
        ("0.1 of a script", "ok", ""),
    ],
)
def test_a_claude_that_was_not_tested_is_told(claude: Path, typed: Type, version: str, state: str, words: str) -> None:
    """An old one with the way to update it; what does not call itself Claude Code is left alone."""
    claude.write_text(f"#!/bin/sh\necho '{version}'\n")
    found = findings(typed("doctor", "--json"))["claude"]
    assert (found["state"], version in found["message"]) == (state, True)
    assert words in found["message"]
    assert (" than " in found["message"]) == bool(words)
    assert found["fix"] == ("Update it: claude update" if state == "warning" else "")


@pytest.fixture
def layout(project: Project) -> Layout:
    return project.create("w", instructions=b"- one\n")


@pytest.fixture
def later() -> Iterator[None]:
    """Two hours from now."""
    with freeze_time(datetime.now(UTC) + timedelta(hours=2), tick=True, ignore=["_pytest.timing"]):
        yield


@pytest.fixture
def left() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark of a run."""
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env={"CLAUDE_ITERATE_RUN": RUN},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def record_run(layout: Layout, finished: bool = True, host: str = HOST) -> None:
    done = IterationFinished(1, Outcome(Kind.OK), cost_usd=0.25)
    end = [RunFinished("completed")] if finished else []
    birth = processes.start_identity(os.getpid()) if host == HOST else "elsewhere/1"
    began = beginning(RUN, mode="iterative", pid=NOBODY, host=host, birth=birth)
    write(layout, RUN, [began, IterationStarted(1), done, *end])


def test_leftover_processes_are_ended(typed: Type, layout: Layout, left: subprocess.Popen[bytes]) -> None:
    """The lock's file names the run that was killed; afterwards there is nothing left to fix."""
    record_run(layout, finished=False)
    layout.lock.write_text(json.dumps({"pid": 1, "run": RUN}))
    told = typed("doctor")
    assert (told.code, FIX in told.out, left.poll()) == (1, True, None)
    fixed = typed("doctor", "--fix")
    assert (fixed.code, f"of run {RUN}" in fixed.out) == (0, True)
    assert left.wait(120) != 0
    assert typed("doctor").code == 0


def test_processes_of_a_run_that_may_live_elsewhere_are_left_to_the_person(
    typed: Type, layout: Layout, left: subprocess.Popen[bytes]
) -> None:
    """Its runner was on another machine, as far as we know: nobody here can tell whether it is dead."""
    record_run(layout, finished=False, host="elsewhere")
    layout.lock.write_text(json.dumps({"pid": 1, "run": RUN}))
    answer = typed("doctor", "--fix")
    assert (answer.code, f"If it does not run on another machine: kill {left.pid}" in answer.out) == (1, True)
    assert left.poll() is None


def test_a_run_that_ended_was_not_killed(typed: Type, layout: Layout) -> None:
    """Killed between its last entry and its summary: the journal is the truth for all who look."""
    record_run(layout)
    about = json.loads(layout.metadata.read_text())
    layout.metadata.write_text(json.dumps(about | {"run": {"id": RUN, "state": "running"}, "executionIterations": 0}))
    layout.lock.write_text(json.dumps({"pid": NOBODY, "host": HOST, "run": RUN}))
    shown = typed("show", "w", "--json").document
    assert (shown["status"], shown["counters"]["execution"]) == ("completed", 1)
    (row,) = typed("list", "--json").document["workspaces"]
    assert (row["status"], row["iterations"], row["reason"]) == ("completed", 1, "completed")
    assert "workspace w" not in findings(typed("doctor", "--json"))


def test_a_run_that_goes_on_is_left_alone(typed: Type, layout: Layout, left: subprocess.Popen[bytes]) -> None:
    """Whoever holds the lock is alive, and so is what carries his mark; his new folder is no leftover."""
    (layout.runs / RUN / "raw").mkdir(parents=True)
    with run_lock.hold(layout.lock, "w", RUN):
        assert typed("doctor", "--fix", "--json").document["fixed"] == []
    assert left.poll() is None
    assert (layout.runs / RUN).is_dir()


def test_stale_files_of_ours_are_removed(typed: Type, layout: Layout, project: Project, later: None) -> None:
    """Of atomic writes, of a killed `init`, of a killed deletion; what only looks similar stays."""
    folder = project.workspaces_folder
    gone = [
        layout.folder / ".metadata.json.1-abcd0123.tmp",
        project.root / "..claude-iterate.toml.4194303-abcd1234.tmp",
        folder / ".old.4194303-abcd1234.tmp",
        folder / ".other.1-abcd1234.tmp",  # in a container the first process always lives
    ]
    stay = [
        layout.folder / ".metadata.json.tmp",
        project.root / ".theirs.4194303-abcd1234.tmp",
        folder / ".their.tmp",
        layout.working / ".x.4194303-abcd1234.tmp",
    ]
    for path in (*gone, *stay):
        if path.parent == folder:
            path.mkdir()
            (path / "TODO.md").write_text("")
        else:
            path.write_text("{")
    assert typed("doctor").out.count(FIX) == 4
    answer = typed("doctor", "--fix")
    assert (answer.code, answer.out.count("removed /")) == (0, 4)
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in stay)


def test_fresh_files_may_be_somebodys_work(typed: Type, layout: Layout, project: Project) -> None:
    """Within the hour nothing is called stale."""
    paths = [layout.folder / ".metadata.json.1-abcd1234.tmp", project.workspaces_folder / ".new.1-abcd1234.tmp"]
    paths[0].write_text("{")
    paths[1].mkdir()
    typed("doctor", "--fix")
    assert all(path.exists() for path in paths)


def test_what_a_dead_process_was_deleting_goes_at_once(typed: Type, project: Project, layout: Layout) -> None:
    """It is told as a leftover, not as a workspace with a bad name; what a living one deletes is left to it."""
    paths = [project.workspaces_folder / f".old.{pid}-abcd1234.tmp" for pid in (NOBODY, 1)]
    for path in paths:
        path.mkdir()
        (path / ".metadata.json").write_text("{}")
    told = typed("doctor")
    assert (told.code, told.out.count(FIX), "cannot be used" in told.out) == (0, 1, False)
    typed("doctor", "--fix")
    assert [path.exists() for path in paths] == [False, True]


def test_torn_metadata_is_repaired_from_the_journal(typed: Type, layout: Layout) -> None:
    """Counters, mode and ending are back; the torn file is kept."""
    record_run(layout)
    layout.metadata.write_text('{"name": "w", "mo')
    told = typed("doctor")
    assert (told.code, FIX in told.out) == (1, True)
    answer = typed("doctor", "--fix")
    assert (answer.code, "rebuilt .metadata.json" in answer.out) == (0, True)
    shown = typed("show", "w", "--json").document
    assert (shown["mode"], shown["status"], shown["counters"]["execution"]) == ("iterative", "completed", 1)
    assert (layout.folder / ".metadata.json.bak").read_text() == '{"name": "w", "mo'


def test_torn_metadata_without_a_journal_is_made_new(typed: Type, layout: Layout) -> None:
    """All counters are 0, which is said; the torn file and all else is kept; then nothing is left to fix."""
    layout.metadata.write_text("{")
    layout.instructions.write_text("# Task\n")
    assert FIX in typed("doctor").out
    answer = typed("doctor", "--fix")
    assert (answer.code, "all counters at 0. The workspace's own settings are lost, its checks" in answer.out) == (
        0,
        True,
    )
    assert f"what is left of them is in {layout.folder / '.metadata.json.bak'}" in answer.out
    assert (layout.folder / ".metadata.json.bak").read_text() == "{"
    assert layout.instructions.read_text() == "# Task\n"
    assert typed("show", "w", "--json").document["state"] == "new"
    assert "No errors" in typed("doctor").err


def test_missing_metadata_is_made_new_where_there_is_a_task(typed: Type, layout: Layout) -> None:
    """A folder with instructions is a workspace; any other may be something else, and is left to the user."""
    layout.metadata.unlink()
    layout.instructions.unlink()
    answer = typed("doctor", "--fix")
    assert (answer.code, "init w --force" in answer.out) == (1, True)
    assert not layout.metadata.exists()
    layout.instructions.write_text("# Task\n")
    assert typed("doctor", "--fix").code == 0
    assert layout.metadata.exists()


def test_metadata_that_cannot_be_read_is_left_alone(typed: Type, layout: Layout) -> None:
    """It may be whole: here it is a folder."""
    layout.metadata.unlink()
    layout.metadata.mkdir()
    layout.instructions.write_text("# Task\n")
    answer = typed("doctor", "--fix")
    assert (answer.code, f"{layout.metadata} is a folder, not a file" in answer.out) == (1, True)
    assert layout.metadata.is_dir()


def test_broken_settings_come_first(typed: Type, layout: Layout, project: Project) -> None:
    """Where the workspaces are is a setting; nothing is fixed while it cannot be read."""
    (project.root / ".claude-iterate.toml").write_text("delay =")
    answer = typed("doctor", "--fix", "--json")
    assert (answer.code, answer.document["fixed"]) == (1, [])
    assert any(one["check"] == "settings" and "end of document" in one["message"] for one in answer.document["checks"])
