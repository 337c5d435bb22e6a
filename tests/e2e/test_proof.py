"""A claim of completion counts when it is proven, and not before."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from shlex import quote
from typing import Any

import pytest

from tests.e2e.agents import reviewing
from tests.e2e.conftest import LIMITED, Loop, until

CLAIM: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True, "summary": "all done"}}, {"result": {}}]
FIXED: list[dict[str, Any]] = [{"init": {}}, {"write": {"path": "fixed", "text": "yes"}}, *CLAIM[1:]]


def test_a_red_check_sends_the_run_on_with_its_output(loop: Loop) -> None:
    """The next prompt holds what the check printed; the run completes only when it is green; show has the evidence."""
    loop.make()
    loop.checks(f"echo looking for trouble; test -e {loop.workspace}/fixed")
    loop.script(CLAIM, FIXED)
    done = loop.run()
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 2)
    prompt = loop.prompt(2)
    assert "failed with exit code 1" in prompt
    assert "looking for trouble" in prompt
    assert [event["code"] for event in loop.events("CheckFinished")] == [1, 0]
    shown = loop.call("show", "my-task").out
    assert "Proof: the claim holds" in shown
    assert "✓ echo looking" in shown


def test_a_check_that_cannot_be_started_is_not_called_claude(loop: Loop) -> None:
    """It is red, and its message speaks of the shell: here the command line is too long for the system."""
    loop.make()
    long = "true " + "x" * 200_000
    (loop.root / ".claude-iterate.json").write_text(json.dumps({"verification": {"checks": [long], "max_attempts": 1}}))
    loop.script(CLAIM)
    assert loop.run().code == 1
    output = loop.events("CheckFinished")[0]["output"]
    assert "The shell cannot be started: Argument list too long (/bin/sh)." in output
    assert "Claude" not in output


def test_claims_run_out(loop: Loop) -> None:
    """After `max_attempts` claims that do not hold the run ends as not proven, exit 1, detailed 5."""
    loop.make()
    loop.checks("echo still red; exit 3")
    loop.script(CLAIM)
    done = loop.run("--detailed-exit-code")
    assert (done.code, len(loop.events("IterationFinished"))) == (5, 2)
    assert "still red" in done.err
    assert "exit code 3" in loop.call("show", "my-task").out


@pytest.mark.setting("verification.resume_on_fail", "verification.checks")
def test_without_resuming_one_failed_claim_is_the_end(loop: Loop) -> None:
    """`resume_on_fail = false`."""
    loop.make()
    loop.checks("false")
    loop.env["CLAUDE_ITERATE_VERIFICATION__RESUME_ON_FAIL"] = "false"
    loop.script(CLAIM)
    assert (loop.run().code, len(loop.events("IterationFinished"))) == (1, 1)


def test_a_check_that_hangs_or_does_not_exist_is_red(loop: Loop) -> None:
    """In its time, with the reason; nothing of it lives on."""
    loop.make()
    loop.checks("no-such-program --x", "sleep 300 & sleep 301")
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECK_TIMEOUT"] = "3"
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script(CLAIM)
    done = loop.run()
    remove, longer = ("verification.checks --remove 'no-such-program --x'", "verification.check_timeout 6s")
    assert f"Remove it, then add the right one: claude-iterate config {remove} --workspace my-task" in done.err
    advice = loop.events("RunFinished")[0]["advice"]
    assert f"needs more than 3 seconds: claude-iterate config {longer} --workspace my-task" in advice
    assert done.code == 1
    first, second = loop.events("CheckFinished")
    assert (first["code"], second["code"]) == (127, None)
    assert "no-such-program" in first["output"]
    assert loop.processes() == []


def test_a_stop_during_a_check_ends_it_now(loop: Loop) -> None:
    """SIGTERM while a check runs: terminated, nothing left, the claim stays unproven."""
    loop.make()
    loop.checks(f"touch {quote(str(loop.workspace))}/ready; sleep 300")
    loop.script(CLAIM)
    process = loop.working()
    process.terminate()
    assert loop.finish(process).code == 143
    assert loop.processes() == []


def test_a_review_proves_a_claim(loop: Loop) -> None:
    """With --verify Claude looks once more with fresh context; its cost counts."""
    loop.make()
    reviewing(loop)
    done = loop.run("--verify", "--json")
    assert json.loads(done.out)["reason"] == "completed"
    assert json.loads(done.out)["costUsd"] == 1.0
    assert loop.events("ReviewFinished")[0]["verdict"] == "verified"


def test_findings_of_a_review_reach_the_next_prompt(loop: Loop) -> None:
    """And after the allowed claims the run ends with the first of them, quiet or not."""
    loop.make()
    reviewing(loop, "The README is missing")
    done = loop.run("--verify", "--detailed-exit-code", "--quiet")
    assert done.code == 5
    assert "❌ Not done: the review found 1 thing missing: The README is missing\n" in done.err
    assert "The README is missing" in (loop.workspace / "prompt-3").read_text()


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "answer = 'All requirements are met.\\n\\nVERDICT: VERIFIED'",
        "answer = json.dumps(review) + ' Hope that helps!'",
        "report.write_text('VERDICT: VERIFIED'); structured = dict(review, requirements=[])",
        "print(json.dumps(review)); sys.exit(3)",
    ],
)
def test_no_answer_that_cannot_be_trusted_passes(loop: Loop, body: str) -> None:
    """None, words, words behind it, a report beside one that says nothing; or a failed call."""
    loop.make()
    reviewing(loop, body=body)
    (loop.workspace / "verification-report.md").write_text("VERDICT: VERIFIED\n")
    done = loop.call("verify", "my-task", "--json")
    told = json.loads(done.out)
    assert (done.code, told["status"], told["passed"]) == (1, "fail", False)


def test_verify_passes_and_says_so(loop: Loop) -> None:
    """Exit 0, one JSON document, the report with --show-report; the metadata knows."""
    loop.make()
    reviewing(loop)
    done = loop.call("verify", "my-task", "--show-report", "--depth", "deep")
    assert done.code == 0
    assert "VERDICT: VERIFIED" in done.out
    about = json.loads((loop.workspace / ".metadata.json").read_text())
    assert about["verifiedBy"] == loop.layout.run_ids()[-1]
    assert about["status"] == "completed"


def test_checks_alone_cost_nothing_and_need_no_claude(loop: Loop) -> None:
    """`--checks-only` decides by the checks; without any it is refused."""
    loop.make()
    refused = loop.call("verify", "my-task", "--checks-only")
    assert (refused.code, "There are no checks" in refused.err) == (2, True)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = "/nowhere/claude"
    for check, code in (("true", 0), ("false", 1)):
        loop.checks(check)
        done = loop.call("verify", "my-task", "--checks-only", "--json")
        assert (done.code, json.loads(done.out)["passed"]) == (code, not code)
    assert loop.events("ReviewStarted") == []
    assert loop.events("RunFinished")[0]["known_by"] == "checks"


def test_a_review_is_not_paid_for_when_a_check_is_red(loop: Loop) -> None:
    """The checks come first."""
    loop.make()
    reviewing(loop)
    loop.checks("false")
    assert loop.call("verify", "my-task").code == 1
    assert loop.events("ReviewStarted") == []


@pytest.mark.needs_git
def test_the_evidence_names_what_was_proven(loop: Loop) -> None:
    """In a git repository the tree's id is kept, without touching the index."""

    loop.make()
    loop.git("init", "-q")
    loop.checks("true")
    loop.script(CLAIM)
    loop.run()
    assert re.fullmatch(r"[0-9a-f]{40}", loop.events("VerificationFinished")[0]["tree"])
    assert not (loop.root / ".git" / "index").exists()


def test_boxes_count_what_is_left_and_never_complete(loop: Loop) -> None:
    """TODO.md is the weakest source."""
    loop.make()
    loop.script(
        [{"init": {}}, {"write": {"path": "TODO.md", "text": "- [x] a\n- [ ] b\n"}}, {"result": {}}],
        [{"init": {}}, {"write": {"path": "TODO.md", "text": "- [x] a\n- [x] b\n"}}, {"result": {}}],
    )
    done = loop.run("-m", "2")
    assert "⚠ Iteration 1: Claude wrote no report (1 item remaining, " in done.err
    assert "⚠ Iteration 2: Claude wrote no report (0 items remaining, " in done.err
    assert "Reached maximum iterations (2)" in done.out


def test_no_red_check_is_ever_taken_for_green(loop: Loop) -> None:
    """Forty quick red checks: the exit code of each is the one it ended with."""
    loop.make()
    loop.checks(*(f"exit {number}" for number in range(1, 41)))
    assert loop.call("verify", "my-task", "-q").code == 1
    assert [event["code"] for event in loop.events("CheckFinished")] == list(range(1, 41))


def test_a_review_that_cannot_be_held_spends_no_claim(loop: Loop) -> None:
    """A limit during the review is waited for, and the review is done again."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__RESET_MARGIN"] = "0"
    body = (
        "marker = folder / 'tried'; first = not marker.exists(); marker.touch()\n"
        "    import time\n"
        "    window = {'status': 'rejected', 'rateLimitType': 'five_hour', 'resetsAt': int(time.time()) + 2}\n"
        "    if first:\n"
        "        print(json.dumps({'type': 'rate_limit_event', 'rate_limit_info': window}))\n"
        "        print(json.dumps({'type': 'result', 'is_error': True, 'result': answer})); sys.exit(1)\n"
        "    structured = review"
    )
    reviewing(loop, body=body)
    done = loop.run("--verify")
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 1)
    assert [event["verdict"] for event in loop.events("ReviewFinished")] == ["unheld", "verified"]
    assert len(loop.events("WaitStarted")) == 1


def test_a_missing_login_during_a_review_ends_the_run(loop: Loop) -> None:
    """With what to do, and not as a claim that failed."""
    loop.make()
    fail = "print(json.dumps({'type': 'result', 'is_error': True, 'result': 'Not logged in'})); sys.exit(1)"
    reviewing(loop, body=fail)
    loop.patch("core.rules.waits", AWAY_PAUSES=(0.01,) * 4)
    done = loop.run("--verify")
    assert (done.code, loop.events("RunFinished")[0]["reason"]) == (1, "agent_failed")


@pytest.mark.parametrize("path", ["../../../evil.md", "INSTRUCTIONS.md", "runs/x"])
def test_a_report_cannot_be_written_over_what_matters(loop: Loop, path: str) -> None:
    """Not outside the workspace by a relative path, not onto our own files."""
    loop.make()
    before = (loop.workspace / "INSTRUCTIONS.md").read_bytes()
    done = loop.call("verify", "my-task", "--report-path", path)
    assert done.code == 2
    assert (loop.workspace / "INSTRUCTIONS.md").read_bytes() == before


def test_a_report_may_lie_in_a_new_folder(loop: Loop) -> None:
    """Which is made."""
    loop.make()
    reviewing(loop)
    assert loop.call("verify", "my-task", "--report-path", "reports/today.md").code == 0
    assert (loop.workspace / "reports" / "today.md").exists()


def test_a_pipe_in_the_place_of_a_file_hangs_nobody(loop: Loop) -> None:
    """It is no report and no list; the run goes its way."""
    loop.make()
    for name in ("verification-report.md", "TODO.md"):
        os.mkfifo(loop.workspace / name)
    reviewing(loop, body="pass")
    assert loop.call("verify", "my-task").code == 1
    loop.script([{"init": {}}, {"result": {}}])
    del loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"]
    assert loop.run("--dry-run", "-m", "1").code == 0


def test_findings_survive_a_retry_a_kill_and_the_end_of_a_run(loop: Loop) -> None:
    """The next prompt says what the proof found."""
    loop.make()
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.checks("echo the secret of red; false")
    loop.script(CLAIM)
    assert loop.run().code == 1
    limited = {"result": {"is_error": True, "result": "API Error: 529 Overloaded", "api_error_status": 529}}
    hang: list[dict[str, Any]] = [{"init": {}}, {"touch": "ready"}, {"hang": True}]
    loop.script(CLAIM, [{"init": {}}, limited], hang, [{"init": {}}, {"result": {}}])
    process = loop.working()
    loop.kill(process)
    loop.run("-m", "1")
    prompts = [loop.prompt(number) for number in (2, 3, 4)]
    assert all("the secret of red" in prompt for prompt in prompts)


def test_one_interrupt_is_enough_to_end_a_verification(loop: Loop) -> None:
    """No further check or review begins; the proof counts as cut off, not as failed."""
    loop.make()
    reviewing(loop)
    loop.checks(f"touch {quote(str(loop.workspace))}/ready; sleep 300")
    process = loop.start("verify", "my-task", "--json")
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGINT)
    done = loop.finish(process)
    assert (done.code, json.loads(done.out)["status"]) == (130, "not_run")
    assert loop.events("ReviewStarted") == []
    assert "verification" not in json.loads((loop.workspace / ".metadata.json").read_text())


def test_the_time_of_a_run_bounds_its_checks(loop: Loop) -> None:
    """`--max-duration` holds during the proof too."""
    loop.make()
    loop.checks("sleep 300")
    loop.script(CLAIM)
    assert loop.run("--max-duration", "2s", "--detailed-exit-code").code == 7


def test_a_review_that_cannot_be_paid_is_not_begun(loop: Loop) -> None:
    """`--max-cost` is used up by the iteration."""
    loop.make()
    reviewing(loop)
    done = loop.run("--verify", "--max-cost", "0.5", "--detailed-exit-code")
    assert (done.code, loop.events("ReviewStarted")) == (7, [])


def test_a_check_that_deletes_the_workspace_is_told(loop: Loop) -> None:
    """`git clean -fdx` and the like: the workspace is made again, the run says so, and nothing is proven."""
    loop.make()
    loop.checks(f"rm -rf {loop.workspace}")
    loop.script(CLAIM)
    done = loop.run()
    assert ("⚠ Restored the workspace" in done.err, ": not proven" in done.err) == (True, True), done.err
    assert loop.layout.instructions.is_file()


SLOW_GIT = """\
case " $* " in *" diff-files "*)
    touch {folder}/ready
    while [ ! -e {folder}/go ]; do sleep 0.02; done;;
esac
exec {git} "$@"
"""


@pytest.mark.needs_git
def test_a_large_project_holds_nobody_up(loop: Loop) -> None:
    """While git looks through it, requests are answered, and after a stop no review begins."""
    loop.make()
    loop.git("init", "-q")
    loop.executable("git", SLOW_GIT.format(folder=loop.folder, git=shutil.which("git")))
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    process = loop.start("run", "my-task", "--verify")
    until((loop.folder / "ready").exists)
    answer = loop.call("stop", "my-task")
    assert (answer.code, answer.out) == (0, "✓ my-task stops now.\n")
    (loop.folder / "go").touch()
    loop.finish(process)
    assert (loop.events("ReviewStarted"), loop.events("RunFinished")[0]["reason"]) == ([], "stopped")
    loop.gone()


def test_without_a_check_both_sides_know_it(loop: Loop) -> None:
    """The start names the command that adds a check, and Claude is not told that its claim will be verified. `run
    --check` proves this run: then it is told."""
    loop.make()
    loop.script(CLAIM)
    said, told = "so only Claude's word will say that it is done", "The claim will be verified."
    done = loop.run()
    add = "Add one, for example: claude-iterate config -w my-task verification.checks --add 'npm test'"
    assert f"{said}. {add}" in done.err
    assert f"  There is no check. {add}\n" in done.out
    assert "  Next: claude-iterate report my-task" in done.out
    assert told not in loop.prompt(1)
    proven = loop.run("--again", "--check", "true", "--check", "test 1 = 1")
    assert "proven by checks" in proven.out
    assert said not in proven.err
    assert told in loop.prompt(2)
    assert [event["command"] for event in loop.events("CheckFinished")] == ["true", "test 1 = 1"]


_AFTER_A_PROOF = {
    "unproven": "Proof of the run before: the claim holds",
    "under way": "Proof of the run before: the claim holds",
    "idle": "Proof: the claim holds",
    "no verdict": "Proof: the claim holds",
    "reset": None,
}


@pytest.mark.parametrize("since", _AFTER_A_PROOF)
def test_a_proof_is_that_of_the_last_run_that_claimed(loop: Loop, since: str) -> None:
    """After a reset there is none; of a newer run that works, or did so in vain, it is that of the run before. A run
    that did no work, and a review without a verdict, leave it as it is."""
    loop.make()
    loop.checks("true")
    loop.script(CLAIM)
    assert loop.run().code == 0
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, {"status": {"complete": False}}, {"result": {}}])
    process = None
    if since == "under way":
        process = loop.working("--again", "-m", "1")
    elif since == "unproven":
        loop.go()
        loop.run("--again", "-m", "1")
    elif since == "idle":
        loop.set(limits__on_usage_limit="stop")
        loop.script([{"init": {}}, *LIMITED])
        assert loop.run("--again").code == 1
    elif since == "no verdict":
        reviewing(loop, body="answer = 'All is well.'")
        assert loop.call("verify", "my-task").code == 1
    else:
        loop.call("reset", "my-task")
    shown, words = loop.call("show", "my-task").out, _AFTER_A_PROOF[since]
    proofs = [line.partition(" (run ")[0] for line in shown.splitlines() if line.startswith("Proof")]
    assert proofs == ([words] if words else [])
    listed = loop.document("list")["workspaces"][0]
    assert (listed["knownBy"] == "checks") == (since in {"idle", "no verdict"})
    if process is not None:
        loop.go()
        loop.finish(process)
