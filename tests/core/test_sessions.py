"""Which session goes on, and which one never does again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import (
    Entry,
    IterationFinished,
    IterationStarted,
    Outcome,
    Rebooted,
    Requested,
    ResultReported,
    RunStarted,
    Tokens,
)
from claude_iterate.core.events.enums import Kind, Reboot, Verb
from claude_iterate.core.events.run import Session
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.rules.between import Continuation, choose_session, decide
from claude_iterate.core.rules.verdicts import Begin
from claude_iterate.core.settings.declared import build
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.fold import fold_from
from claude_iterate.core.state.run_state import RunState
from tests.core.building import after, evidence, facts

ID = "8f2faae9-8052-4836-ac33-af634375cd69"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude-2.1.197"
STARTED = RunStarted("r1", "w", "loop", 5, 1, "h", "0", ("claude",))


def finished(kind: Kind = Kind.OK, session: str = ID, context: float | None = 0.5) -> IterationFinished:
    return IterationFinished(1, Outcome(kind), session=session, context=context)


@pytest.mark.parametrize(
    ("state", "mode", "expected"),
    [
        (RunState(session=Session(ID)), "fresh", Continuation(None)),
        (RunState(), "resume", Continuation("")),
        (RunState(session=Session(ID)), "resume", Continuation(ID)),
        (RunState(session=Session(ID, 0.85)), "resume", Continuation(ID)),
        (RunState(session=Session("--dangerously-skip-permissions")), "resume", Continuation("")),
        (RunState(session=Session(ID + "\n")), "resume", Continuation("")),
    ],
)
def test_only_a_good_session_of_our_own_goes_on(state: RunState, mode: str, expected: Continuation) -> None:
    """What Claude printed in the place of an id never becomes an option."""
    assert choose_session(state, build({"session": mode}), 0.0) == expected


@pytest.mark.parametrize("redline", [7, 28, 57, 58, 85, 99])
def test_a_full_context_begins_a_fresh_session_and_says_so(redline: int) -> None:
    """Above the redline, not at it, whatever binary fractions make of a percentage."""
    settings = build({"session": "resume", "context_redline": redline})
    at, above = (RunState(session=Session(ID, (redline + more) / 100)) for more in (0.0, 0.01))
    assert choose_session(at, settings, 0.0) == Continuation(ID)
    assert choose_session(above, settings, 0.0) == Continuation("", Rebooted(Reboot.REDLINE, ID, above.session.context))


@pytest.mark.setting("session_expiry")
def test_a_session_that_was_not_used_for_long_is_not_resumed() -> None:
    """By its last use, on the wall clock: the run may have been paused, waiting or killed meanwhile. 0: never."""
    state = after(STARTED, IterationStarted(1), finished())
    used = state.session.used
    assert used == state.last_at
    day = build({"session": "resume"})
    assert choose_session(state, day, used + 86400) == Continuation(ID)
    assert choose_session(state, day, used + 86401) == Continuation("", Rebooted(Reboot.EXPIRED, ID, 0.5))
    hour = build({"session": "resume", "session_expiry": 3600.0})
    assert choose_session(state, hour, used + 3601).session == ""
    never = build({"session": "resume", "session_expiry": 0.0})
    assert choose_session(state, never, used + 1e9) == Continuation(ID)
    killed = after(RunStarted("r2", "w", "loop", 5, 1, "h", "0", ("c",), resumed=resume_from("r1", state, 9)))
    assert choose_session(killed, hour, used + 3601).session == ""


def test_reboots_are_recorded_once_and_counted() -> None:
    """By the user in mid-call and between calls, and for a spoilt session; through a kill as well."""
    asked = after(STARTED, IterationStarted(1), Requested(Verb.REBOOT), finished(Kind.REBOOTED))
    resume, fresh = build({"session": "resume"}), build({})
    for settings in (resume, fresh):
        assert choose_session(asked, settings, 9.0).reboot == Rebooted(Reboot.USER, ID, 0.5)
    between = after(STARTED, IterationStarted(1), finished(), Requested(Verb.REBOOT))
    assert choose_session(between, resume, 9.0).reboot == Rebooted(Reboot.USER, ID, 0.5)
    spoilt = after(STARTED, finished(), IterationStarted(2, resumes=ID), finished(Kind.SESSION, ""))
    assert choose_session(spoilt, resume, 9.0).reboot == Rebooted(Reboot.SESSION, ID, 0.5)
    nothing = after(STARTED, Requested(Verb.REBOOT))
    assert choose_session(nothing, resume, 9.0).reboot is None
    done = fold_from(asked, [Entry(9, 9.0, 9.0, IterationStarted(1)), Entry(10, 9.0, 9.0, Rebooted(Reboot.USER, ID))])
    assert (done.reboots, done.session) == (1, Session())
    again = after(RunStarted("r2", "w", "loop", 5, 1, "h", "0", ("c",), resumed=resume_from("r1", done, 9)))
    assert again.reboots == 1


def test_failures_end_a_session_and_limits_do_not() -> None:
    """A limit is nobody's failure: the session, and how full it is, stay as they were."""
    for kind in (Kind.OK, Kind.MAX_TURNS, Kind.SKIPPED):
        assert after(finished(kind)).session.id == ID
    for kind in (Kind.CRASH, Kind.TIMEOUT, Kind.IDLE, Kind.DENIED, Kind.SESSION):
        assert after(finished(), finished(kind)).session.id == ""
    for kind in (Kind.USAGE_LIMIT, Kind.TRANSIENT):
        state = after(finished(), finished(kind, "another", None))
        assert (state.session.id, state.session.context) == (ID, 0.5)


def test_reboot_ends_a_session_in_mid_call_and_between_calls() -> None:
    """Even if the call that was to be cut ended well before the cut."""
    assert after(finished(), Requested(Verb.REBOOT)).session.id == ""
    state = after(IterationStarted(1), Requested(Verb.REBOOT), finished())
    assert (state.session.id, state.session.context) == ("", None)


@pytest.mark.parametrize(
    "words",
    [
        f"No conversation found with session ID: {ID}",
        "API Error: 400 messages.3: `tool_use` ids were found without `tool_result` blocks immediately after",
        "diagnostics.previous_message_id: unknown",
        "Prompt is too long",
        "Conversation too long",
        "Request too large (max 32MB). Try with a smaller file.",
    ],
)
def test_a_spoilt_session_is_blamed_only_if_one_was_resumed(words: str) -> None:
    """The same words about a fresh session are a failure of their own."""
    bad = ResultReported("success", True, words)
    assert classify(evidence(bad, 1, resumes="s")).kind == "session"
    assert classify(evidence(bad, 1)).kind != "session"
    assert classify(evidence(ResultReported("success", False, words), 0, resumes="s")).kind == "ok"


def test_the_recorded_refusal_of_an_unknown_session() -> None:
    """As the real Claude prints it; on standard error alone it is understood too."""
    line = (FIXTURES / "c11-resume-unknown.ndjson").read_bytes()
    (result,) = Translator().translate(line)
    assert isinstance(result, ResultReported)
    assert classify(evidence(result, 1, resumes="s")).kind == "session"
    words = (FIXTURES / "c11-resume-unknown.stderr.txt").read_text()
    assert classify(evidence(None, 1, stderr=words, resumes="s")).kind == "session"


def test_a_bad_request_is_tried_once_with_a_fresh_session() -> None:
    """400 may be the session's fault; 401 and 429 never are."""
    kinds = {
        status: classify(
            evidence(ResultReported("success", True, "API Error", api_error_status=status), 1, resumes="s")
        )
        for status in (400, 401, 429)
    }
    assert {status: outcome.kind for status, outcome in kinds.items()} == {
        400: "session",
        401: "auth",
        429: "transient",
    }


def test_the_same_iteration_is_done_again_at_once() -> None:
    """No wait, no pause, no failure, the same number, and it is told what the first attempt was told."""
    crashed = IterationFinished(1, Outcome(Kind.CRASH, "it fell over"), session=ID)
    state = after(STARTED, IterationStarted(1), crashed, IterationStarted(2, resumes=ID), finished(Kind.SESSION))
    assert (state.iterations, state.breaker.failures, state.streaks.retries, state.findings) == (
        1,
        1,
        1,
        "it fell over",
    )
    assert decide(state, facts(state.last_at, delay=1.5)) == Begin(2)


def test_the_session_and_the_tokens_survive_a_crash() -> None:
    """A killed run hands them on, with what the call under way had told; through the journal's form."""
    done = IterationFinished(1, Outcome(Kind.OK), cost_usd=1.0, tokens=Tokens(1, 2, 3, 4), session=ID, context=0.5)
    result = ResultReported("success", cost_usd=0.5, tokens=Tokens(10, 20, 30, 40))
    state = after(STARTED, IterationStarted(1), done, IterationStarted(2, resumes=ID), result)
    handed = msgspec.json.encode(
        RunStarted("r2", "w", "loop", 5, 1, "h", "0", ("c",), resumed=resume_from("r1", state, 9))
    )
    again = after(msgspec.json.decode(handed, type=RunStarted))
    assert (again.session.id, again.session.context) == (ID, 0.5)
    assert (again.cost_usd, again.tokens) == (1.5, Tokens(11, 22, 33, 44))
    assert carry_over(state).cost_usd == 1.5
