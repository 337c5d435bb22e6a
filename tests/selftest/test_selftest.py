"""Every fault of `selftest` is survived, by the code that the command runs; and the command reports the truth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.selftest.faults import FAULTS
from claude_iterate.selftest.harness.fault import Fault, FaultProject
from claude_iterate.selftest.harness.fault_runner import run_fault
from claude_iterate.selftest.harness.scripted_project import PATIENCE, until
from claude_iterate.system import processes
from tests.package_path import PACKAGES

WRONG = """
from msgspec.structs import replace
from claude_iterate.cli.boundary import main
from claude_iterate.selftest import faults
from claude_iterate.selftest.harness.fault import Expected

name, first = next(iter(faults.FAULTS.items()))
wrong = replace(faults.FAULTS["http-401"], expected=Expected("blocked", 1, ("ok",)))
faults.FAULTS = {"http-401": wrong, name: first}
raise SystemExit(main(["selftest"]))
"""


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(PACKAGES)}


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, in an environment of its own."""
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=20 * PATIENCE, check=False
    )


def selftest(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return called(folder, "-m", "claude_iterate", "selftest", *flags)


@pytest.mark.parametrize(("name", "fault"), FAULTS.items(), ids=FAULTS)
def test_the_fault_is_survived(name: str, fault: Fault, tmp_path: Path) -> None:
    """It ends for the expected reason, with the expected code, and leaves nothing behind."""
    result = run_fault(name, fault, FaultProject(tmp_path / "fault", fault.settings))
    if result.state == "skipped":
        pytest.skip(result.problems[0])
    assert result.problems == ()


def test_list_names_every_fault_and_runs_none(tmp_path: Path) -> None:
    """`--list`, for people and as one document."""
    done = selftest(tmp_path, "--list")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(FAULTS) + 1
    listed = json.loads(selftest(tmp_path, "--list", "--json").stdout)["faults"]
    assert [row["name"] for row in listed] == list(FAULTS)
    assert list(tmp_path.iterdir()) == []


def test_only_runs_what_matches_and_cleans_up(tmp_path: Path) -> None:
    """A pattern, a row for each, the card, exit 0, and no folder left."""
    done = selftest(tmp_path, "--only", "http-4*", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in ("http-400", "http-401", "http-529") if name in done.stdout] == ["http-400", "http-401"]
    assert "4 of 4 faults survived" in done.stdout
    assert [path.name for path in tmp_path.iterdir() if "selftest" in path.name] == []


def test_an_unknown_name_is_refused_beside_a_known_one(tmp_path: Path) -> None:
    """It is named, with what was meant: silence must not look like a fault that was survived."""
    done = selftest(tmp_path, "--only", "http-401", "--only", "htp-429")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No fault matches htp-429" in done.stderr
    assert "Did you mean http-429" in done.stderr


def test_json_is_one_document(tmp_path: Path) -> None:
    """The verdict, the counts and every fault."""
    done = selftest(tmp_path, "--only", "http-401", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["ok"], told["survived"], told["failed"]) == (0, True, 1, 0)
    (fault,) = told["faults"]
    assert (fault["name"], fault["state"], fault["expected"]) == ("http-401", "survived", fault["got"])


def test_it_works_under_nohup(tmp_path: Path) -> None:
    """The runs that it starts receive SIGHUP, although selftest itself ignores it."""
    done = subprocess.run(
        [sys.executable, "-m", "claude_iterate", "selftest", "--only", "sighup"],
        env=environment(tmp_path),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0


def test_a_fault_that_is_not_survived_fails_the_command(tmp_path: Path) -> None:
    """Exit 1; what was expected, what came, what it means, and the folder that is kept."""
    done = called(tmp_path, "-c", WRONG)
    assert done.returncode == 1
    assert "1 of 2 faults survived" in done.stdout
    assert "expected blocked (1): ok, got agent_failed (1): auth" in done.stdout
    assert "What it means: " in done.stdout
    (kept,) = tmp_path.glob("claude-iterate-selftest-*/*")
    assert f"Look here: {kept}" in done.stdout
    assert list(kept.glob("project/claude-iterate/workspaces/*/iterate-*.log"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_and_leaves_nothing_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """No run goes on and no folder stays, also when Claude ignores signals."""
    process = subprocess.Popen(
        [sys.executable, "-m", "claude_iterate", "selftest", "--only", "ignores-signals", "--only", "killed-while-*"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: list(tmp_path.glob("claude-iterate-selftest-*/ignores-signals/state/call-*.json")))
    (state,) = tmp_path.glob("claude-iterate-selftest-*/ignores-signals/state")
    assert list(processes.with_environment("CLAUDE_ITERATE_FAKE_STATE", str(state)))
    process.send_signal(number)
    assert process.wait(PATIENCE) == code
    assert list(processes.with_environment("CLAUDE_ITERATE_FAKE_STATE", str(state))) == []
    assert list(tmp_path.glob("claude-iterate-selftest-*")) == []
