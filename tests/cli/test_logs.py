"""Logs are printed, listed, cut and followed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from claude_iterate.core.events import AssistantText, Entry, Event, RunFinished
from claude_iterate.core.events.enums import Purpose
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type
from tests.cli.journals import beginning
from tests.package_path import PACKAGES

FIRST, SECOND = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb"


class Run:
    """A run that writes its journal when told to."""

    def __init__(self, layout: Layout, run: str) -> None:
        self.layout, self.run, self.seq = layout, run, 0
        self.log = layout.folder / f"iterate-{run[:15]}.log"
        self.writer = JournalWriter(layout.journal(run), pytest.fail)

    def begin(self) -> None:
        self.add(beginning(self.run, log=str(self.log)))

    def add(self, event: Event) -> None:
        self.seq += 1
        self.writer.append(Entry(self.seq, 1_767_225_600.0 + self.seq, 0.0, event))
        self.writer.write_out()


@pytest.fixture
def layout(project: Project) -> Layout:
    return project.create("w")


def finished(layout: Layout, run: str, text: str) -> None:
    made = Run(layout, run)
    made.begin()
    made.add(AssistantText("a\u2028b"))
    made.add(RunFinished("completed"))
    made.log.write_text(text, encoding="utf-8")


def test_last_runs_log_is_printed(typed: Type, layout: Layout) -> None:
    """Line by line, whatever else looks like a line end; -n cuts; --run chooses."""
    finished(layout, FIRST, "one\n")
    finished(layout, SECOND, "two\nthree\u2028x\nfour")
    assert typed("logs", "w").out == "two\nthree\ufffdx\nfour"
    assert typed("logs", "w", "-n", "2").out == "three\ufffdx\nfour"
    assert typed("logs", "w", "-n", "0").out == ""
    assert typed("logs", "w", "--run", FIRST).out == "one\n"
    assert typed("logs", "w", "-f").out == "two\nthree\ufffdx\nfour"
    assert typed("logs", "w", "-f", "-n", "1").out == "four"


def test_one_off_calls_are_no_runs(typed: Type, layout: Layout) -> None:
    """`--list` says what each was; `logs` prints the last run, and a verification only when it is asked for."""
    finished(layout, FIRST, "the run\n")
    verified = Run(layout, SECOND)
    verified.add(beginning(SECOND, log=str(verified.log), purpose=Purpose.VERIFY))
    verified.add(RunFinished("verification_failed"))
    verified.log.write_text("the verification\n")
    rows = [line.split() for line in typed("logs", "w", "--list").out.splitlines()]
    assert [row[:2] for row in rows] == [["RUN", "WHAT"], [FIRST, "run"], [SECOND, "verify"]]
    assert (rows[2][-2:], rows[2][-3] == "0") == (["verification", "failed"], False)
    assert typed("logs", "w").out == typed("logs", "w", "-f").out == "the run\n"
    assert typed("logs", "w", "--json").document["run"] == FIRST
    assert typed("logs", "w", "--run", SECOND).out == "the verification\n"


def test_a_dry_run_hides_no_run(typed: Type, layout: Layout) -> None:
    """The night is the last run, also after a trial; the trial is there for those who name it, and where nothing else
    is. `replay` means the same run."""
    tried = Run(layout, SECOND)
    tried.add(beginning(SECOND, log=str(tried.log), dry_run=True))
    tried.add(RunFinished("completed"))
    tried.log.write_text("the trial\n")
    assert typed("logs", "w").out == "the trial\n"
    finished(layout, FIRST, "the night\n")
    assert typed("logs", "w").out == typed("logs", "w", "-f").out == "the night\n"
    assert typed("logs", "w", "--run", SECOND).out == "the trial\n"
    assert "dry run" not in typed("replay", "w").out
    assert "dry run" in typed("replay", "w", "--run", SECOND).out


def test_a_one_off_call_alone_is_shown(typed: Type, layout: Layout) -> None:
    """There is nothing else to show."""
    made = Run(layout, FIRST)
    made.add(beginning(FIRST, log=str(made.log), purpose=Purpose.SETUP))
    made.log.write_text("the setup\n")
    assert typed("logs", "w").out == "the setup\n"


def test_journal_is_one_document(typed: Type, layout: Layout) -> None:
    """--json holds the entries, a torn last line passed over; -f --json is one entry per line."""
    finished(layout, FIRST, "one\n")
    with layout.journal(FIRST).open("ab") as file:
        file.write(b'{"seq": 4, "at"')
    document = typed("logs", "w", "--json").document
    assert (document["workspace"], document["run"]) == ("w", FIRST)
    assert document["log"].endswith(".log")
    assert [entry["event"]["event"] for entry in document["entries"]] == ["RunStarted", "AssistantText", "RunFinished"]
    lines = typed("logs", "w", "-f", "--json").out.split("\n")
    assert [json.loads(line)["seq"] for line in lines if line] == [1, 2, 3]


def test_runs_are_listed(typed: Type, layout: Layout) -> None:
    """With their reason; the ids are what --run takes."""
    finished(layout, FIRST, "one\n")
    rows = typed("logs", "w", "--list", "--json").document["runs"]
    assert [(row["id"], row["reason"]) for row in rows] == [(FIRST, "completed")]
    assert FIRST in typed("logs", "w", "--list").out
    assert typed("logs", "w", "--run", "../..").code == 2


def test_no_log_is_told(typed: Type, layout: Layout) -> None:
    """Exit 1 and what to do."""
    for words in ([], ["--json"]):
        answer = typed("logs", "w", *words)
        assert answer.code == 1
        assert answer.out == ""
        assert "claude-iterate run w" in answer.err


def test_following_a_run_without_a_log_ends_with_an_error(typed: Type, layout: Layout) -> None:
    """Its journal has lost its beginning, which names the log."""
    Run(layout, FIRST).add(AssistantText("words"))
    assert typed("logs", "w", "-f", "--run", FIRST).code == 1


def follow(folder: Path, environ: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "claude_iterate", "logs", "w", "-f", *words],
        cwd=folder,
        env=environ | {"PYTHONPATH": str(PACKAGES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def test_following_ends_with_the_run(layout: Layout, folder: Path, environ: dict[str, str]) -> None:
    """A run that has not begun, a log that is not there yet, growth, and the end: nothing is missed."""
    with follow(folder, environ) as process:
        # Its note is the handshake: it looks, and there is nothing yet.
        assert "Waiting" in lines(process.stderr).readline()
        with run_lock.hold(layout.lock, "w", FIRST):
            run = Run(layout, FIRST)
            run.begin()
            with run.log.open("w", encoding="utf-8") as log:
                log.write("first\nsec")
                log.flush()
                assert lines(process.stdout).readline() == "first\n"
                log.write("ond\nlast words")
        assert lines(process.stdout).read() == "second\nlast words"
        assert process.wait(120) == 0


def test_following_the_journal(layout: Layout, folder: Path, environ: dict[str, str]) -> None:
    """-f --json prints each entry as it comes."""
    with run_lock.hold(layout.lock, "w", FIRST):
        run = Run(layout, FIRST)
        run.begin()
        with follow(folder, environ, "--json") as process:
            assert json.loads(lines(process.stdout).readline())["event"]["event"] == "RunStarted"
            run.add(AssistantText("hello"))
            assert json.loads(lines(process.stdout).readline())["event"]["text"] == "hello"
            run.add(RunFinished("completed"))
            assert json.loads(lines(process.stdout).readline())["seq"] == 3
            process.kill()
