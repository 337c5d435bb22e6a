"""How a call ended, judged on recordings of the real Claude and on made-up evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.agent.stream import Translator
from claude_iterate.core.events import (
    AgentExited,
    CutStarted,
    Denial,
    Entry,
    IterationStarted,
    LimitReported,
    ResultReported,
)
from claude_iterate.core.outcome import (
    CLASSES,
    COUNTED_FAILURES,
    ENDING_FAILURES,
    FINE,
    RETRIED,
    Evidence,
    allow_rules,
    classify,
)
from claude_iterate.core.state import RunState, fold_from, reduce

FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude-2.1.197"


def evidence_of(name: str, code: int) -> Evidence:
    """The evidence that the engine would have after this recording."""
    translator = Translator()
    state = reduce(RunState(), Entry(1, 0, 0, IterationStarted(1)))
    for line in (FIXTURES / f"{name}.ndjson").read_bytes().split(b"\n"):
        state = fold_from(state, (Entry(1, 0, 0, event) for event in translator.translate(line)))
    state = reduce(state, Entry(1, 0, 0, AgentExited(code)))
    now = state.call
    assert now is not None
    stderr = FIXTURES / f"{name}.stderr.txt"
    words = stderr.read_text() if stderr.exists() else ""
    return Evidence(now.result, code, None, now.rejected, now.error_said, words)


@pytest.mark.parametrize(
    ("name", "code", "kind"),
    [
        ("a1-argv-simple", 0, "ok"),
        ("a4-all-tools", 0, "ok"),
        ("a6-subagent", 0, "ok"),
        ("c01-max-turns", 1, "max_turns"),
        ("c02-max-budget", 1, "budget"),
        ("c11-resume-unknown", 1, "config"),
        ("c15-fallback-529", 0, "ok"),
        ("d01-401-maxretries2", 1, "auth"),
        ("d02-403", 1, "auth"),
        ("d03-429-retry-after-2", 1, "transient"),
        ("d05-429-unified-headers", 1, "transient"),
        ("d06-500", 1, "transient"),
        ("d07-529", 1, "transient"),
        ("d08-529-no-sandbox-default-retries", 1, "transient"),
        ("d09-400", 1, "config"),
        ("d10-404-model", 1, "config"),
        ("d11-413", 1, "config"),
        ("d12-400-prompt-too-long", 1, "config"),
        ("d13-400-credit-balance", 1, "billing"),
        ("d14-500-then-ok", 0, "ok"),
        ("d20-conn-refused", 1, "transient"),
        ("d23-close-mid-stream", 1, "transient"),
        ("d26-empty-stream", 1, "transient"),
        ("d29-html-200", 1, "transient"),
        ("d34-hang-api-timeout-3s", 1, "transient"),
        ("d50-oauth-allowed", 0, "ok"),
        ("d51-oauth-allowed-warning", 0, "ok"),
        ("d52-oauth-429-usage-limit", 1, "usage_limit"),
        ("d54-oauth-429-no-headers", 1, "transient"),
        ("d55-oauth-401", 1, "auth"),
        ("d57-not-logged-in", 1, "auth"),
        ("e1-permission-denied-default", 0, "denied"),
        ("e5-permission-bypass", 0, "ok"),
        ("f5-run-in-background", 0, "ok"),
        ("f6-run-in-background-short", 0, "ok"),
        ("g-sigterm-bash", 143, "crash"),
        ("g-sigkill-bash", -9, "crash"),
        ("j1-loop-iteration", 0, "ok"),
        ("k3-hook-block", 0, "denied"),
        ("m5-refusal", 1, "crash"),
        ("m6-empty-content", 0, "ok"),
        ("o1-slow-reader-truncated", 0, "crash"),
    ],
)
def test_recordings_are_classed_as_what_they_are(name: str, code: int, kind: str) -> None:
    """The real CLI's output, one situation each."""
    assert classify(evidence_of(name, code)).kind == kind


def test_words_of_the_model_are_no_evidence() -> None:
    """A good result that talks of limits, logins and overloads is a good result."""
    said = "We hit the 5-hour limit, resets 3pm. Not logged in. Overloaded. Credit balance is too low."
    assert classify(Evidence(ResultReported("success", False, said))).kind == "ok"


def test_an_allowed_window_is_no_limit() -> None:
    """Only a rejected window, and only with a failure, is a limit."""
    good = ResultReported("success", False, "fine")
    assert classify(Evidence(good, rejected=LimitReported("rejected", "five_hour", 1.0))).kind == "ok"


@pytest.mark.parametrize("cause", ["idle", "timeout"])
def test_a_cut_names_what_was_running(cause: str) -> None:
    """For how long, and with which tool."""
    outcome = classify(Evidence(None, -15, CutStarted(cause, "Bash has been running for 9m 00s", 900)))
    assert outcome.kind == cause
    assert "15m 00s (Bash has been running for 9m 00s)" in outcome.message


def test_a_good_result_survives_a_bad_exit_if_work_was_reported() -> None:
    """An MCP server that fails at the end makes Claude exit 1 after a good result."""
    good = ResultReported("success", False, "fine")
    assert classify(Evidence(good, 1, wrote_status=True)).kind == "ok"
    assert classify(Evidence(good, 1)).kind == "crash"


def test_denials_become_the_rule_to_add() -> None:
    """Each tool once; a command by its first word."""
    denials = (Denial("Bash", "npm test -- -v"), Denial("Write", "/x"), Denial("Bash", "npm run x"))
    assert allow_rules(denials) == "--allow 'Bash(npm:*)' --allow 'Write'"


def test_every_class_is_either_fine_or_a_failure_of_a_known_sort() -> None:
    """No class falls through the decision."""
    known = FINE | RETRIED | COUNTED_FAILURES | ENDING_FAILURES | {"interrupted", "denied"}
    assert {row.kind for row in CLASSES} == known
