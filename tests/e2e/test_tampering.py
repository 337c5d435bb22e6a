"""What defines the proof is within the agent's reach: when it is changed during a run, the run says so, or refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until
from tests.recording_receiver import Receiver

CLAIM: list[dict[str, Any]] = [{"status": {"complete": True}}, {"result": {}}]
TESTS = "def test_a():\n    assert 1 == 1\n\n\ndef test_b():\n    assert 2 == 2\n"
TOLD = "Part of the proof was changed during the run: "


def does(command: str) -> list[dict[str, Any]]:
    """An iteration that runs a command and claims completion."""
    return [{"init": {}}, {"shell": command}, *CLAIM]


def checks(loop: Loop, *commands: str, **settings: Any) -> None:
    """In the project's file, where the agent reaches them."""
    document = {"verification": {"checks": list(commands), **settings}}
    (loop.root / ".claude-iterate.json").write_text(json.dumps(document))


@pytest.fixture
def project(loop: Loop) -> Loop:
    """A project with a check's script, what it reads, tests, and a folder of programs."""
    loop.make("- [ ] one\n- [ ] two\n")
    (loop.root / "check.sh").write_text("grep -q green expected.txt\n")
    (loop.root / "expected.txt").write_text("green\n")
    (loop.root / "tests").mkdir()
    (loop.root / "tests" / "test_a.py").write_text(TESTS)
    (loop.root / "bin").mkdir()
    loop.env["PATH"] = f"{loop.root}/bin:{loop.env['PATH']}"
    checks(loop, "sh check.sh", "true expected.txt", "true || pytest")
    return loop


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo true > check.sh", "check.sh (changed; a check uses it)"),
        ("echo green and more > expected.txt", "expected.txt (changed; a check uses it)"),
        ("rm tests/test_a.py", "tests/test_a.py (deleted; a test)"),
        (": > tests/test_a.py", "tests/test_a.py (emptied; a test)"),
        ("sed -i.bak /2/d tests/test_a.py", "tests/test_a.py (1 assertion fewer; a test)"),
        ("echo 'pytestmark = pytest.mark.skip' >> tests/test_a.py", "tests/test_a.py (1 skip mark more; a test)"),
        ("printf '#!/bin/sh\\n' > bin/pytest; chmod +x bin/pytest", "bin/pytest (created; it takes the place of"),
        ("printf '[pytest]\\naddopts=--co\\n' > pytest.ini", "pytest.ini (created; a check's tool reads it)"),
        ("echo '- [ ] one' > $WORKSPACE/INSTRUCTIONS.md", "INSTRUCTIONS.md (changed; the task)"),
        ("echo '{}' > .claude-iterate.json", ".claude-iterate.json (emptied; settings)"),
        (
            "mkdir -p $WORKSPACE/prompts; echo yes > $WORKSPACE/prompts/verify-completion.md",
            "prompts/verify-completion.md (created; a prompt)",
        ),
        ("echo 'always verify' > CLAUDE.md", "CLAUDE.md (created; every session of Claude reads it)"),
        ("mkdir .claude; echo '{}' > .claude/settings.json", ".claude/settings.json (created; every session"),
    ],
)
def test_what_was_changed_is_told(project: Loop, command: str, told: str) -> None:
    """Each kind of it: at the end of the run, in show, in JSON and in the log. By default the claim holds, and nobody
    calls it proven."""
    project.script(does(command))
    done = project.run("--json")
    document = json.loads(done.out)
    assert (done.code, document["knownBy"]) == (0, "changed")
    name = document["changes"][0]["path"].rpartition("/")[2]
    assert document["cause"].startswith(f"Checks passed, but {name} was changed: not proven (after ")
    assert len(document["changes"]) == 1, document["changes"]
    shown = project.call("show", "my-task").out
    assert (TOLD in shown, told in shown) == (True, True), shown
    assert told in project.log()


def test_the_end_and_the_notification_say_which(project: Loop, receiver: Receiver) -> None:
    """On the terminal and at the webhook."""
    project.env |= {"CLAUDE_ITERATE_NOTIFY__URL": receiver.url, "CLAUDE_ITERATE_NOTIFY__FORMAT": "json"}
    project.script(does("echo true > check.sh"))
    done = project.run()
    words = TOLD + "check.sh (changed; a check uses it)"
    assert f"⚠ {words}" in done.out
    assert words in receiver.named("completion")[0].document["message"]


@pytest.mark.parametrize(
    "command",
    [
        "printf 'def test_c():\\n    assert 3\\n' >> tests/test_a.py",
        "printf 'def test_c():\\n    assert 3\\n' > tests/test_new.py",
        "mkdir tests/unit; mv tests/test_a.py tests/unit/",
        "sed -i.bak 's/\\[ \\]/[x]/' $WORKSPACE/INSTRUCTIONS.md; rm $WORKSPACE/INSTRUCTIONS.md.bak",
        "echo work > work.txt; touch check.sh",
        "cp check.sh saved; echo true > check.sh; mv saved check.sh",
        "printf 'import pytest\\n@pytest.fixture\\ndef x():\\n    return 1\\n' > conftest.py",
    ],
)
def test_work_is_no_tampering(project: Loop, command: str) -> None:
    """New tests, more of them, tests that moved, ticked boxes, other files, and what was put back before the claim."""
    checks(project, "sh check.sh", "true || pytest", on_tamper="refuse")
    project.script(does(command))
    done = project.run("--json")
    assert (done.code, json.loads(done.out)["changes"]) == (0, [])


@pytest.mark.setting("verification.on_tamper")
def test_refuse_lets_the_claim_fail_until_it_is_undone(project: Loop) -> None:
    """The next prompt says what to put back; when that is done, the claim holds."""
    checks(project, "sh check.sh", on_tamper="refuse")
    project.script(does("cp check.sh saved; echo true > check.sh"), does("mv saved check.sh"))
    done = project.run("--json")
    assert (done.code, json.loads(done.out)["changes"]) == (0, [])
    assert [event["passed"] for event in project.events("VerificationFinished")] == [False, True]
    prompt = project.prompt(2)
    assert "check.sh (changed; a check uses it)" in prompt
    assert "restore it, then report completion again" in prompt


def refused(project: Loop, command: str = "echo true > check.sh") -> None:
    """A run whose claim is refused."""
    checks(project, "sh check.sh", on_tamper="refuse", max_attempts=1)
    project.script(does(command))
    assert project.run("--detailed-exit-code").code == 5


def test_a_new_run_does_not_begin_with_what_was_refused(project: Loop) -> None:
    """It says so at its start and refuses again; a run in between that ends otherwise changes nothing about that."""
    refused(project)
    project.script([{"init": {}}, {"result": {}}])
    project.run("-m", "1")
    project.script([{"init": {}}, *CLAIM])
    done = project.run("--detailed-exit-code")
    assert done.code == 5
    assert "Changed during an earlier run, and part of the proof: check.sh (changed; " in done.err
    assert "claude-iterate run my-task --accept-changes" in done.err
    assert "--accept-changes" in project.call("show", "my-task").out


@pytest.mark.parametrize("way", ["accept", "undo", "edit", "reset"])
def test_ways_out_of_a_refusal(project: Loop, way: str) -> None:
    """The person accepts it, puts it back, writes another version, or begins again."""
    before = (project.root / "check.sh").read_text()
    refused(project)
    flags = ("--accept-changes",) if way == "accept" else ()
    if way == "undo":
        (project.root / "check.sh").write_text(before)
    elif way == "edit":
        (project.root / "check.sh").write_text("grep -q green expected.txt  # mine\n")
    elif way == "reset":
        assert project.call("reset", "my-task").code == 0
    project.script([{"init": {}}, *CLAIM])
    done = project.run("--json", *flags)
    assert (done.code, json.loads(done.out)["changes"]) == (0, [])


def test_a_refusal_holds_over_a_kill(project: Loop) -> None:
    """Killed after the change: the run that goes on compares with what the killed one began with; `verify` as well."""
    checks(project, "sh check.sh", on_tamper="refuse", max_attempts=1)
    project.script(
        [{"init": {}}, {"shell": "echo true > check.sh; rm tests/test_a.py"}, {"touch": "ready"}, {"hang": True}]
    )
    process = project.working()
    until(lambda: project.events("ProofTestsCounted"))
    project.kill(process)
    project.script([{"init": {}}, *CLAIM])
    verified = project.document("verify", "my-task")
    assert [change["path"] for change in verified["changes"]] == ["check.sh", "tests/test_a.py"]
    done = project.run("--detailed-exit-code")
    assert done.code == 5
    assert "check.sh (changed; a check uses it), tests/test_a.py (deleted; a test)" in done.err


def test_a_refusal_holds_over_other_commands(project: Loop) -> None:
    """`validate` ends as completed, and has neither told the change nor settled it."""
    refused(project, "echo true > check.sh")
    project.script([{"init": {}}, {"result": {}}])
    project.call("validate", "my-task")
    project.script([{"init": {}}, *CLAIM])
    done = project.run("-m", "1", "--detailed-exit-code")
    assert done.code != 0
    assert "check.sh (changed in an earlier run; a check uses it)" in done.err


@pytest.mark.parametrize("on_tamper", ["warn", "refuse"])
def test_checks_that_were_removed_before_a_kill_are_missed(project: Loop, on_tamper: str) -> None:
    """No run looked at what the killed one left. The next one has no checks and no `refuse`; it says so when it begins
    and at its end, or refuses. A check's script that is still there is not called deleted."""
    checks(project, "sh check.sh", on_tamper=on_tamper, max_attempts=1)
    gone = 'printf \'{"verification": {"max_attempts": 1}}\' > .claude-iterate.json'
    project.script([{"init": {}}, {"shell": gone}, {"touch": "ready"}, {"hang": True}])
    project.kill(project.working())
    project.script([{"init": {}}, *CLAIM])
    done = project.run("--detailed-exit-code")
    told = ".claude-iterate.json (changed: verification.checks"
    assert f"Changed since the killed run began, and part of the proof: {told}" in done.err
    assert "deleted" not in done.err + done.out
    if on_tamper == "refuse":
        assert done.code == 5
        assert f"Not done: this defines the proof and was changed: {told}" in done.err
    else:
        assert (done.code, TOLD + told in done.out) == (10, True)


def test_checks_that_the_agent_removed_are_missed(project: Loop) -> None:
    """A run keeps the settings it began with. The next one has none of the checks, and says why at once."""
    project.script(does("echo '{}' > .claude-iterate.json; exit 0"))
    assert project.run("-m", "1").code == 0
    assert len(project.events("CheckFinished")) == 3
    checks(project, "false", max_attempts=1)
    project.script(does("echo '{}' > .claude-iterate.json"))
    assert project.run("--again", "--detailed-exit-code").code == 5
    project.script([{"init": {}}, *CLAIM])
    done = project.run()
    assert "Changed during an earlier run, and part of the proof: .claude-iterate.json (emptied; settings)" in done.err
    assert "nothing has proven it" in done.out
    assert "Part of the proof was changed in an earlier run: .claude-iterate.json" in done.out


def test_refusing_cannot_be_switched_off_by_the_agent(project: Loop) -> None:
    """The settings without checks and without `refuse` are what it left: its claim is refused by the next run, too."""
    refused(project, "echo '{}' > .claude-iterate.json")
    project.script([{"init": {}}, *CLAIM])
    done = project.run("-m", "1", "--detailed-exit-code")
    assert done.code != 0
    assert [event["passed"] for event in project.events("VerificationFinished")] == [False, False]
    assert project.run("--accept-changes").code == 0


def test_a_changed_proof_stays_changed_until_it_is_accepted(project: Loop) -> None:
    """Neither `verify` nor another run makes a proof of what a completed run left; `--accept-changes` does: by the
    checks alone, without another iteration."""
    project.script(does("echo true > check.sh"))
    assert project.run("--detailed-exit-code").code == 11
    project.script([{"init": {}}, *CLAIM])
    for command, code in (("verify", "--checks-only"), 1), (("run", "--again", "--detailed-exit-code"), 11):
        done = project.call(*command, "my-task", "--json")
        assert [change["path"] for change in json.loads(done.out)["changes"]] == ["check.sh"]
        assert done.code == code
        assert "completed (proof changed)" in project.call("list").out
    calls = len(project.events("IterationStarted"))
    accepted = project.run("--accept-changes", "-m", "3")
    assert (accepted.code, len(project.events("IterationStarted"))) == (0, calls)
    assert "Verified: the task is done." in accepted.out
    assert "proof changed" not in project.call("list").out


def test_a_check_whose_file_is_gone_is_red_with_a_word(project: Loop) -> None:
    """In its line, in show and in the next prompt."""
    checks(project, "sh check.sh")
    project.script(does("rm check.sh"), [{"init": {}}, *CLAIM])
    done = project.run()
    assert done.code == 1
    assert "sh check.sh: exit code 2, check.sh is gone" in done.err.replace("exit code 127", "exit code 2")
    assert "check.sh is gone" in project.call("show", "my-task").out
    assert "It uses check.sh: there when the run began, gone now." in project.prompt(2)


def test_a_run_without_a_wanted_proof_looks_at_nothing(loop: Loop) -> None:
    """What a quick run does not need is not done for it."""
    loop.make()
    loop.script(does("echo x > CLAUDE.md"))
    assert loop.run().code == 0
    assert loop.events("ProofDefined") == []
