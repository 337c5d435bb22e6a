"""The text log: whole, in order, and no danger to the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_iterate.core.events import (
    AgentExited,
    AssistantText,
    CutStarted,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    Outcome,
    RunFinished,
    StatusChanged,
    StopRequested,
    Tokens,
    ToolCalled,
    ToolResult,
    Warned,
)
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.sinks.text_log import TextLog
from tests.sinks.conftest import Fed, entry, started

RULE = "=" * 80


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "iterate-20251015-142345.log"


@pytest.fixture
def log(path: Path) -> Iterator[Fed]:
    """A log whose failures end the test."""
    log = Fed(TextLog(path, pytest.fail))
    yield log
    log.close()


def test_structure(log: Fed, path: Path) -> None:
    """The seed's sections, from the header to the end of the run."""
    log(entry(started(agent_version="2.1.197", dry_run=True)))
    log(entry(IterationStarted(1, "Do it.\n", "Report.", "Be good."), 5))
    log(entry(AssistantText("Working.\nHard."), 6))
    log(entry(ToolCalled("1", "Bash", {"command": "ls"}), 7))
    log(entry(ToolResult("1", "Bash", "a"), 8))
    log(
        entry(
            IterationFinished(
                1,
                Outcome(Kind.OK),
                Status(False, 56, 60),
                duration=25,
                cost_usd=0.1,
                tokens=Tokens(9, 2),
                turns=3,
                tools=1,
            ),
            30,
        )
    )
    log(entry(RunFinished("completed", "All done", "", 1, 0.1, 31), 31))
    assert path.read_text(encoding="utf-8") == "\n".join(
        [
            RULE,
            "CLAUDE ITERATE - EXECUTION LOG",
            "Started: 2025-10-15T14:23:45.000Z",
            RULE,
            "",
            RULE,
            "RUN METADATA",
            RULE,
            "Workspace: my-task",
            "Mode: loop",
            "Max Iterations: 50",
            "Start Time: 2025-10-15T14:23:45.000Z",
            "Run: r1",
            "Claude Iterate: 0.1.0",
            "Claude Command: claude --model 'a b'",
            "Claude Version: 2.1.197",
            "Dry Run: yes",
            "",
            *(RULE, "INSTRUCTIONS", RULE, "Do it.", ""),
            *(RULE, "SYSTEM PROMPT", RULE, "Be good.", ""),
            *(RULE, "STATUS INSTRUCTIONS", RULE, "Report.", ""),
            *(RULE, "ITERATION 1", "Started: 2025-10-15T14:23:50.000Z", RULE),
            "",
            "CLAUDE OUTPUT:",
            "",
            "Working.",
            "Hard.",
            "",
            "🔧 Bash tool",
            "   Command: ls",
            "✓ Command finished",
            "   Exit code: 0",
            "   a",
            "",
            "STATUS: success",
            "Completed: 2025-10-15T14:24:15.000Z",
            "Duration: 25s",
            "Cost: $0.10",
            "Turns: 3, tools: 1, tokens: 9 in, 2 out",
            "Remaining: 4",
            "",
            *(RULE, "RUN FINISHED", RULE),
            "Reason: completed",
            "Cause: Dry run finished after 1 iteration: checks were not run, no work was done",
            "Detail: All done",
            "Next: claude-iterate run my-task",
            "Iterations: 1",
            "Cost: nothing (dry run)",
            "Duration: 31s",
            "Finished: 2025-10-15T14:24:16.000Z",
            "",
        ]
    )


def test_shared_texts_are_logged_once(log: Fed, path: Path) -> None:
    """A section comes again only when its text changed."""
    for number, instructions in enumerate(["one", "one", "two", "two"], 1):
        log(entry(IterationStarted(number, instructions, system_prompt="same")))
        log(entry(IterationFinished(number, Outcome(Kind.OK))))
    titles = [line for line in path.read_text(encoding="utf-8").splitlines() if line.isupper() or "(changed)" in line]
    assert titles.count("SYSTEM PROMPT") == 1
    assert titles.count("INSTRUCTIONS") == 1
    assert titles.count("INSTRUCTIONS (changed)") == 1


def test_errors(log: Fed, path: Path) -> None:
    """A failed iteration has its error, when, what and what to do."""
    log(entry(IterationFinished(2, Outcome(Kind.CRASH, "Claude exited with code 1\nboom", "See the log."))))
    text = path.read_text(encoding="utf-8")
    assert "STATUS: crash: Claude exited with code 1\n" in text
    assert (
        "ERROR (Iteration 2):\nTime: 2025-10-15T14:23:45.000Z\n"
        "Message: Claude exited with code 1\n   boom\nAdvice: See the log.\n"
    ) in text


def test_lines_in_place(log: Fed, path: Path) -> None:
    """What the runner does stands where it happened, marked as ours; exit code 0 is left out, and how
    much was printed is not."""
    for event in (
        StatusChanged(Status(False, 35, 60), Change(5)),
        Warned("careful\nnow", "do"),
        StopRequested("SIGINT"),
        CutStarted(Cause.TIMEOUT, "", 3600),
        LeftoversEnded(("a", "b")),
        AgentExited(0, 12_345, 6),
        AgentExited(-9),
    ):
        log(entry(event))
    log.flush()
    assert path.read_text(encoding="utf-8").splitlines() == [
        "[claude-iterate] ↳ 35/60 items (+5)",
        "[claude-iterate] ⚠ careful",
        "[claude-iterate] now",
        "[claude-iterate] do",
        "[claude-iterate] Stopping now: Ctrl-C.",
        "[claude-iterate] Ending Claude: the iteration has run for 1h 00m",
        "[claude-iterate] Ended 2 processes left behind: a, b",
        "[claude-iterate] Claude printed 12,345 bytes on stdout and 6 bytes on stderr",
        "[claude-iterate] Claude was killed by signal 9",
        "[claude-iterate] Claude printed 0 bytes on stdout and 0 bytes on stderr",
    ]


def test_20000_lines_once_and_in_order(path: Path) -> None:
    """Nothing lost, nothing twice, whatever the mix of full buffers, ticks and flushes."""
    log = Fed(TextLog(path, pytest.fail))
    for number in range(20000):
        log(entry(AssistantText(f"line {number} ✓"), number / 1000))
        if number % 777 == 0:
            log.tick(number / 1000)
        if number % 1234 == 0:
            log.flush()
    log.close()
    written = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    assert written == [f"line {number} ✓" for number in range(20000)]


def test_the_buffer_holds_10_kilobytes(log: Fed, path: Path) -> None:
    """Written when 10 KB are full, not before, and then all of it."""
    log(entry(AssistantText("x" * 10000)))
    assert path.stat().st_size == 0
    log(entry(AssistantText("y" * 500)))
    assert path.stat().st_size == 10503


def test_a_quiet_second_is_enough(log: Fed, path: Path) -> None:
    """A tick writes once a second has passed since the last writing."""
    log(entry(AssistantText("early"), 0.1))
    log.tick(0.9)
    assert path.stat().st_size == 0
    log.tick(1.0)
    assert "early" in path.read_text(encoding="utf-8")
    log(entry(AssistantText("later"), 1.1))
    log.tick(1.9)
    assert "later" not in path.read_text(encoding="utf-8")
    log.tick(2.1)
    assert "later" in path.read_text(encoding="utf-8")


def test_an_existing_log_is_never_touched(path: Path) -> None:
    """A second run in the same second must find another name."""
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        TextLog(path, pytest.fail)
    assert path.read_text(encoding="utf-8") == "precious"


def test_half_a_character_does_not_break_the_log(log: Fed, path: Path) -> None:
    """Text that UTF-8 cannot write is replaced."""
    log(entry(AssistantText("a\ud800b")))
    log.flush()
    assert "a?b" in path.read_text(encoding="utf-8")


def _descriptor_of(path: Path) -> int:
    for link in Path("/proc/self/fd").iterdir():
        if link.exists() and link.resolve() == path.resolve():
            return int(link.name)
    raise AssertionError("the log is not open")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a Linux device")
def test_a_full_disk_disables_the_log_with_one_message(path: Path) -> None:
    """The first failed write is reported once; from then on nothing is tried and nothing raises."""
    messages: list[str] = []
    log = Fed(TextLog(path, messages.append))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, _descriptor_of(path))
    os.close(full)
    for number in range(2000):
        log(entry(AssistantText("x" * 100), float(number)))
        log.tick(float(number))
    log.flush()
    log.close()
    assert len(messages) == 1
    assert "No space left on device" in messages[0]


def test_an_endless_log_goes_on_without_claudes_words(path: Path) -> None:
    """Beyond its size it says so once; what the run itself does is still logged."""
    log = Fed(TextLog(path, pytest.fail, largest=50_000))
    log(entry(started()))
    for _ in range(2000):
        log(entry(AssistantText("x" * 100)))
        log(entry(Warned("a warning")) if _ % 500 == 0 else entry(AssistantText("y")))
    log(entry(RunFinished("completed")))
    log.close()
    text = path.read_text(encoding="utf-8")
    assert 50_000 <= len(text) < 65_000
    assert text.count("From here on it leaves out") == 1
    assert text.count("a warning") == 4
    assert "xxx" not in text.partition("From here on")[2]


@pytest.mark.parametrize("ours", [True, False])
def test_a_log_that_was_deleted_is_put_back_at_the_end_of_an_iteration(path: Path, ours: bool) -> None:
    """With all that it had, unless its folder is not ours any more."""
    put_back: list[str] = []
    log = Fed(TextLog(path, pytest.fail, is_ours=lambda: ours, on_put_back=lambda: put_back.append("log")))
    log(entry(started()))
    log(entry(AssistantText("before")))
    log.flush()
    path.unlink()
    log(entry(AssistantText("after")))
    log.flush()
    assert not path.exists()
    log(entry(IterationFinished(1, Outcome(Kind.OK), Status(False))))
    log.close()
    assert (path.exists(), put_back) == (ours, ["log"] if ours else [])
    assert not ours or [
        line for line in path.read_text(encoding="utf-8").splitlines() if line in {"before", "after", "STATUS: success"}
    ] == ["before", "after", "STATUS: success"]
