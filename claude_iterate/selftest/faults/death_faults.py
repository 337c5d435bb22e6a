"""Faults of the runner itself: it is killed with SIGKILL at the worst moments, then the user runs it again."""

from __future__ import annotations

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import waited_to_the_end
from claude_iterate.selftest.harness.fault import Expected, Fault
from claude_iterate.selftest.harness.script_steps import HANG, INIT, LEFT, finish, message, proceed, usage_limit

_LEFTOVERS = "Claude and its tools would keep working, unnoticed, after the run ended."
_FIXED = {"verification.checks": ["test -e claude-iterate/workspaces/my-task/fixed"]}
_CRASH = [{"exit": 3}]
_AT_WORK = [LEFT, message("I started a process")]

FAULTS = {
    "killed-in-iteration": Fault(
        "kill -9 in the middle of an iteration, then `run` again",
        "Iterations and money would be counted twice or not at all.",
        (proceed(), [INIT, *_AT_WORK, HANG], proceed(), finish()),
        Expected(outcomes=("ok", "ok", "ok")),
        intervention=interventions.kill("AssistantText"),
        called=4,
        costs=0.03,
    ),
    "killed-with-a-mess": Fault(
        "kill -9, half a line in the journal, a run folder without a journal",
        "The leftovers of a crash would prevent the next run.",
        (proceed(), [INIT, HANG], finish()),
        Expected(outcomes=("ok", "ok")),
        intervention=interventions.kill("SessionOpened", 2, mess=True),
        called=3,
        costs=0.02,
    ),
    "killed-ignoring": Fault(
        "kill -9 of the runner while Claude ignores signals",
        _LEFTOVERS,
        ([{"ignore": ["SIGINT", "SIGTERM"]}, INIT, *_AT_WORK, HANG], finish()),
        intervention=interventions.kill("AssistantText"),
        called=2,
    ),
    "killed-while-waiting": Fault(
        "kill -9 while the run waits for a limit, then `run` again",
        "The run would call Claude at once, before the limit resets.",
        (proceed(), usage_limit("You've hit your session limit", 5), finish()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        intervention=interventions.kill("WaitStarted"),
        checks=(waited_to_the_end,),
    ),
    "killed-while-proving": Fault(
        "kill -9 while a claim is checked, then `run` again",
        "Finished work would be repeated, or one claim counted as two.",
        (finish(),),
        settings={"verification.checks": ["test -e claude-iterate/workspaces/my-task/go || sleep 300"]},
        intervention=interventions.kill("VerificationStarted"),
        events={"VerificationStarted claim=1": 2},
    ),
    "killed-after-a-failed-claim": Fault(
        "kill -9 in the iteration after a failed claim, then `run` again",
        "A claim would be judged twice, which could end the run.",
        (finish(), [INIT, HANG], finish({"touch": "fixed"})),
        Expected(outcomes=("ok", "ok")),
        settings=_FIXED,
        intervention=interventions.kill("SessionOpened", 2),
        called=3,
        events={"VerificationStarted": 2},
    ),
    "paid-before-death": Fault(
        "kill -9 after a result, before the end of the iteration",
        "Spent money would not be counted.",
        ([*proceed(), HANG], finish()),
        settings={"timeouts.result_grace": "1h"},
        intervention=interventions.kill("ResultReported"),
        called=2,
        costs=0.02,
    ),
    "killed-before-the-next": Fault(
        "kill -9 between a failed claim and the next iteration",
        "The claim would be judged twice, or Claude would not learn what was wrong with it.",
        (finish(), finish({"touch": "fixed"})),
        Expected(outcomes=("ok", "ok")),
        settings={"verification.checks": ["test -e claude-iterate/workspaces/my-task/fixed"], "delay": "1h"},
        intervention=interventions.kill("VerificationFinished"),
        events={"VerificationStarted": 2},
        prompts={2: "failed with exit code 1"},
    ),
    "killed-among-claims": Fault(
        "kill -9 after a failed claim, then the last allowed claim",
        "A task that cannot be proven would never end.",
        (finish(), [INIT, HANG], finish()),
        Expected("verification_failed", 1, ("ok", "ok")),
        settings={"verification.checks": ["false"]},
        intervention=interventions.kill("SessionOpened", 2),
        called=3,
        events={"VerificationFinished claim=2": 1},
    ),
    "killed-among-failures": Fault(
        "kill -9 after two failures in a row, then a third",
        "A Claude that always crashes would never end the run.",
        (_CRASH, _CRASH, [INIT, HANG], _CRASH),
        Expected("agent_failed", 1, ("crash", "crash", "crash")),
        intervention=interventions.kill("SessionOpened"),
        called=4,
    ),
    "killed-while-a-review-waits": Fault(
        "kill -9 while a review waits for a limit, then `run` again",
        "The review would start before the limit resets, or the claim would be counted twice.",
        (finish(), usage_limit("You've hit your session limit", 4), [{"work": True}]),
        flags=("--verify",),
        intervention=interventions.kill("WaitStarted"),
        called=3,
        events={"WaitStarted": 1, "VerificationFinished claim=1 passed=True": 1},
        checks=(waited_to_the_end,),
    ),
    "killed-with-its-guardian": Fault(
        "kill -9 of the runner and of the guardian that cleans up",
        _LEFTOVERS,
        ([INIT, *_AT_WORK, HANG], finish()),
        intervention=interventions.kill("AssistantText", guardian=True),
        called=2,
        impossible=interventions.not_on_linux,
    ),
}
