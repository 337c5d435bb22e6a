"""Faults of the runner itself: it is killed with SIGKILL at the worst moments, and `run` is said again."""

from __future__ import annotations

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.script_steps import (
    HANG,
    INIT,
    LEFT,
    RESULT,
    UNFINISHED,
    Step,
    done,
    more,
    said,
    usage_limit,
)

_LEFTOVERS = "Claude and its tools would work on, unseen, after the run was ended."
_MENDED = {"verification.checks": ["test -e claude-iterate/workspaces/fault/mended"]}
_RED = {"verification.checks": ["false"]}
_CRASH: list[Step] = [{"exit": 3}]
_AT_WORK: list[Step] = [LEFT, said("there is one more process now")]
_REVIEW: list[Step] = [{"work": True}]

SCENARIOS = (
    Scenario(
        "killed-in-iteration",
        "kill -9 of the runner in mid-iteration, then `run` again",
        "Iterations and money would be counted twice or not at all.",
        (more(), [INIT, *_AT_WORK, HANG], more(), done()),
        Expected(outcomes=("ok", "ok", "ok")),
        act=interventions.killed("Said"),
        checks=(
            expectations.numbers(1, 2, 3),
            expectations.costs(0.03),
            expectations.called(4),
            expectations.process_is_gone("left"),
        ),
    ),
    Scenario(
        "killed-with-a-mess",
        "kill -9, half a line in the journal, a run folder without a journal",
        "What a crash leaves behind would keep the next run from starting.",
        (more(), [INIT, HANG], done()),
        Expected(outcomes=("ok", "ok")),
        act=interventions.killed("SessionOpened", 2, mess=True),
        checks=(expectations.numbers(1, 2), expectations.costs(0.02)),
    ),
    Scenario(
        "killed-ignoring",
        "kill -9 of the runner while Claude ignores signals",
        _LEFTOVERS,
        ([{"ignore": ["SIGINT", "SIGTERM"]}, INIT, *_AT_WORK, HANG], done()),
        act=interventions.killed("Said"),
        checks=(expectations.process_is_gone("left"),),
    ),
    Scenario(
        "killed-while-waiting",
        "kill -9 while the run waits for a limit, then `run` again",
        "The run would call Claude at once, against the limit.",
        (more(), usage_limit("You've hit your session limit", 5), done()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        act=interventions.killed("WaitStarted"),
        checks=(expectations.numbers(1, 2, 2), expectations.called(3), expectations.waited_to_the_end),
    ),
    Scenario(
        "killed-while-proving",
        "kill -9 while a claim is checked, then `run` again",
        "Finished work would be done once more, or one claim be counted as two.",
        (done(),),
        settings={"verification.checks": ["test -e claude-iterate/workspaces/fault/go || sleep 60"]},
        act=interventions.killed("VerificationStarted"),
        checks=(expectations.numbers(1), expectations.called(1), expectations.has("VerificationStarted", 2, claim=1)),
    ),
    Scenario(
        "killed-after-a-failed-claim",
        "kill -9 in the iteration after a claim that did not hold, then `run` again",
        "A claim that was judged already would be judged again, and end the run.",
        (done(), [INIT, HANG], done({"touch": "mended"})),
        Expected(outcomes=("ok", "ok")),
        settings=_MENDED,
        act=interventions.killed("SessionOpened", 2),
        checks=(expectations.numbers(1, 2), expectations.called(3), expectations.has("VerificationStarted", 2)),
    ),
    Scenario(
        "paid-before-death",
        "kill -9 after a result, before the iteration is over",
        "Money that was spent would be forgotten.",
        ([INIT, UNFINISHED, RESULT, HANG], done()),
        settings={"timeouts.result_grace": "30s"},
        act=interventions.killed("ResultReported"),
        checks=(expectations.numbers(1), expectations.costs(0.02)),
    ),
    Scenario(
        "killed-before-the-next",
        "kill -9 between a claim that did not hold and the next iteration",
        "The claim would be judged twice, or Claude not be told what was wrong with it.",
        (done(), done({"touch": "mended"})),
        Expected(outcomes=("ok", "ok")),
        settings={**_MENDED, "delay": "2s"},
        act=interventions.killed("VerificationFinished"),
        checks=(
            expectations.numbers(1, 2),
            expectations.called(2),
            expectations.has("VerificationStarted", 2),
            expectations.prompt_holds(2, "failed with exit code 1"),
        ),
    ),
    Scenario(
        "killed-among-claims",
        "kill -9 after a claim that did not hold; then the last claim that is allowed",
        "A task that cannot be proven would go on for ever.",
        (done(), [INIT, HANG], done()),
        Expected("verification_failed", 1, ("ok", "ok")),
        settings=_RED,
        act=interventions.killed("SessionOpened", 2),
        checks=(expectations.numbers(1, 2), expectations.has("VerificationFinished", 1, claim=2)),
    ),
    Scenario(
        "killed-among-failures",
        "kill -9 after two failures in a row; then a third",
        "A Claude that always falls over would never end the run.",
        (_CRASH, _CRASH, [INIT, HANG], _CRASH),
        Expected("agent_failed", 1, ("crash", "crash", "crash")),
        act=interventions.killed("SessionOpened"),
        checks=(expectations.numbers(1, 2, 3), expectations.called(4)),
    ),
    Scenario(
        "killed-while-a-review-waits",
        "kill -9 while a review waits for a limit, then `run` again",
        "The review would be held at once, against the limit, or the claim be counted twice.",
        (done(), usage_limit("You've hit your session limit", 4), _REVIEW),
        flags=("--verify",),
        act=interventions.killed("WaitStarted"),
        checks=(
            expectations.numbers(1),
            expectations.called(3),
            expectations.waited_to_the_end,
            expectations.has("WaitStarted", 1),
            expectations.has("VerificationFinished", 1, claim=1, passed=True),
        ),
    ),
    Scenario(
        "killed-with-its-guardian",
        "kill -9 of the runner and of the one who would clean up",
        _LEFTOVERS,
        ([INIT, *_AT_WORK, HANG], done()),
        act=interventions.killed("Said", guardian=True),
        checks=(expectations.process_is_gone("left"),),
        impossible=interventions.cannot_name_children,
    ),
)
