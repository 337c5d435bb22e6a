"""The console at its three levels."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from claude_iterate.core.events import (
    AgentExited,
    AssistantText,
    Changes,
    CheckFinished,
    CutStarted,
    Denial,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    Outcome,
    ProofChange,
    ReviewFinished,
    RunFinished,
    SnapshotTaken,
    StatusChanged,
    StopRequested,
    TestCounts,
    Thought,
    ToolCalled,
    ToolResult,
    VerificationFinished,
    Warned,
    WorkMeasured,
)
from claude_iterate.core.events.enums import ENDINGS, Cause, Kind, Reason
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.sinks.console import Console
from tests.sinks.conftest import BEGAN, Fed, Terminal, entry, started

OK = Outcome(Kind.OK)


def play(
    *happened: Event,
    level: str = "progress",
    out: io.StringIO | None = None,
    err: io.StringIO | None = None,
    color: bool = False,
) -> tuple[str, str]:
    """What came to out and to err when a console was given these events."""
    out, err = out or io.StringIO(), err or io.StringIO()
    console = Fed(Console(out, err, level, color))
    for number, event in enumerate(happened):
        console(entry(event, float(number)))
    console.close()
    return out.getvalue(), err.getvalue()


def test_the_closing_line_has_what_was_measured() -> None:
    """Files of all iterations and commits; nothing where nothing was measured."""
    measured = WorkMeasured(1, Changes(2, 3, commits=1, how="git"), progress=("files",))
    done = IterationFinished(1, OK, Status(True))
    ended = RunFinished("completed", iterations=1, cost_usd=0.12, duration=185)
    out, _ = play(started(), IterationStarted(1), done, measured, ended)
    assert "  Iterations: 1 · Time: 3m 05s · Work: 5 file changes, 1 commit · Cost: $0.12" in out.splitlines()
    out, _ = play(started(), IterationStarted(1), done, ended)
    assert "Work" not in out


def test_progress_lines_of_a_loop() -> None:
    """The seed's lines: progress on err, the result on out."""
    out, err = play(
        started(),
        IterationStarted(1),
        ToolCalled("1", "Bash", {"command": "ls"}),
        AssistantText("hello"),
        StatusChanged(Status(False, 35, 60, summary="Migrated 35"), Change(5)),
        IterationFinished(1, OK, Status(False, 56, 60), cost_usd=0.31, duration=252),
        IterationStarted(2),
        IterationFinished(2, Outcome(Kind.MAX_TURNS), Status(True, 60, 60, summary="All done")),
        RunFinished("completed", "All done", iterations=2, cost_usd=0.12, duration=185, known_by="checks"),
    )
    assert err.splitlines() == [
        "Starting my-task (loop mode, at most 50 iterations)",
        "Running iteration 1...",
        "  ↳ 35/60 items (+5) - Migrated 35",
        "✓ Iteration 1 complete (4 items remaining, 4m 12s, $0.31)",
        "Running iteration 2...",
        "✓ Iteration 2 complete (0 items remaining) (stopped at the turn limit)",
    ]
    assert out.splitlines() == [
        "✓ Task completed successfully after 2 iterations: proven by checks",
        "  Log: /w/iterate-1.log",
        "  Iterations: 2 · Items: 60/60 · Time: 3m 05s · Cost: $0.12",
        "  Next: claude-iterate report my-task",
    ]


def test_a_log_that_is_not_there_is_not_named() -> None:
    """It was deleted, or could not be written."""
    for level in ("progress", "quiet"):
        out, err = io.StringIO(), io.StringIO()
        console = Fed(Console(out, err, level, place=lambda _path: ""))
        console(entry(started()))
        console(entry(RunFinished("agent_failed", "x")))
        console.close()
        assert "Claude failed: x" in err.getvalue()
        assert "Log:" not in out.getvalue() + err.getvalue()


def test_iterative_mode_tells_what_was_done() -> None:
    """No count, but the summary; one iteration is singular; the cost of a dry run is none."""
    out, err = play(
        started(mode="iterative", max_iterations=0, dry_run=True),
        IterationFinished(1, OK, Status(False, 1, 9, worked=True, summary="Did\nthings"), cost_usd=9, duration=3),
        RunFinished("completed", iterations=1),
    )
    assert err.splitlines() == [
        "Starting my-task (iterative mode, no iteration limit, dry run)",
        "✓ Iteration 1 complete (3.0s)",
        "  Did things",
    ]
    assert out.startswith("✓ Dry run finished after 1 iteration: checks were not run, no work was done\n")
    assert out.endswith("  Next: claude-iterate run my-task\n")


def test_failed_iterations_and_interventions() -> None:
    """A failure has its message and advice; a denied tool is named; what we do to Claude is said."""
    _, err = play(
        Warned("disk is low", "free some"),
        IterationStarted(2),
        StopRequested("SIGINT"),
        StopRequested("SIGINT", now=True),
        CutStarted(Cause.IDLE, "Bash npm test", 900),
        LeftoversEnded(("sleep 9",)),
        IterationFinished(
            2, Outcome(Kind.DENIED, "not allowed: Bash(npm:*)", "Allow it"), denials=(Denial("Bash", "npm"),)
        ),
        IterationFinished(3, Outcome(Kind.INTERRUPTED)),
        IterationFinished(4, OK, Status(False), problems=("`worked` must be a boolean",)),
    )
    assert err.splitlines() == [
        "⚠ disk is low",
        "  free some",
        "Running iteration 2...",
        "Stopping after this iteration: Ctrl-C. Press Ctrl-C again to stop now.",
        "Stopping now: Ctrl-C.",
        "Ending Claude: nothing was heard for 15m 00s (Bash npm test)",
        "Ended 1 process left behind: sleep 9",
        "❌ Iteration 2 failed: not allowed: Bash(npm:*)",
        "  Allow it",
        "  ⚠ Denied: Bash: npm",
        "❌ Iteration 3 was stopped before its end",
        "✓ Iteration 4 complete",
        "  ⚠ Status report: `worked` must be a boolean",
    ]


def test_the_closing_lines_are_cause_what_to_know_figures_and_next_step() -> None:
    """The cause in the seed's words; four lines, however much there is to know. Each command ends its line."""
    figures = "  Iterations: 5 · Items: 3/9 · Time: 0.0s · Cost: $0.00"
    for advice, between in (
        ("Log in: claude", ["  Log in: claude", figures]),
        ("Log in: claude\nOr: edit", ["  Log in: claude", "  Or: edit"]),
        ("Log in: claude\nOr: edit\nOr: ask", ["  Log in: claude", "  (2 more lines: claude-iterate logs my-task)"]),
    ):
        out, _ = play(
            started(max_iterations=5),
            IterationFinished(5, OK, Status(False, 3, 9, summary="Half\nway")),
            RunFinished("max_iterations", "5", advice, iterations=5),
        )
        assert out.splitlines() == [
            "⚠️ Reached maximum iterations (5)",
            *between,
            "  Next: claude-iterate run my-task",
        ]


def test_a_claim_that_did_not_count_is_not_repeated() -> None:
    """All items may be claimed to be done; the run is not completed."""
    claim = Status(True, 2, 2, summary="all done")
    out, _ = play(started(), IterationFinished(1, OK, claim), RunFinished("max_iterations", "1", iterations=1))
    assert not [words for words in ("2/2", "all done", "Complete!") if words in out]


def test_a_failure_that_ends_the_run_is_told_once() -> None:
    """The iteration is named, the cause and the way out follow at the end; a run that goes on tells them at once, as
    does one that ends for another reason."""
    failed = IterationFinished(1, Outcome(Kind.AUTH, "Not logged in", "Log in"), denials=(Denial("Bash", "npm"),))
    _, err = play(started(), failed, RunFinished("agent_failed", "Not logged in", "Log in", iterations=1))
    assert err.splitlines()[1:-2] == [
        "❌ Iteration 1 failed",
        "  ⚠ Denied: Bash: npm",
        "❌ Claude failed: Not logged in",
        "  Log in",
    ]
    for after in (IterationStarted(2), RunFinished("max_iterations", "1")):
        _, err = play(started(), failed, after)
        assert err.splitlines()[1:3] == ["❌ Iteration 1 failed: Not logged in", "  Log in"]


def test_the_measure_of_a_failure_stands_between_it_and_the_end() -> None:
    """It follows at once what it is about, and the cause is still told once."""
    failed = IterationFinished(1, Outcome(Kind.CRASH, "It broke"))
    measured = SnapshotTaken(1, "abc"), WorkMeasured(1, Changes(1, 2, 3, commits=2), TestCounts(41, 1, 1))
    ended = RunFinished("agent_failed", "1 iteration failed; the last: It broke", cause="Claude failed: It broke")
    line = "  Measured: files +1 ~2 -3 · 2 commits · tests 41/43"
    said = play(started(), failed, *measured, ended)[1].splitlines()
    assert said[1:4] == ["❌ Iteration 1 failed", line, "❌ Claude failed: It broke"]
    said = play(started(), failed, *measured, IterationStarted(2))[1].splitlines()
    assert said[1:] == ["❌ Iteration 1 failed: It broke", line, "Running iteration 2..."]
    well = IterationFinished(1, Outcome(Kind.OK), Status(False))
    assert play(started(), well, WorkMeasured(1, Changes()))[1].splitlines()[2:] == ["  Measured: no file changed"]
    assert play(started(), well, WorkMeasured(1))[1].splitlines()[2:] == []


def test_a_proof_that_ends_the_run_is_told_once() -> None:
    """What the check printed is shown when it ended, and not again."""
    output = "\n".join(f"line {number}" for number in range(1, 31))
    findings = f"The check `make test` failed with exit code 2. The end of its output:\n{output}"
    red = (CheckFinished("make test", 2, 1.0, output), VerificationFinished(1, False, findings))
    _, err = play(started(), *red, RunFinished("verification_failed", findings, "See it."))
    assert err.splitlines()[1:-2] == [
        "  ❌ make test: exit code 2 (1.0s)",
        "    (15 earlier lines in the log)",
        *(f"    line {number}" for number in range(16, 31)),
        "❌ Not done: the check `make test` failed with exit code 2",
        "  See it.",
    ]
    _, err = play(started(), *red, IterationStarted(2))
    assert err.splitlines()[-2:] == [
        "❌ Verification failed: the check `make test` failed with exit code 2.",
        "Running iteration 2...",
    ]


def test_a_review_that_could_not_be_held_is_told_once() -> None:
    """Why is the cause of the end; if the run goes on, the next line says it."""
    lost = ReviewFinished("unheld", "Not logged in", outcome=Outcome(Kind.AUTH, "Not logged in"))
    _, err = play(started(), lost, RunFinished("agent_failed", "Not logged in"))
    assert err.splitlines()[1:3] == ["  ❌ The review could not be held", "❌ Claude failed: Not logged in"]
    limit = ReviewFinished("unheld", "Limit", outcome=Outcome(Kind.USAGE_LIMIT, "Limit"))
    assert play(started(), limit)[1].splitlines()[1:] == ["  ↻ The review will be repeated"]


def test_what_could_not_even_be_started_is_no_failure_of_an_iteration() -> None:
    """Claude was not called."""
    odd = IterationFinished(1, Outcome(Kind.CONFIG, "The prompt is odd", called=False))
    ending = RunFinished("agent_failed", "The prompt is odd", cause="Cannot start: The prompt is odd")
    assert play(started(), odd, ending)[1].splitlines()[1] == "❌ Cannot start: The prompt is odd"


@pytest.mark.parametrize("last", ["tick", "close"])
def test_a_failure_is_not_kept_back(last: str) -> None:
    """It is shown within a second, and before the console closes."""
    err = io.StringIO()
    console = Fed(Console(io.StringIO(), err, "progress"))
    console(entry(IterationFinished(1, Outcome(Kind.CRASH, "boom"))))
    console.tick(1.0) if last == "tick" else console.close()
    assert err.getvalue() == "❌ Iteration 1 failed: boom\n"


@pytest.mark.parametrize("level", ["quiet", "progress", "verbose"])
@pytest.mark.parametrize("reason", ENDINGS)
def test_endings_go_where_they_belong(level: str, reason: Reason) -> None:
    """A good ending is on out, a failure on err; when quiet, only a failure is told."""
    ending = RunFinished(reason, "why", "do this", cause="It was so", next="go on")
    out, err = play(started(), ending, level=level)
    told, silent = (out, err) if ENDINGS[reason].good else (err, out)
    assert "It was so" not in silent
    if level == "quiet" and ENDINGS[reason].good:
        assert (out, err) == ("", "")
    else:
        assert told.count("It was so\n") == 1
        lines = told.splitlines()[-4:]
        assert (lines.count("  do this"), lines[-1]) == (1, "  Next: go on")


def test_quiet_is_silent_when_all_is_well() -> None:
    """Nothing at all is written by a good run, whatever it warns of: that is in the log and in `show`."""
    assert play(
        started(),
        Warned("careful"),
        IterationStarted(1),
        AssistantText("x"),
        StatusChanged(Status(True), Change()),
        IterationFinished(1, OK, Status(False)),
        RunFinished("completed", iterations=1),
        level="quiet",
    ) == ("", "")


def test_quiet_tells_what_is_doubtful_in_a_completed_run() -> None:
    """Nothing is not "all is well": part of the proof was changed, or the claim does not fit the report."""
    changes = (ProofChange("check", "check.sh", "changed"),)
    for ending in (
        RunFinished("completed", iterations=1, known_by="changed", changes=changes),
        RunFinished("completed", iterations=1, known_by="checks", about_claim="3 of 10 items done; check.sh"),
    ):
        out, err = play(started(), ending, level="quiet")
        assert out == ""
        told = {"changed": "⚠️ Checks passed, but check.sh was changed: not proven (after 1 iteration)"}
        proven = "✓ Task completed successfully after 1 iteration: proven by checks"
        assert err.splitlines()[0] == told.get(ending.known_by, proven)
        assert "  ⚠ " in err
        assert "check.sh" in err


def test_evidence_that_is_longer_than_a_cause_is_in_the_log() -> None:
    """What Claude needs may be a page; the end has four lines."""
    needed = "\n".join(f"{number}. what shall I do about this?" for number in range(20))
    shown = [play(started(), RunFinished("blocked", needed), level=level)[1] for level in ("progress", "quiet")]
    assert [err.count("  Log: ") for err in shown] == [1, 1]
    assert [err.count("needs you: 0. what shall I do") for err in shown] == [1, 1]


def test_verbose_shows_claude() -> None:
    """Blocks come between the progress lines, on err."""
    _, err = play(
        IterationStarted(1),
        AssistantText("hello"),
        ToolCalled("1", "Bash", {"command": "ls"}),
        ToolResult("1", "Bash", "a"),
        AgentExited(1),
        IterationFinished(1, OK, Status(False)),
        level="verbose",
    )
    assert err.splitlines() == [
        "",
        "Running iteration 1...",
        "",
        "hello",
        "",
        "🔧 Bash tool",
        "   Command: ls",
        "✓ Command finished",
        "   Exit code: 0",
        "   a",
        "Claude exited with code 1",
        "",
        "✓ Iteration 1 complete",
    ]


@pytest.mark.parametrize(("zone", "hours"), [("UTC0", 0), ("JST-9", 9), ("EST5", -5)])
def test_without_a_terminal_lines_have_a_clock(in_zone: Callable[[str], None], zone: str, hours: int) -> None:
    """In local time, with the date where it changes. The closing message is a result and has none."""
    in_zone(zone)
    out, err = io.StringIO(), io.StringIO()
    console = Fed(Console(out, err, "verbose", clock=True))
    for event, elapsed in (
        (started(), 0),
        (IterationStarted(1), 1),
        (AssistantText("words"), 2),
        (IterationFinished(1, OK, Status(False)), 86400),
        (RunFinished("completed", iterations=1), 86401),
    ):
        console(entry(event, elapsed))
    console.close()
    local = datetime.fromtimestamp(BEGAN, timezone(timedelta(hours=hours)))
    tomorrow = local + timedelta(days=1)
    assert err.getvalue().splitlines() == [
        f"{local:%Y-%m-%d %H:%M:%S} Starting my-task (loop mode, at most 50 iterations)",
        "",
        f"{local + timedelta(seconds=1):%H:%M:%S} Running iteration 1...",
        "",
        "words",
        "",
        f"{tomorrow:%Y-%m-%d %H:%M:%S} ✓ Iteration 1 complete",
    ]
    assert out.getvalue().startswith("✓ Task completed successfully after 1 iteration\n")


def test_verbose_is_flushed_per_entry() -> None:
    """A reader of the stream sees each event at once."""
    raw = io.BytesIO()
    console = Fed(Console(io.StringIO(), io.TextIOWrapper(raw, "utf-8"), "verbose"))
    console(entry(AssistantText("now")))
    assert b"now" in raw.getvalue()


def test_color_needs_a_terminal_and_consent() -> None:
    """No ANSI codes without both; thinking is dim."""
    assert "\x1b" not in play(Warned("x"), color=True)[1]
    assert "\x1b" not in play(Warned("x"), err=Terminal(), color=False)[1]
    assert "\x1b[33m⚠ x\x1b[0m" in play(Warned("x"), err=Terminal(), color=True)[1]
    assert "\x1b[2m💭 hm\x1b[0m" in play(Thought("hm"), err=Terminal(), color=True, level="verbose")[1]


def test_no_escape_injection_on_a_terminal() -> None:
    """Control characters of the model and its tools are shown, never sent; tabs stay."""
    text = "a\x1b[2J\x9b2J\x07\tb\r\nc\u202ed"
    _, err = play(
        AssistantText(text), ToolResult("1", "Bash", text), Warned(text), level="verbose", err=Terminal(), color=False
    )
    assert not set(err) & {"\x1b", "\x9b", "\x07", "\r", "\u202e"}
    assert "a␛[2J" in err
    assert "\tb\n" in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_poor_encodings_get_stand_ins(encoding: str) -> None:
    """ASCII signs where emoji cannot be shown; other letters are replaced, nothing raises."""
    raw = io.BytesIO()
    console = Fed(Console(io.TextIOWrapper(raw, encoding), io.TextIOWrapper(raw, encoding), "verbose"))
    for event in (
        AssistantText("漢字 \ud800"),
        ToolCalled("1", "Bash", {"command": "ls"}),
        Warned("careful"),
        IterationFinished(1, Outcome(Kind.CRASH, "x")),
        RunFinished("completed"),
    ):
        console(entry(event))
    text = raw.getvalue().decode(encoding)
    assert "?? ?" in text
    for stand_in in ("[tool] Bash tool", "[warn] careful", "[error] Iteration 1 failed", "[ok] Task completed"):
        assert stand_in in text


class ClosedPipe(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise BrokenPipeError


def test_a_closed_pipe_silences_for_good() -> None:
    """The first failed write is the last one tried, and the other stream still gets the result."""
    pipe = ClosedPipe()
    out, _ = play(
        started(), *[AssistantText("x")] * 9, RunFinished("completed", iterations=3), level="verbose", err=pipe
    )
    assert pipe.tries == 1
    assert "after 3 iterations" in out


def test_a_closed_stream_does_not_raise() -> None:
    """Neither does a stream that was closed under our feet."""
    stream = io.StringIO()
    console = Fed(Console(stream, stream, "progress"))
    stream.close()
    console(entry(Warned("x")))
    console.close()


@pytest.mark.parametrize(("at", "shown"), [(1e30, "⚠ x"), (BEGAN, ":45 ⚠ x")])
def test_a_moment_beyond_the_calendar_has_no_clock(at: float, shown: str) -> None:
    """A damaged journal is shown all the same."""
    err = io.StringIO()
    console = Fed(Console(io.StringIO(), err, "progress", clock=True))
    console(Entry(1, at, 0.0, Warned("x")))
    assert err.getvalue().rstrip().endswith(shown)
