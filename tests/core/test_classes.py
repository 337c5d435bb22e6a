"""How a call ended. What recordings of the real Claude are is in tests/agent/test_recordings.py."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    CutStarted,
    Denial,
    Entry,
    Event,
    IterationStarted,
    LimitReported,
    ResultReported,
    Said,
    Thought,
    ToolCalled,
)
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.outcomes.classes import (
    CLASSES,
    COUNTED_FAILURES,
    ENDING_FAILURES,
    FINE,
    RETRIED,
    WELL,
    classify,
)
from claude_iterate.core.outcomes.denials import Granted
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.state.fold import fold


def test_words_of_the_model_are_no_evidence() -> None:
    """A good result that talks of limits, logins and overloads is a good result."""
    said = "We hit the 5-hour limit, resets 3pm. Not logged in. Overloaded. Credit balance is too low."
    assert classify(Evidence(ResultReported("success", False, said))).kind == "ok"


def test_an_allowed_window_is_no_limit() -> None:
    """Only a rejected window, and only with a failure, is a limit."""
    good = ResultReported("success", False, "fine")
    assert classify(Evidence(good, rejected=LimitReported("rejected", "five_hour", 1.0))).kind == "ok"


@pytest.mark.parametrize(("cause", "kind"), [(Cause.IDLE, Kind.IDLE), (Cause.TIMEOUT, Kind.TIMEOUT)])
def test_a_cut_names_what_was_running(cause: Cause, kind: Kind) -> None:
    """For how long, and with which tool."""
    outcome = classify(Evidence(None, -15, CutStarted(cause, "Bash has been running for 9m 00s", 900)))
    assert outcome.kind == kind
    assert "15m 00s (Bash has been running for 9m 00s)" in outcome.message


def test_a_good_result_survives_a_bad_exit_if_work_was_reported() -> None:
    """An MCP server that fails at the end makes Claude exit 1 after a good result."""
    good = ResultReported("success", False, "fine")
    assert classify(Evidence(good, 1, wrote_status=True)).kind == "ok"
    assert classify(Evidence(good, 1)).kind == "crash"


def test_a_denial_comes_with_the_rule_to_add() -> None:
    """As commands that can be pasted, whether a report was written or not; what is granted is not offered."""
    result = ResultReported("success", denials=(Denial("Write", "/x"), Denial("Bash", "npm test")))
    outcome = classify(Evidence(result))
    assert (outcome.kind, outcome.message) == ("denied", "not allowed: Bash(npm test:*), Write")
    assert "--permission-mode acceptEdits --allow 'Bash(npm test:*)'" in outcome.advice
    granted = classify(Evidence(result, wrote_status=True, granted=Granted("t", "acceptEdits")))
    assert granted.kind == "ok"
    assert "claude-iterate config -w t claude.allowed_tools --add 'Bash(npm test:*)'" in granted.advice
    assert "claude.permission_mode" not in granted.advice


def failure(text: str, status: int | None = None) -> ResultReported:
    return ResultReported("success", True, text, api_error_status=status)


@pytest.mark.parametrize("text", ["API Error: 400 tool_use ids were found without tool_result", "Prompt is too long"])
@pytest.mark.parametrize("status", [None, 400, 413])
def test_a_refused_request_is_one_failure_and_not_the_end(text: str, status: int | None) -> None:
    """The next iteration has fresh context; only a session that was gone on with is to blame by itself."""
    outcome = classify(Evidence(failure(text, status)))
    assert outcome.kind == "refused"
    assert "smaller" in outcome.advice
    assert classify(Evidence(failure(text, status), resumed=True)).kind == "session"


@pytest.mark.parametrize(
    "text",
    [
        "API Error: Connection error.",
        "API Error: 502 Bad gateway",
        "API Error: Request rejected (429) · slow down",
        "TypeError: fetch failed",
        "getaddrinfo EAI_AGAIN api.anthropic.com",
        "connect ETIMEDOUT 1.2.3.4:443",
        "socket hang up",
    ],
)
def test_a_network_that_fails_is_awaited_without_a_status_too(text: str) -> None:
    """Older releases tell no `api_error_status`."""
    assert classify(Evidence(failure(text), 1)).kind == "transient"


@pytest.mark.parametrize("status", [500, 502, 520, 524, 529, 599])
def test_every_server_error_passes(status: int) -> None:
    """Those of the proxies in between, too."""
    assert classify(Evidence(failure("no", status), 1)).kind == "transient"


@pytest.mark.parametrize(
    "stderr",
    ["hook: notes say we hit the 5-hour limit, resets 3pm", "MCP server foo timed out", "/home/me/billing error"],
)
def test_what_others_print_while_claude_works_proves_nothing(stderr: str) -> None:
    """Hooks and servers write to the same stderr; before a session there is only Claude itself."""
    died = classify(Evidence(None, -9, stderr=stderr, began=True))
    assert died.kind == "crash"
    assert stderr in died.message
    assert classify(Evidence(None, 1, stderr=stderr)).kind != "crash"


REJECTED = LimitReported("rejected", "five_hour", 5000.0)


def test_a_login_that_fails_is_no_limit() -> None:
    """Waiting would not mend it."""
    assert classify(Evidence(failure("Invalid API key", 401), 1, rejected=REJECTED)).kind == "auth"


def test_an_exit_code_takes_a_good_result_back() -> None:
    """A rejection, no report and exit 1: that was the limit, not a crash."""
    good = ResultReported("success", False, "")
    assert classify(Evidence(good, 1, rejected=REJECTED)).kind == "usage_limit"
    assert classify(Evidence(good, 1, rejected=REJECTED, wrote_status=True)).kind == "ok"


@pytest.mark.parametrize(
    "after", [LimitReported("allowed", "five_hour"), ToolCalled("t", "Bash", {}), Said("here we go"), Thought("hm")]
)
def test_a_rejection_is_forgotten_when_claude_gets_through(after: Event) -> None:
    """It says so, or the model answers."""
    state = fold([Entry(1, 0, 0, IterationStarted(1)), Entry(2, 0, 0, REJECTED), Entry(3, 0, 0, after)])
    assert state.call is not None
    assert state.call.rejected is None
    other = [
        Entry(1, 0, 0, IterationStarted(1)),
        Entry(2, 0, 0, REJECTED),
        Entry(3, 0, 0, LimitReported("allowed", "x")),
    ]
    kept = fold(other).call
    assert kept is not None
    assert kept.rejected == REJECTED


def test_every_class_is_either_fine_or_a_failure_of_a_known_sort() -> None:
    """No class falls through the decision."""
    known = FINE | RETRIED | COUNTED_FAILURES | ENDING_FAILURES | {"interrupted", "denied"}
    assert {row.kind for row in CLASSES} == known


def test_a_good_result_counts_when_claude_lingers_after_it() -> None:
    """We ended it, so its exit code says nothing, with or without a report; ended for another reason it does."""
    good = ResultReported("success", False, "fine")
    assert classify(Evidence(good, exit_code=143, cut=CutStarted(Cause.LINGERING))).kind == "ok"
    assert classify(Evidence(good, exit_code=143)).kind == "crash"


def test_a_rejection_that_names_a_window_is_a_limit() -> None:
    """With or without its reset; one that names neither is a passing throttle."""
    failed = ResultReported("success", True, "Request rejected")
    assert classify(Evidence(failed, 1, rejected=LimitReported("rejected", "five_hour"))).kind == "usage_limit"
    assert classify(Evidence(failed, 1, rejected=LimitReported("rejected", "", 9.0))).kind == "usage_limit"
    assert classify(Evidence(failed, 1, rejected=LimitReported("rejected"))).kind != "usage_limit"


def test_a_note_counts_as_delivered_only_after_claudes_own_end() -> None:
    """Silence, a time-out, a stop, a skip: nobody knows whether the prompt was read."""
    assert {"ok", "max_turns"} == WELL
