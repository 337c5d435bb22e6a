"""How a call ended. What recordings of the real Claude are is in tests/agent/test_recordings.py."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    AssistantText,
    CutStarted,
    Denial,
    Entry,
    Event,
    IterationStarted,
    LimitReported,
    ResultReported,
    Thought,
    ToolCalled,
)
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.outcomes.classes import (
    CLASSES,
    COUNTED_FAILURES,
    ENDING_FAILURES,
    FINE,
    RETRIED,
    classify,
)
from claude_iterate.core.outcomes.denials import Granted
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.state.fold import fold
from tests.core.building import evidence

GOOD = ResultReported("success")


def bad(text: str = "", status: int | None = None) -> ResultReported:
    return ResultReported("success", True, text, api_error_status=status)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, "transient") for status in (408, 409, 429, 500, 599)),
        *((status, "auth") for status in (401, 403)),
        *((status, "refused") for status in (400, 413)),
        (404, "config"),
        (499, "crash"),
        (600, "crash"),
        (None, "crash"),
    ],
)
def test_each_status_has_its_class(status: int | None, kind: str) -> None:
    """Without any words; and a good result with such a status is good."""
    assert classify(evidence(bad(status=status), 1)).kind == kind
    assert classify(evidence(ResultReported("success", api_error_status=status), 0)).kind == "ok"


@pytest.mark.parametrize("status", [401, 403])
def test_a_login_that_does_not_hold_is_no_limit_even_if_a_window_was_rejected(status: int) -> None:
    """Waiting would not help."""
    assert classify(evidence(bad(status=status), 1, rejected=LimitReported("rejected", "five_hour"))).kind == "auth"


@pytest.mark.parametrize(
    "words",
    [
        "You've hit your session limit",
        "Claude AI usage limit reached",
        "You have reached your spend limit",
        "5-hour limit reached",
        "Opus limit reached",
        "You're out of extra usage",
        "You have reached your usage limits. You will regain access on 2030-01-01",
        "Your group's usage limit is reached",
    ],
)
def test_words_that_mean_a_limit(words: str) -> None:
    """In an error; the same words in a good result mean nothing."""
    assert classify(evidence(bad(words), 1)).kind == "usage_limit"
    assert classify(evidence(ResultReported("success", text=words), 0)).kind == "ok"


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("API Error: Extra usage is required for long context requests.", "turn on extra usage"),
        ("API Error: Request rejected (429) · Extra usage is required", "`claude.model`"),
        ("Your usage allocation has been disabled by your admin", "ask who manages the account"),
        ("Your group's usage limit is set to $0", "ask who manages the account"),
        ("API Error: 400 This organization has been disabled.", "ask who manages the account"),
        ("Credit balance is too low", "Add credit"),
    ],
)
def test_a_limit_that_no_waiting_cures_is_a_matter_of_money(words: str, way: str) -> None:
    """Whatever the status and the windows say; in a good result such words mean nothing."""
    rejected = LimitReported("rejected", "five_hour", 5000.0)
    for status in (None, 400, 429):
        outcome = classify(evidence(bad(words, status), 1, rejected=rejected))
        assert (outcome.kind, way in outcome.advice, outcome.message) == ("billing", True, words)
    if "$0" in words:
        typed = ResultReported("success", True, words, signs=("usage_limit_reached",))
        assert classify(evidence(typed, 1)).kind == "billing"
    assert classify(evidence(ResultReported("success", text=words), 0)).kind == "ok"


@pytest.mark.parametrize(
    ("signs", "kind"),
    [
        (("usage_limit_reached", "rate_limit_error"), "usage_limit"),
        (("prompt_too_long", "invalid_request_error"), "refused"),
        (("tool_history_mismatch",), "refused"),
        (("connection_failed",), "transient"),
        (("tls_untrusted_ca",), "config"),
        (("provider_credentials",), "auth"),
        (("account_on_hold",), "billing"),
        (("brand_new_kind",), "transient"),
    ],
)
def test_a_type_goes_before_words_and_status(signs: tuple[str, ...], kind: str) -> None:
    """Where Claude Code names the sort of a failure, its text may say what it likes; an unknown word is none."""
    failed = ResultReported("success", True, "API Error: 529 Overloaded", api_error_status=529, signs=signs)
    assert classify(evidence(failed, 1)).kind == kind


def test_a_type_that_stands_for_many_sorts_leaves_it_to_the_words() -> None:
    """`invalid_request_error` is what the API says of an empty account, too; without other signs it is a refusal."""
    for words, kind in (("Credit balance is too low", "billing"), ("something new", "refused")):
        failed = ResultReported("success", True, words, signs=("invalid_request_error",))
        assert classify(evidence(failed, 1)).kind == kind
    flagged = evidence(bad("Opus 5.5's safeguards flagged this message"), 1, error_sort="invalid_request")
    assert classify(flagged).kind == "refused"


def test_a_rejected_window_is_a_limit_only_if_the_call_failed() -> None:
    """A good result that Claude's exit code does not take back cannot be one."""
    rejected = LimitReported("rejected", "five_hour", 5000.0)
    assert classify(evidence(GOOD, 0, rejected=rejected)).kind == "ok"
    assert classify(evidence(None, 0, rejected=rejected)).kind == "usage_limit"


@pytest.mark.parametrize(
    ("cause", "retrying", "kind", "message"),
    [
        ("idle", False, "idle", "silent for 5.0s (npm test)"),
        ("timeout", False, "timeout", "ran for 5.0s (npm test)"),
        ("duration", False, "interrupted", ""),
        ("idle", True, "transient", "silent for 5.0s (npm test)"),
        ("timeout", True, "transient", "ran for 5.0s (npm test)"),
        ("duration", True, "interrupted", ""),
        ("stopped", True, "interrupted", ""),
        ("skip", False, "skipped", ""),
        ("reboot", False, "rebooted", ""),
    ],
)
def test_each_cut_has_its_class(cause: str, retrying: bool, kind: str, message: str) -> None:
    """A network that swallows everything is nobody's failure; the time of the run is up in any case."""
    cut = CutStarted(cause, after=5.0, doing="npm test")  # type: ignore[arg-type]
    outcome = classify(evidence(None, -15, cut, retrying=retrying))
    assert (outcome.kind, outcome.message) == (kind, message)


def test_retrying_alone_is_no_reason_to_wait() -> None:
    """Claude may have crashed in the middle of it."""
    assert classify(evidence(None, 1, retrying=True)).kind == "crash"


@pytest.mark.parametrize(
    ("result", "wrote", "kind"),
    [(GOOD, False, "ok"), (bad(), False, "crash"), (None, False, "crash")],
)
def test_a_denial_needs_a_good_result_with_denials(result: ResultReported | None, wrote: bool, kind: str) -> None:
    """Without a denial nothing was denied; a failure is a failure; a report that was written is work."""
    assert classify(evidence(result, 0, wrote_status=wrote)).kind == kind
    denied = ResultReported("success", denials=(Denial("Bash", "npm test"),))
    assert classify(evidence(denied, 0)).kind == "denied"
    assert classify(evidence(denied, 0, wrote_status=True)).kind == "ok"


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (evidence(None, -9), "Claude was killed by signal 9"),
        (evidence(None, 0), "Claude exited with code 0 and no result"),
        (evidence(bad(), 3), "Claude exited with code 3"),
        (evidence(bad("odd"), 1), "Claude exited with code 1: odd"),
        (evidence(None, 1, stderr="a\n\nb\nc\nd", session="s"), "Claude exited with code 1 and no result: a b c"),
        (evidence(None, 1, error_said="said", stderr="printed"), "Claude exited with code 1 and no result: said"),
        (evidence(bad(status=503), 1), "The API or the network failed."),
        (evidence(bad("busy", 503), 1), "busy"),
    ],
)
def test_the_message_says_how_it_ended(evidence: Evidence, message: str) -> None:
    """Claude's own words first; without any, what the class means."""
    assert classify(evidence).message == message


def test_advice_fits_the_words() -> None:
    """Root has advice of its own, and only where that is the reason."""
    root = classify(evidence(None, 1, stderr="--dangerously-skip-permissions cannot be used with root"))
    assert (root.kind, "IS_SANDBOX" in root.advice) == ("config", True)
    for words in ("Invalid API key", "Please run /login"):
        advice = classify(evidence(bad(words), 1)).advice
        assert ("ANTHROPIC_API_KEY" in advice, "/login" in advice, "root" in advice) == (True, True, False)


def test_a_limit_knows_its_window_and_its_reset() -> None:
    """The structured moment goes first, then the words; another class has neither."""
    rejected = LimitReported("rejected", "five_hour", 5000.0)
    words = "You've hit your limit · resets in 10 minutes"
    outcome = classify(evidence(bad(words), 1, rejected=rejected, now=4000.0))
    assert (outcome.resets_at, outcome.window) == (5000.0, "five_hour")
    assert (classify(evidence(None, 1, CutStarted(Cause.IDLE), rejected=rejected, now=4000.0))).resets_at is None
    assert classify(evidence(bad(words), 1, now=4000.0)).window == ""


def test_a_good_result_survives_a_bad_exit_if_work_was_reported() -> None:
    """An MCP server that fails at the end makes Claude exit 1 after a good result."""
    assert classify(evidence(GOOD, 1, wrote_status=True)).kind == "ok"
    assert classify(evidence(GOOD, 1)).kind == "crash"


def test_a_denial_comes_with_the_rule_to_add() -> None:
    """As commands that can be pasted, whether a report was written or not; what is granted is not offered."""
    result = ResultReported("success", denials=(Denial("Write", "/x"), Denial("Bash", "npm test")))
    outcome = classify(evidence(result))
    assert (outcome.kind, outcome.message) == ("denied", "not allowed: Bash(npm test:*), Write")
    assert "--permission-mode acceptEdits --allow 'Bash(npm test:*)'" in outcome.advice
    granted = classify(evidence(result, wrote_status=True, granted=Granted("t", "acceptEdits")))
    assert granted.kind == "ok"
    assert "claude-iterate config -w t claude.allowed_tools --add 'Bash(npm test:*)'" in granted.advice
    assert "claude.permission_mode" not in granted.advice


@pytest.mark.parametrize("text", ["API Error: 400 tool_use ids were found without tool_result", "Prompt is too long"])
@pytest.mark.parametrize("status", [None, 400, 413])
def test_a_refused_request_is_one_failure_and_not_the_end(text: str, status: int | None) -> None:
    """The next iteration has fresh context; only a session that was gone on with is to blame by itself."""
    outcome = classify(evidence(bad(text, status)))
    assert outcome.kind == "refused"
    assert "smaller" in outcome.advice
    assert classify(evidence(bad(text, status), resumes="s")).kind == "session"


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
    assert classify(evidence(bad(text), 1)).kind == "transient"


@pytest.mark.parametrize(
    "stderr",
    ["hook: notes say we hit the 5-hour limit, resets 3pm", "MCP server foo timed out", "/home/me/billing error"],
)
def test_what_others_print_while_claude_works_proves_nothing(stderr: str) -> None:
    """Hooks and servers write to the same stderr; before a session there is only Claude itself."""
    died = classify(evidence(None, -9, stderr=stderr, session="s"))
    assert died.kind == "crash"
    assert stderr in died.message
    assert classify(evidence(None, 1, stderr=stderr)).kind != "crash"


REJECTED = LimitReported("rejected", "five_hour", 5000.0)


def test_an_exit_code_takes_a_good_result_back() -> None:
    """A rejection, no report and exit 1: that was the limit, not a crash."""
    assert classify(evidence(GOOD, 1, rejected=REJECTED)).kind == "usage_limit"
    assert classify(evidence(GOOD, 1, rejected=REJECTED, wrote_status=True)).kind == "ok"


@pytest.mark.parametrize(
    "after",
    [LimitReported("allowed", "five_hour"), ToolCalled("t", "Bash", {}), AssistantText("here we go"), Thought("hm")],
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
    assert classify(evidence(GOOD, exit_code=143, cut=CutStarted(Cause.LINGERING))).kind == "ok"
    assert classify(evidence(GOOD, exit_code=143)).kind == "crash"


def test_a_rejection_that_names_a_window_is_a_limit() -> None:
    """With or without its reset; one that names neither is a passing throttle."""
    failed = ResultReported("success", True, "Request rejected")
    assert classify(evidence(failed, 1, rejected=LimitReported("rejected", "five_hour"))).kind == "usage_limit"
    assert classify(evidence(failed, 1, rejected=LimitReported("rejected", "", 9.0))).kind == "usage_limit"
    assert classify(evidence(failed, 1, rejected=LimitReported("rejected"))).kind != "usage_limit"
