"""The end of a run in words: one cause, one next step, whatever the rule that ended it."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    ChecksPassed,
    ClaimDropped,
    Denial,
    Event,
    IterationFinished,
    IterationStarted,
    OneOffCallFinished,
    Outcome,
    ProofChange,
    Resumed,
    RunFinished,
    RunStarted,
    StopRequested,
    VerificationFinished,
)
from claude_iterate.core.events.enums import ENDINGS, Kind, Purpose, Reason
from claude_iterate.core.events.run import Claim
from claude_iterate.core.outcomes.denials import FOR_ONE_RUN
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.endings import basis_of_completion, claim_remark, run_finished_event, with_words
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import CommandLine, continue_command, rename_workspace
from claude_iterate.core.rules.proof import digest, proof_of, tampering
from claude_iterate.core.rules.verdicts import Finish
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text.ending_lines import points
from claude_iterate.workspace.run_summary import RunSummary, summarise
from tests.core.building import entries, facts

DONE = Status(True, 2, 2, summary="all done")
RED = "The check `make test` failed with exit code 2. The end of its output:\nboom\n\nThe check `lint` failed"
REVIEWED = "The review found 2 things missing.\nIt is half done.\n1. No README.\n2. No tests."
OK = Outcome(Kind.OK)
NPM = (("--permission-mode", "acceptEdits"), ("--allow", "Bash(npm test:*)"))
STARTED = RunStarted("r", "t", "loop", 1, 1, "h", "0", ("c",))
LINE = CommandLine(("claude-iterate", "-C", "/my projects"), (("--verify",), ("--max-cost", "1")), "run", "t")


def ended(known: Facts, *events: Event, purpose: str = "run") -> RunFinished:
    """How a run with these events ends."""
    started = RunStarted("r", "t", "loop", known.max_iterations, 1, "h", "0", ("c",), purpose=Purpose(purpose))
    state = fold(entries(started, *events))
    verdict = decide(state, known)
    if isinstance(verdict, ClaimDropped):
        state = fold(entries(started, *events, verdict))
        verdict = decide(state, known)
    assert isinstance(verdict, Finish), verdict
    return run_finished_event(verdict, state, known)


def words(known: Facts, *events: Event, purpose: str = "run") -> tuple[str, str]:
    found = ended(known, *events, purpose=purpose)
    return found.cause, found.next


def failure(kind: Kind, message: str, called: bool = True) -> IterationFinished:
    return IterationFinished(1, Outcome(kind, message, "Do this.", called=called))


CASES: list[tuple[str, Facts, tuple[Event, ...], str, str]] = [
    (
        "done",
        facts(0),
        (IterationFinished(1, OK, DONE),),
        "Claude reports that it is done; nothing has proven it (after 1 iteration)",
        "claude-iterate report t",
    ),
    (
        "limit",
        facts(0, max_iterations=1),
        (IterationFinished(1, OK),),
        "Reached maximum iterations (1)",
        "claude-iterate run t",
    ),
    (
        "idle",
        facts(0, stagnates=True, stagnation_threshold=1),
        (IterationFinished(1, OK, Status(False, worked=False)),),
        "Stagnation detected: 1 consecutive iteration with no work",
        "claude-iterate verify t",
    ),
    (
        "blocked",
        facts(0),
        (IterationFinished(1, OK, Status(False, blocked="Which\ncolour?")),),
        "Claude is blocked and needs you: Which colour?",
        "claude-iterate run t",
    ),
    (
        "refuted",
        facts(0, checks=("x",), resume_on_fail=False),
        (IterationFinished(1, OK, DONE), VerificationFinished(1, False, RED)),
        "Not done: the check `make test` failed with exit code 2",
        "claude-iterate run t",
    ),
    (
        "refuted by its last words",
        facts(0, checks=("x",), resume_on_fail=False),
        (IterationFinished(1, OK, DONE), VerificationFinished(1, False, RED, detail=f"{'3 failed ' * 99}")),
        f"Not done: the check `make test` failed with exit code 2: {('3 failed ' * 99)[:157].rstrip()}...",
        "claude-iterate run t",
    ),
    (
        "refuted by a review",
        facts(0, auto_verify=True, resume_on_fail=False),
        (IterationFinished(1, OK, DONE), VerificationFinished(1, False, REVIEWED, detail="No README.")),
        "Not done: the review found 2 things missing: No README",
        "claude-iterate run t",
    ),
    ("login", facts(0), (failure(Kind.AUTH, "No login"),), "Claude failed: No login", "claude-iterate run t"),
    (
        "settings",
        facts(0),
        (failure(Kind.CONFIG, "No model"),),
        "Claude failed: No model",
        "claude-iterate config --list --workspace t",
    ),
    (
        "not called",
        facts(0),
        (failure(Kind.CONFIG, "The prompt is odd", called=False),),
        "Cannot start: The prompt is odd",
        "claude-iterate run t",
    ),
    (
        "crash",
        facts(0, failures=1),
        (failure(Kind.CRASH, "exit 1"),),
        "Claude failed: 1 iteration failed; the last: exit 1",
        "claude-iterate doctor",
    ),
    (
        "denied",
        facts(0),
        2 * (IterationFinished(1, Outcome(Kind.DENIED, allowed_by=NPM), denials=(Denial("Bash", "npm test"),)),),
        "Claude made no progress, because it is not allowed to use Bash(npm test:*)",
        "claude-iterate run t --permission-mode acceptEdits --allow 'Bash(npm test:*)'",
    ),
    (
        "folder",
        facts(0, workspace_gone="/w/t"),
        (),
        "The workspace's folder is gone, or another one stands in its place: /w/t",
        "claude-iterate list",
    ),
    (
        "money",
        facts(0, max_cost_usd=0.5),
        (IterationFinished(1, OK, cost_usd=0.6),),
        "The budget is spent: $0.60 of $0.50 (limits.max_cost_usd)",
        "claude-iterate run t --max-cost 1.2",
    ),
    (
        "time",
        facts(5, max_duration=4.0),
        (IterationFinished(1, Outcome(Kind.INTERRUPTED)),),
        "Time limit reached: 4.0s (limits.max_duration)",
        "claude-iterate run t",
    ),
    (
        "usage",
        facts(0, on_usage_limit="stop"),
        (failure(Kind.USAGE_LIMIT, "You've hit your limit"),),
        "Usage limit reached: You've hit your limit",
        "claude-iterate run t",
    ),
    ("key", facts(0), (StopRequested("key"),), "Stopped by the key s", "claude-iterate run t"),
    ("stop", facts(0), (StopRequested("command"),), "Stopped by the command `stop`", "claude-iterate run t"),
    ("Ctrl-C", facts(0), (StopRequested("SIGINT"),), "Interrupted by Ctrl-C", "claude-iterate run t"),
    ("kill", facts(0), (StopRequested("SIGTERM"),), "Terminated by SIGTERM", "claude-iterate run t"),
    (
        "hang up",
        facts(0),
        (StopRequested("SIGHUP"),),
        "Terminated: the terminal was closed (SIGHUP)",
        "claude-iterate run t",
    ),
]


@pytest.mark.parametrize(("known", "events", "cause", "step"), [pytest.param(*row[1:], id=row[0]) for row in CASES])
def test_each_end_has_its_cause_and_its_next_step(
    known: Facts, events: tuple[Event, ...], cause: str, step: str
) -> None:
    """The true cause in one line, and one command with the workspace's name."""
    assert words(known, *events) == (cause, step)


def test_the_next_step_repeats_the_command() -> None:
    """Its options are kept, for a proof that was wanted is wanted again; one that has to change is changed; and the
    project is named where it must be."""
    known = replace(facts(0, max_iterations=1), command_line=LINE)
    assert words(known, IterationFinished(1, OK))[1] == "claude-iterate -C '/my projects' run t --verify --max-cost 1"
    spent = replace(facts(0, max_cost_usd=1.0), command_line=LINE)
    assert shlex.split(words(spent, IterationFinished(1, OK, cost_usd=1.0))[1])[-2:] == ["--max-cost", "2"]


def test_what_is_to_be_done_concerns_the_worktree_of_the_run() -> None:
    """The project beside it has none of the work, so its proof would say nothing."""
    line = CommandLine(options=(("--worktree", "auto"), ("--max-iterations", "1")), workspace="t")
    assert line.about("verify") == "claude-iterate verify t --worktree auto"
    assert line.about("run", "--accept-changes").endswith("t --worktree auto --accept-changes")
    assert line.about("show") == "claude-iterate show t"
    assert line.repeat().count("--worktree") == 1


def test_a_last_failure_is_named_when_the_iterations_are_used_up() -> None:
    """A run in which every call crashed does not end as if all was well."""
    crashed = IterationFinished(1, Outcome(Kind.CRASH, "Claude exited with code 3"))
    good, bad = (ended(facts(0, max_iterations=1), last) for last in (IterationFinished(1, OK), crashed))
    assert good.cause == "Reached maximum iterations (1)"
    assert bad.cause == f"{good.cause}; the last one failed: Claude exited with code 3"
    assert bad.advice == good.advice  # the ways on, which have room for nothing else beside them


def test_where_iterations_of_a_killed_run_use_the_limit_up_there_is_advice() -> None:
    """It leaves room for as many again."""
    known = facts(0, max_iterations=2)
    started = RunStarted("r", "t", "loop", 2, 1, "h", "0", ("c",), resumed=Resumed("q", iterations=3))
    state = fold(entries(started))
    verdict = decide(state, known)
    assert isinstance(verdict, Finish)
    ending = run_finished_event(verdict, state, known)
    assert ending.next == "claude-iterate run t"
    assert ending.advice.splitlines() == [
        "To increase the limit: claude-iterate run t --max-iterations 5",
        "To check progress: claude-iterate show t",
    ]


def test_what_the_next_step_says_is_not_said_twice() -> None:
    """The advice after a denial has the way for good; the next step is the way for one run."""
    advice = f"Allow it: claude-iterate config ...\n{FOR_ONE_RUN}claude-iterate run t"
    denied = IterationFinished(1, Outcome(Kind.DENIED, advice=advice), denials=(Denial("Bash", "npm test"),))
    assert ended(facts(0), denied, denied).advice == "Allow it: claude-iterate config ..."


def test_a_copy_has_a_next_step_of_its_own() -> None:
    """The name of the workspace is changed where it stands alone, and nowhere else."""
    assert (
        rename_workspace("claude-iterate run t --allow 'Bash(t:*)'", "t", "t2")
        == "claude-iterate run t2 --allow 'Bash(t:*)'"
    )
    assert rename_workspace("claude-iterate run t", "t", "t") == "claude-iterate run t"
    assert rename_workspace("an odd ' quotation", "t", "t2") == "an odd ' quotation"


def test_verify_has_no_option_for_money() -> None:
    """So the next step sets it for the workspace."""
    spent = facts(0, max_cost_usd=1.0, purpose="verify")
    step = words(spent, IterationFinished(1, OK, cost_usd=1.0), purpose="verify")[1]
    assert step == "claude-iterate config limits.max_cost_usd 2 --workspace t"


def test_a_failed_verification_is_worked_on_by_a_run() -> None:
    """To verify the same again would find the same."""
    known = facts(0, purpose="verify")
    assert words(known, VerificationFinished(1, False, RED), purpose="verify")[1] == "claude-iterate run t"


def test_a_claim_that_the_run_leaves_behind_is_mentioned() -> None:
    """One that nobody looked at, and one that did not hold."""
    known = facts(0, checks=("x",))
    left = ended(known, IterationFinished(1, OK, DONE), StopRequested("SIGINT"))
    assert left.about_claim == f"{NOT_CHECKED} --checks-only"
    claim = (IterationFinished(1, OK, DONE), VerificationFinished(1, False, RED))
    refuted = ended(facts(0, checks=("x",), max_attempts=3, max_iterations=1), *claim)
    assert refuted.reason == "max_iterations"
    assert "does not hold: the check `make test` failed with exit code 2." in refuted.about_claim


def test_a_limit_after_refuted_claims_names_the_last_of_them() -> None:
    """Also when the iterations after it claimed nothing more."""
    proof = VerificationFinished(1, False, REVIEWED, detail="No README.")
    further = (IterationStarted(2), IterationFinished(2, OK, Status(False)))
    left = ended(facts(0, auto_verify=True, max_iterations=2), IterationFinished(1, OK, DONE), proof, *further)
    assert left.reason == "max_iterations"
    said = "The last claim of completion did not hold: the review found 2 things missing: No README."
    assert left.about_claim == said


def test_notes_that_no_iteration_read_are_mentioned() -> None:
    """They reach the next run."""
    known = replace(facts(0, max_iterations=1), unread_notes=2)
    assert "Not read yet: 2 notes." in ended(known, IterationFinished(1, OK)).advice


def test_a_stop_that_cuts_an_iteration_leaves_nothing_completed() -> None:
    """What it claimed before it was cut is not its last word; a claim from before the stop counts."""
    cut = IterationFinished(1, Outcome(Kind.INTERRUPTED), DONE)
    stop = StopRequested("SIGTERM", now=True)
    assert ended(facts(0), stop, cut).reason == "terminated"
    assert ended(facts(0), IterationFinished(1, OK, DONE), stop).reason == "completed"


def test_a_cause_is_one_line_of_some_length() -> None:
    """Whatever Claude said."""
    status = Status(False, blocked="\x1bx " * 1000)
    assert len(ended(facts(0), IterationFinished(1, OK, status)).cause) <= 300


@pytest.mark.parametrize("reason", ENDINGS)
def test_an_end_from_an_older_version_has_words(reason: Reason) -> None:
    """Its journal has neither cause nor next step."""
    started = RunStarted("r", "t", "loop", 9, 1, "h", "0", ("c",))
    found = with_words(RunFinished(reason, "2"), RunState(started=started))
    assert found.cause
    assert found.next


@pytest.mark.parametrize(
    "event",
    [
        IterationFinished(1, OK, Status(False, blocked="no key")),
        failure(Kind.CONFIG, "Instructions not found.", called=False),
    ],
    ids=["blocked", "not found"],
)
def test_lost_instructions_come_first(event: IterationFinished) -> None:
    """The next step must be one that can work: `run` would be refused, also with other options. The advice names the
    prompt that has the text."""
    known = replace(facts(0), instructions_lost="/my projects/w/INSTRUCTIONS.md", last_prompt="/w/0001.prompt.md")
    found = ended(known, event)
    assert found.next == "claude-iterate setup t"
    assert "The last iteration had the text that is in /w/0001.prompt.md" in found.advice
    assert "--accept-changes" not in found.advice


def test_a_claim_that_was_refused_for_changes_names_the_way_out() -> None:
    """The next step accepts them; the advice says that they may be undone as well."""
    change = ProofChange("check", "check.sh", "changed")
    refuted = VerificationFinished(1, False, "This defines the proof and was changed", changes=(change,))
    known = replace(facts(0, checks=("true",), on_tamper="refuse", max_attempts=1), command_line=LINE)
    state = fold(entries(RunStarted("r", "t", "loop", 0, 1, "h", "0", ("c",)), IterationFinished(1, OK, DONE), refuted))
    verdict = decide(state, known)
    assert isinstance(verdict, Finish)
    found = run_finished_event(verdict, state, known, (change,))
    assert found.next == "claude-iterate -C '/my projects' run t --verify --max-cost 1 --accept-changes"
    assert "Undo the changes of the proof, or accept them with the next step." in found.advice


def test_a_claim_that_was_refused_for_a_change_names_it_once() -> None:
    """At the limit of iterations the change is named beside the claim, not a second time in it."""
    change = ProofChange("check", "check.sh", "changed")
    known = facts(9, max_iterations=1, checks=("sh check.sh",), on_tamper="refuse")
    proof = VerificationFinished(1, False, tampering([change]), changes=(change,))
    state = fold(entries(STARTED, IterationFinished(1, OK, DONE), proof))
    end = run_finished_event(Finish("max_iterations"), state, known, (change,))
    assert end.about_claim == "The last claim of completion does not hold: a part of the proof was changed."
    assert "\n".join(points(end, state)).count("check.sh (") == 1
    undone = run_finished_event(Finish("max_iterations"), state, known)
    assert "check.sh (changed; a check uses it)" in undone.about_claim


def test_the_time_of_a_killed_run_counts() -> None:
    """Like its iterations and its money: in the end of the run that goes on, and in its summary."""
    started = replace(STARTED, resumed=Resumed("before", iterations=3, elapsed=100.0))
    state = fold(entries(started, IterationFinished(4, OK)))
    end = run_finished_event(Finish("max_iterations"), state, facts(9, max_iterations=4))
    assert (end.iterations, end.duration) == (4, 109.0)
    assert summarise(RunSummary, "r", state, running=False).duration == 101.0


def test_a_killed_run_goes_on_with_its_own_command() -> None:
    """Where its record has none, with the plain one."""
    assert (
        continue_command(RunState(started=replace(STARTED, again="claude-iterate run t -m 3")))
        == "claude-iterate run t -m 3"
    )
    assert continue_command(RunState(started=STARTED)) == "claude-iterate run t"


CLAIMED = RunState(started=STARTED, last_status=Status(True))
PROVEN = replace(CLAIMED, claim=Claim(1, VerificationFinished(1, True, known_by="checks")))
CHECKED = replace(CLAIMED, claim=Claim(0, None, ChecksPassed(digest(("true",)))))
CHECKS, BOTH = facts(0, checks=("true",)), facts(0, checks=("true",), auto_verify=True)


@pytest.mark.parametrize(
    ("state", "known", "reason", "expected"),
    [
        (CLAIMED, facts(0), "completed", "report"),
        (PROVEN, CHECKS, "completed", "checks"),
        (PROVEN, BOTH, "completed", "checks"),
        (replace(CLAIMED, claim=Claim(1, VerificationFinished(1, True))), BOTH, "completed", "checks_and_review"),
        (
            replace(CLAIMED, claim=Claim(1, VerificationFinished(1, True))),
            facts(0, auto_verify=True),
            "completed",
            "review",
        ),
        (PROVEN, CHECKS, "interrupted", ""),
        (
            replace(CLAIMED, started=RunStarted("r", "t", "loop", 9, 1, "h", "0", (), dry_run=True)),
            facts(0),
            "completed",
            "",
        ),
        (RunState(one_off=OneOffCallFinished(Purpose.SETUP, Outcome(Kind.OK))), facts(0), "completed", ""),
    ],
)
def test_how_it_is_known(state: RunState, known: Facts, reason: Reason, expected: str) -> None:
    """What the proof rests on; Claude's word without one; nothing for a run that did not complete or did no work. A
    proof of an older version does not say what it rests on, so the settings do."""
    assert basis_of_completion(state, known, reason) == expected


def test_what_a_proof_rests_on() -> None:
    """Each of the two, both, neither."""
    found = [proof_of(checks, review) for checks in (True, False) for review in (True, False)]
    assert found == ["checks_and_review", "checks", "review", ""]


NOT_CHECKED = "Claude reported completion; it was not checked: claude-iterate verify t"
NOT_REVIEWED = "Claude reported completion, and the checks pass; the review did not run: claude-iterate verify t"
RED_TESTS = replace(CLAIMED, last_status=Status(True, tests="failing"))
SOME = replace(CLAIMED, last_status=Status(True, 3, 10))
BLOCKED = replace(CLAIMED, last_status=Status(True, blocked="a key\nis missing"))
FAILED = replace(BLOCKED, claim=Claim(1, VerificationFinished(1, False, "red")))


@pytest.mark.parametrize(
    ("state", "known", "reason", "expected"),
    [
        (CLAIMED, CHECKS, "interrupted", f"{NOT_CHECKED} --checks-only"),
        (CLAIMED, BOTH, "duration", NOT_CHECKED),
        (CHECKED, BOTH, "budget", NOT_REVIEWED),
        (CLAIMED, facts(0, auto_verify=True), "budget", NOT_CHECKED),
        (CLAIMED, facts(0, purpose="verify"), "interrupted", ""),
        (replace(CLAIMED, claim=Claim(1, VerificationFinished(1, False, "red"))), CHECKS, "verification_failed", ""),
        (RunState(started=STARTED, last_status=Status(False)), CHECKS, "interrupted", ""),
        (RunState(started=STARTED), CHECKS, "interrupted", ""),
        (CLAIMED, facts(0), "completed", ""),
        (replace(CLAIMED, last_status=Status(True, 10, 10)), facts(0), "completed", ""),
        (SOME, facts(0), "completed", "Claude reported `complete: true` together with 3 of 10 items done."),
        (RED_TESTS, facts(0), "completed", "Claude reported `complete: true` together with failing tests."),
        (CLAIMED, facts(0), "hook_abort", NOT_CHECKED),
        (BLOCKED, CHECKS, "completed", "Claude reported `complete: true` together with blocked: a key is missing."),
        (BLOCKED, facts(0), "blocked", "Claude reported `complete: true` as well."),
        (FAILED, CHECKS, "blocked", "Claude reported `complete: true` as well; the proof failed."),
    ],
)
def test_what_is_said_of_the_claim(state: RunState, known: Facts, reason: Reason, expected: str) -> None:
    """That it was not checked or not reviewed and how to do it; what the report says beside it; else nothing."""
    assert claim_remark(state, known, reason) == expected
