"""Whatever the API does to the real Claude: the run waits, goes on or ends, with the right words."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

import pytest

from tests.e2e.conftest import until
from tests.mocks.messages_api import Disconnect, Failure, Hang, Message, text, tool, used_up
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude

IDLE = "15s"
"""Ten times what Claude needs to begin: a busy machine must not make it a silent one."""
UNIFIED = "anthropic-ratelimit-unified-"


@pytest.mark.parametrize(
    ("answer", "kind", "words", "advice"),
    [
        pytest.param(Failure(401), "auth", "Invalid API key", "ANTHROPIC_API_KEY", id="401"),
        pytest.param(Failure(403), "auth", "Failed to authenticate", "Log in", id="403"),
        pytest.param(Failure(404), "config", "issue with the selected model", "`claude.model`", id="404"),
        pytest.param(
            Failure(400, "Your credit balance is too low to access the Anthropic API."),
            "billing",
            "Credit balance is too low",
            "Add credit",
            id="credit",
        ),
        pytest.param(
            Failure(429, "Extra usage is required for long context requests."),
            "billing",
            "Extra usage is required for long context requests.",
            "turn on extra usage",
            id="429-that-no-waiting-cures",
        ),
    ],
)
def test_what_a_person_must_mend_ends_the_run_at_once(
    real: RealLoop, answer: Failure, kind: str, words: str, advice: str
) -> None:
    """One iteration, Claude's own words, and what to do."""
    real.make()
    real.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
    real.api.script(forever=answer)
    done = real.run("--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (6, "agent_failed")
    assert real.iterations() == [(1, kind)]
    assert words in done.err
    assert advice in done.err


@pytest.mark.parametrize("credential", ["none", "expired subscription"])
def test_a_missing_login_ends_the_run_at_once(real: RealLoop, credential: str) -> None:
    """Nobody is logged in, or the subscription's token does not count any more."""
    real.make()
    real.subscribe()
    if credential == "none":
        del real.env["CLAUDE_CODE_OAUTH_TOKEN"]
    real.api.script(forever=Failure(401, "OAuth authentication is currently not supported."))
    done = real.run("--detailed-exit-code")
    assert (done.code, real.iterations()) == (6, [(1, "auth")])
    assert "claude setup-token" in done.err


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param([used_up(time.time() + 9000)], id="429-of-an-api-key"),
        pytest.param([Failure(529)], id="529"),
        pytest.param([Disconnect(), Disconnect()], id="disconnect-twice"),
    ],
)
def test_trouble_beyond_claudes_patience_is_waited_out(real: RealLoop, trouble: list[Any]) -> None:
    """The same iteration is done again after a pause. It costs what Claude Code names: a newer one counts what it had
    of an answer that broke off."""
    real.make()
    real.set(limits__max_wait="1s")
    real.api.script(*trouble, real.report(True), text("Done."))
    done = real.run()
    assert done.code == 0, done.err
    assert real.iterations() == [(1, "transient"), (1, "ok")]
    limited = isinstance(trouble[0], Failure) and trouble[0].status == 429
    assert [event["why"] for event in real.events("WaitStarted")] == ["rate_limit" if limited else "transient"]
    assert real.ending()["iterations"] == 1
    assert real.ending()["cost_usd"] == pytest.approx(sum(result["total_cost_usd"] for result in real.results()))


@pytest.mark.parametrize("end", [used_up(time.time() + 9000), Failure(529), Failure(401)], ids=["429", "529", "401"])
def test_a_claim_before_nothing_but_a_refusal_is_believed(real: RealLoop, end: Any) -> None:
    """The report was the last that Claude did; it is not waited for to hear it again."""
    real.make()
    real.api.script(real.report(True), forever=end)
    assert real.run("--json").code == 0
    assert (real.ending()["reason"], real.ending()["known_by"]) == ("completed", "report")
    assert (len(real.iterations()), real.events("WaitStarted")) == (1, [])


def test_server_errors_that_claude_rides_out_itself_cost_nothing(real: RealLoop) -> None:
    """500 twice, then fine, within Claude's own retries: seen, told, no wait of ours."""
    real.make()
    real.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
    real.api.script(Failure(500), Failure(500), real.report(True), text("Done."))
    assert real.run().code == 0
    assert (real.iterations(), real.events("WaitStarted")) == ([(1, "ok")], [])
    assert [(event["attempt"], event["status"]) for event in real.events("ApiRetried")] == [(1, 500), (2, 500)]


def test_server_errors_beyond_claudes_retries_are_backed_off_from(real: RealLoop) -> None:
    """500 twice is more than Claude bears here: 5 s or a little more later the same iteration is done again."""
    real.make()
    real.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
    real.api.script(Failure(500), Failure(500), real.report(True), text("Done."))
    done = real.run()
    assert done.code == 0, done.err
    assert real.iterations() == [(1, "transient"), (1, "ok")]
    (wait,) = [entry for entry in real.journal() if entry["event"]["event"] == "WaitStarted"]
    assert wait["event"]["until"] - wait["at"] < 6.3
    _, second, third, *_ = real.api.requests
    assert third.at - second.at > 5


def test_trouble_without_end_ends_the_run_after_the_longest_wait(real: RealLoop) -> None:
    """No iteration is counted for it, and the next run does not begin with a debt."""
    real.make()
    real.set(limits__max_wait="1s")
    real.api.script(forever=Failure(500))
    done = real.run("--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (6, "agent_failed")
    assert real.iterations() == [(1, "transient")] * 2
    assert "limits.max_wait" in done.err
    real.api.script(real.report(True), text("Done."))
    assert real.run().code == 0


def test_one_broken_stream_is_mended_by_claude(real: RealLoop) -> None:
    """It asks again for the whole answer; the iteration is a good one, and the half of a tool call was not run."""
    real.make()
    real.api.script(Disconnect((tool("Bash", command="touch never"),)), real.report(True), text("Done."))
    assert real.run().code == 0
    assert real.iterations() == [(1, "ok")]
    assert [bool(request.body.get("stream")) for request in real.api.requests[:2]] == [True, False]
    assert not (real.root / "never").exists()


def test_a_stream_that_breaks_after_a_whole_block_is_mended_or_waited_out(real: RealLoop) -> None:
    """A newer Claude asks again by itself. An older one gives up ("Connection closed mid-response"): a trouble of the
    network, nobody's failure."""
    real.make()
    real.set(limits__max_wait="1s")
    heard = partial(until, lambda: b"the first half" in real.raw())
    cut = Disconnect((text("the first half"), text("the second")), after=6, when=heard)
    real.api.script(cut, real.report(True), text("Done."))
    assert real.run().code == 0
    gave_up = [result for result in real.results() if "mid-response" in result["result"]]
    assert real.iterations() == [(1, "transient")] * len(gave_up) + [(1, "ok")]
    assert len(real.api.requests) >= 3


@pytest.mark.parametrize("hang", [pytest.param(Hang(), id="no-answer"), pytest.param(Hang(after=3), id="mid-answer")])
def test_a_silent_server_is_cut_and_the_run_goes_on(real: RealLoop, hang: Hang) -> None:
    """Claude would wait 5 minutes or more; `timeouts.idle` ends it, politely, and the next iteration works."""
    real.make()
    real.set(timeouts__idle=IDLE)
    real.api.script(hang, real.report(True), text("Done."))
    assert real.run().code == 0
    assert real.iterations() == [(1, "idle"), (2, "ok")]
    assert f"silent for {IDLE}" in real.events("IterationFinished")[0]["outcome"]["message"]
    assert real.events("AgentExited")[0]["code"] == 0
    # The sum of an older Claude Code lacks the answer that was cut; at least what its beginning told is counted. After
    # SIGINT it prints what it has of the answer, or leaves at once without a word: then nothing is known of it.
    costs = [result["total_cost_usd"] for result in real.results()]
    it_lacks = b"I was about to say" in real.raw() and not (len(costs) > 1 and costs[0] > 0)
    assert real.ending()["cost_usd"] > sum(costs) - 1e-9
    assert (real.ending()["cost_usd"] > sum(costs) + 1e-9) == it_lacks
    assert hang.after or b"I was about to say" not in real.raw()
    assert real.processes() == []


def test_a_report_before_a_silence_counts(real: RealLoop) -> None:
    """The work was done, the last answer never came: the claim is one, and a check proves it."""
    real.make()
    real.set(timeouts__idle=IDLE, verification__checks='["true"]')
    real.api.script(real.report(True), Hang())
    assert real.run().code == 0
    assert real.iterations() == [(1, "idle")]


def test_a_usage_limit_is_waited_for_and_the_same_iteration_goes_on(real: RealLoop) -> None:
    """A subscription's window is used up: the run waits for the second that Claude names; here `retry` comes first."""
    real.make()
    real.subscribe()
    real.set(limits__reset_margin=0)
    reset = int(time.time()) + 3600
    real.api.script(used_up(reset), real.report(True), text("Done."))
    process = real.waiting()
    assert real.call("retry", "my-task").code == 0
    done = real.finish(process)
    assert done.code == 0, done.err
    assert real.iterations() == [(1, "usage_limit"), (1, "ok")]
    (wait,) = real.events("WaitStarted")
    assert (wait["why"], wait["until"], wait["window"]) == ("usage_limit", reset, "five_hour")
    assert {request.credential for request in real.api.requests} == {"authorization"}
    assert real.ending()["iterations"] == 1


def test_a_usage_limit_can_end_the_run(real: RealLoop) -> None:
    """`limits.on_usage_limit = stop`: the weekly limit, with the moment of its reset in Claude's words."""
    real.make()
    real.subscribe()
    real.set(limits__on_usage_limit="stop")
    reset = int(time.time()) + 3 * 86400
    real.api.script(used_up(reset, "seven_day"))
    done = real.run("--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (7, "usage_limit")
    assert "weekly limit" in done.err
    outcome = real.events("IterationFinished")[0]["outcome"]
    assert (outcome["window"], outcome["resets_at"]) == ("seven_day", reset)


def test_a_throttle_of_a_subscription_is_no_usage_limit(real: RealLoop) -> None:
    """429 without headers: the server is busy, the window is not used up."""
    real.make()
    real.subscribe()
    real.set(limits__max_wait="1s")
    real.api.script(Failure(429), real.report(True), text("Done."))
    assert real.run().code == 0
    assert real.iterations() == [(1, "transient"), (1, "ok")]


def test_a_warning_is_no_limit_but_a_reserve_is_kept(real: RealLoop) -> None:
    """90% of a window are used: the run goes on, unless 20% are to be kept."""
    real.make()
    real.subscribe()
    reset = str(int(time.time()) + 9000)
    told = {
        "status": "allowed_warning",
        "reset": reset,
        "representative-claim": "five_hour",
        "5h-status": "allowed_warning",
        "5h-reset": reset,
        "5h-utilization": "0.9",
        "5h-surpassed-threshold": "0.9",
        "overage-status": "rejected",
    }
    headers = {UNIFIED + name: value for name, value in told.items()}
    warned = [
        Message((real.report(False),), headers=headers),
        Message((text("One."),), headers=headers),
        Message((tool("Read", file_path=str(real.workspace / ".status.json")),), headers=headers),
        Message((real.report(True),), headers=headers),
        Message((text("Two."),), headers=headers),
    ]
    real.api.script(*warned)
    assert real.run().code == 0
    assert (real.iterations(), real.events("WaitStarted")) == ([(1, "ok"), (2, "ok")], [])
    assert {event["status"] for event in real.events("LimitReported")} == {"allowed_warning"}
    (real.workspace / ".status.json").unlink()
    real.set(limits__reserve=json.dumps({"five_hour": 20}))
    real.api.script(*warned[:2])
    done = real.run("--again", "--detailed-exit-code")
    assert (done.code, real.ending()["reason"]) == (7, "reserve")


def test_words_about_a_limit_are_only_words(real: RealLoop) -> None:
    """Said by the model or found in a file, they never cause a wait."""
    real.make()
    words = "API Error: we hit the 5-hour limit, resets 3pm. You've hit your usage limit|1893456000"
    (real.root / "notes.txt").write_text(words)
    real.api.script(
        tool("Read", file_path=str(real.root / "notes.txt")),
        tool("Bash", command=f"echo {json.dumps(words)} >&2; exit 1"),
        Message((text(words),)),
        real.report(True),
        text(words),
    )
    assert real.run().code == 0
    assert real.iterations() == [(1, "ok"), (2, "ok")]
    assert real.events("WaitStarted") == []
