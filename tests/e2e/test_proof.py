"""A claim of completion counts when it is proven, and not before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import until

CLAIM = [{"init": {}}, {"status": {"complete": True, "summary": "all done"}}, {"result": {}}]
FIXED = [{"init": {}}, {"write": {"path": "fixed", "text": "yes"}}, *CLAIM[1:]]


def checks(loop: Any, *commands: str) -> None:
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = json.dumps(list(commands))


def test_a_red_check_sends_the_run_on_with_its_output(loop: Any) -> None:
    """The next prompt holds what the check printed; the run completes only when it is green; show has the evidence."""
    loop.make()
    checks(loop, f"echo looking for trouble; test -e {loop.workspace}/fixed")
    loop.script(CLAIM, FIXED)
    done = loop.run()
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 2)
    prompt = Path(loop.record(2)["stdin"]).read_text()
    assert "failed with exit code 1" in prompt
    assert "looking for trouble" in prompt
    assert [event["code"] for event in loop.events("CheckFinished")] == [1, 0]
    shown = loop.call("show", "my-task").out
    assert "Proof: the claim holds" in shown
    assert "✓ echo looking" in shown


def test_claims_run_out(loop: Any) -> None:
    """After `max_attempts` claims that do not hold the run ends as not proven, exit 1, detailed 5."""
    loop.make()
    checks(loop, "echo still red; exit 3")
    loop.script(CLAIM)
    done = loop.run("--detailed-exit-code")
    assert (done.code, len(loop.events("IterationFinished"))) == (5, 2)
    assert "still red" in done.err
    assert "exit code 3" in loop.call("show", "my-task").out


def test_without_resuming_one_failed_claim_is_the_end(loop: Any) -> None:
    """`resume_on_fail = false`."""
    loop.make()
    checks(loop, "false")
    loop.env["CLAUDE_ITERATE_VERIFICATION__RESUME_ON_FAIL"] = "false"
    loop.script(CLAIM)
    assert (loop.run().code, len(loop.events("IterationFinished"))) == (1, 1)


def test_a_check_that_hangs_or_does_not_exist_is_red(loop: Any) -> None:
    """In its time, with the reason; nothing of it lives on."""
    loop.make()
    checks(loop, "no-such-program --x", "sleep 300 & sleep 301")
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECK_TIMEOUT"] = "0.5"
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script(CLAIM)
    assert loop.run().code == 1
    first, second = loop.events("CheckFinished")
    assert (first["code"], second["code"]) == (127, None)
    assert "no-such-program" in first["output"]
    assert loop.processes() == []


def test_a_stop_during_a_check_ends_it_now(loop: Any) -> None:
    """SIGTERM while a check runs: terminated, nothing left, the claim stays unproven."""
    loop.make()
    checks(loop, f"touch {loop.workspace}/ready; sleep 300")
    loop.script(CLAIM)
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.terminate()
    assert loop.finish(process).code == 143
    assert loop.processes() == []


def reviewing(loop: Any, verdict: str, findings: str = "None.", body: str = "") -> None:
    """A Claude that works (claims) when asked to work, and reviews as told when asked to review."""
    program = loop.folder / "claude"
    program.write_text(
        f"""#!/usr/bin/env python3
import json, os, pathlib, re, sys
if "--version" in sys.argv: print("1"); sys.exit()
prompt = sys.stdin.read()
folder = pathlib.Path(os.environ["CLAUDE_ITERATE_WORKSPACE"])
count = folder / "calls"; count.write_text((count.read_text() if count.exists() else "") + "x")
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s"}}))
answer = "fine"
if prompt.startswith("Independent verification"):
    identity = re.search(r"VERIFICATION-ID: (\\S+)", prompt)[1]
    report = pathlib.Path(re.search(r"^Report file: (.+)$", prompt, re.M)[1])
    text = "## Summary\\nLooked.\\n\\n## Findings\\n{findings}\\n\\n"
    text += "VERIFICATION-ID: " + identity + "\\nVERDICT: {verdict}\\n"
    {body or "report.write_text(text)"}
else:
    (folder / ("prompt-" + str(len(count.read_text())))).write_text(prompt)
    (folder / ".status.json").write_text(json.dumps({{"complete": True, "t": len(count.read_text())}}))
result = {{"type": "result", "subtype": "success", "is_error": False, "result": answer, "total_cost_usd": 0.5}}
print(json.dumps(result))
"""
    )
    program.chmod(0o755)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)


def test_a_review_proves_a_claim(loop: Any) -> None:
    """With --verify Claude looks once more with fresh context; its cost counts."""
    loop.make()
    reviewing(loop, "VERIFIED")
    done = loop.run("--verify", "--json")
    assert json.loads(done.out)["reason"] == "completed"
    assert json.loads(done.out)["costUsd"] == 1.0
    assert loop.events("ReviewFinished")[0]["verdict"] == "verified"


def test_findings_of_a_review_reach_the_next_prompt(loop: Any) -> None:
    """And after the allowed claims the run ends with them."""
    loop.make()
    reviewing(loop, "INCOMPLETE", "1. The README is missing")
    done = loop.run("--verify", "--detailed-exit-code")
    assert done.code == 5
    assert "The README is missing" in done.err
    assert "The README is missing" in (loop.workspace / "prompt-3").read_text()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("not written in this call", "pass"),
        ("empty", "report.write_text('')"),
        ("of another review", "report.write_text(text.replace(identity, 'f' * 16))"),
        ("without a verdict", "report.write_text(text.replace('VERDICT: VERIFIED', 'cannot be marked VERIFIED'))"),
        ("at odds with itself", "report.write_text(text + 'VERDICT: INCOMPLETE\\n')"),
        ("and a failed call", "report.write_text(text); sys.exit(3)"),
    ],
)
def test_no_report_that_cannot_be_trusted_passes(loop: Any, name: str, body: str) -> None:
    """A stale, empty, foreign, verdictless or contradictory report, or one of a call that failed."""
    loop.make()
    reviewing(loop, "VERIFIED", body=body)
    stale = "## Summary\nx\n\n## Findings\nNone.\n\nVERIFICATION-ID: old\nVERDICT: VERIFIED\n"
    (loop.workspace / "verification-report.md").write_text(stale)
    done = loop.call("verify", "my-task", "--json")
    told = json.loads(done.out)
    assert (done.code, told["status"], told["passed"]) == (1, "fail", False), name


def test_verify_passes_and_says_so(loop: Any) -> None:
    """Exit 0, one JSON document, the report with --show-report; the metadata knows."""
    loop.make()
    reviewing(loop, "VERIFIED")
    done = loop.call("verify", "my-task", "--show-report", "--depth", "deep")
    assert done.code == 0
    assert "VERDICT: VERIFIED" in done.out
    about = json.loads((loop.workspace / ".metadata.json").read_text())
    assert about["verification"]["lastVerificationStatus"] == "pass"
    assert about["status"] == "completed"


def test_the_final_answer_may_stand_in_for_the_report(loop: Any) -> None:
    """A reviewer that may not write files gives its report as its answer; it is kept as the report."""
    loop.make()
    reviewing(loop, "VERIFIED", body="answer = text")
    assert loop.call("verify", "my-task").code == 0
    assert "VERDICT: VERIFIED" in (loop.workspace / "verification-report.md").read_text()


def test_a_review_is_not_paid_for_when_a_check_is_red(loop: Any) -> None:
    """The checks come first."""
    loop.make()
    reviewing(loop, "VERIFIED")
    checks(loop, "false")
    assert loop.call("verify", "my-task").code == 1
    assert loop.events("ReviewStarted") == []


def test_a_bad_depth_is_refused(loop: Any) -> None:
    """Before anything is called."""
    loop.make()
    done = loop.call("verify", "my-task", "--depth", "bottomless")
    assert (done.code, "quick, standard, deep" in done.err) == (2, True)


def test_the_evidence_names_what_was_proven(loop: Any) -> None:
    """In a git repository the tree's id is kept, without touching the index."""
    import subprocess

    loop.make()
    subprocess.run(["git", "init", "-q", str(loop.root)], check=True, env=loop.env)
    checks(loop, "true")
    loop.script(CLAIM)
    loop.run()
    assert re.fullmatch(r"[0-9a-f]{40}", loop.events("VerificationFinished")[0]["tree"])
    assert not (loop.root / ".git" / "index").exists()


def test_a_status_block_is_a_report(loop: Any) -> None:
    """Without a status file the last message's LOOP_STATUS block counts."""
    loop.make()
    text = "---LOOP_STATUS---\nSTATUS: COMPLETE\nFILES_MODIFIED: 2\n---END_LOOP_STATUS---"
    loop.script([{"init": {}}, {"result": {"result": text}}])
    assert "after 1 iteration" in loop.run().out


def test_boxes_count_what_is_left_and_never_complete(loop: Any) -> None:
    """TODO.md is the weakest source."""
    loop.make()
    loop.script(
        [{"init": {}}, {"write": {"path": "TODO.md", "text": "- [x] a\n- [ ] b\n"}}, {"result": {}}],
        [{"init": {}}, {"write": {"path": "TODO.md", "text": "- [x] a\n- [x] b\n"}}, {"result": {}}],
    )
    done = loop.run("-m", "2")
    assert "✓ Iteration 1 complete (1 item remaining)" in done.err
    assert "✓ Iteration 2 complete (0 items remaining)" in done.err
    assert "Reached maximum iterations (2)" in done.out
