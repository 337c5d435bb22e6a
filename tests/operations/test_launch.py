"""A run can be started by any program that stands in for the user: its request, its spec, its id, log and folders."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from freezegun import freeze_time
from msgspec.structs import asdict, replace

from claude_iterate.agent.command.command_line import Known
from claude_iterate.core.events import HeldBack
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import ClaudeSettings, Settings
from claude_iterate.engine.run_request import PreparedRun, RunRequest
from claude_iterate.operations import launch, run_checks
from claude_iterate.operations.launch import Agent, make_spec
from claude_iterate.workspace.inheritance import Inheritance
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.package_path import PACKAGES

PROGRAM = """
import contextlib, json, os, sys
from pathlib import Path
from claude_iterate.operations.launch import launch
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.workspace.project import Project

class User:
    can_answer = True
    def __init__(self): self.heard = []
    def warn(self, text): self.heard.append(("warn", text))
    def note(self, text): self.heard.append(("note", text))
    def choose_permissions(self, suggested, sandbox):
        self.heard.append(("asked", ""))
        return {"claude.permission_mode": "plan", "claude.allowed_tools": ["Read"]}
    def ask_amount(self, question):
        self.heard.append(("amount", question))
    steering = staticmethod(contextlib.nullcontext)

project, user = Project(Path.cwd(), os.environ), User()
done = launch(project, project.layout("w"), RunRequest(as_json=True), user)
assert "click" not in sys.modules
print(json.dumps({"code": done.exit_code, "run": done.run, "heard": user.heard}))
"""


def test_a_program_can_start_a_run(tmp_path: Path) -> None:
    """Without click or a terminal; the user is asked once, and the answer reaches Claude in this very run."""
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": f"{tmp_path}-home",
        "PYTHONPATH": str(PACKAGES),
        "CLAUDE_ITERATE_CLAUDE__COMMAND": json.dumps([sys.executable, "-m", "claude_iterate.fake_claude"]),
        "CLAUDE_ITERATE_FAKE_STATE": str(tmp_path / "state"),
        "CLAUDE_ITERATE_FAKE_PACE": "0",
        "CLAUDE_ITERATE_DELAY": "0",
    }
    layout = Project(tmp_path, environ).create("w", instructions=b"- one\n")
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environ, capture_output=True, check=True)
    answer = json.loads(done.stdout)
    assert (answer["code"], layout.run_ids()) == (0, [answer["run"]])
    assert [kind for kind, _text in answer["heard"]] == ["asked", "amount", "note"]
    argv = json.loads((tmp_path / "state" / "call-0001.json").read_text())["argv"]
    assert argv[argv.index("--permission-mode") + 1] == "plan"
    assert argv[argv.index("--allowedTools") + 1] == "Read"


@pytest.mark.parametrize(
    ("version", "options", "words"),
    [
        ("2.1.196 (Claude Code)", None, ["2.1.196 (Claude Code) is older than 2.1.197"]),
        ("2.1.197 (Claude Code)", {"--effort"}, ["does not know --autocompact, so claude.autocompact has no effect"]),
        ("99.0.0 (Claude Code)", {"--effort", "--autocompact"}, []),
        ("1.0 of a script", None, []),
    ],
)
def test_what_is_said_of_the_claude_of_a_run(version: str, options: set[str] | None, words: list[str]) -> None:
    """One that is too old, once, with its version; an option that a setting needs and that is not there. Nothing of one
    that is newer than all that were tested."""
    settings = Settings(claude=ClaudeSettings(effort="low", autocompact="150k"))
    known = Known(frozenset(options) if options is not None else None)
    said = run_checks.agent_warnings(settings, version, known)
    assert [word in warned.text for word, warned in zip(words, said, strict=True)] == [True] * len(words)


def test_a_specification_changes_nothing(tmp_path: Path) -> None:
    """No file is written; the leftovers of a killed run are ended by a step of its own."""
    project = Project(tmp_path, {"HOME": f"{tmp_path}-home"})
    layout = project.create("w", instructions=b"- one\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    options = RunRequest(dry_run=True)
    settings = options.settings_for(project, layout)
    run = PreparedRun(project, layout, options, settings, settings, options.mode_for(layout))
    spec = make_spec(run, "000001-x", Agent("9.9"), Inheritance(killed="000000-x"))
    assert (spec.run, spec.agent_version, spec.request.dry_run) == ("000001-x", "9.9", True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_request_is_the_same_in_another_process() -> None:
    """Each value of it, also those that are not the usual ones."""
    asked = RunRequest(
        settings={"delay": 7.0, "claude.allowed_tools": ("Edit",)},
        allow=("Edit",),
        skip_permissions=True,
        dry_run=True,
        cassette="000001-x",
        detailed=True,
        as_json=True,
        color=False,
        silent=True,
        again=True,
        purpose=Purpose.VERIFY,
        mode="build",
        report="report.md",
        accept_changes=True,
        checks_only=True,
        reset=True,
        command_line=CommandLine(("x", "-C", "y"), (("--delay", "7"),), "build"),
        held=HeldBack("other", 5.0),
        prompt_values={"goal": "a goal"},
    )
    usual = asdict(RunRequest())
    assert [name for name, value in asdict(asked).items() if value == usual[name]] == []
    got = msgspec.json.decode(msgspec.json.encode(asked), type=RunRequest)
    assert (got.layer, {**asdict(got), "settings": {}}) == (asked.layer, {**asdict(asked), "settings": {}})


@freeze_time("2026-12-31 23:59:59")
def test_log_and_id_are_named_after_the_moment(tmp_path: Path) -> None:
    """The clock stands still: no log is written over another."""
    layout = Layout(tmp_path, tmp_path)
    assert launch.new_run_id(layout).startswith("000001-20261231-235959-")
    for _ in range(3):
        launch.log_path(layout).touch()
    names = [f"iterate-20261231-235959{more}.log" for more in ("-2", "-3", "")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_dry_runs_do_not_push_out_a_real_night(tmp_path: Path) -> None:
    """Of each kind the last ones keep their raw output, and the one that is played keeps it anyway."""
    layout = Layout(tmp_path, tmp_path)
    runs = [f"{number:06d}-x" for number in range(1, 10)]
    for run in runs:
        dry = run not in {"000001-x", "000002-x", "000003-x"}
        used = replace(layout, dry_run_folder=layout.dry_run_copy(run)) if dry else layout
        launch.make_folders(used, run, 2, "000004-x")
    left = [run for run in runs if (layout.runs / run / "raw").exists()]
    assert [int(run[:6]) for run in left] == [2, 3, 4, 8, 9]
    assert [int(run[:6]) for run in runs if layout.dry_run_copy(run).exists()] == [4, 8, 9]
