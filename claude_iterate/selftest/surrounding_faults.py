"""Faults around the runner: disks, receivers, a second run, signals, and its own death."""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM

from claude_iterate.selftest import acts, checks, webhook
from claude_iterate.selftest.scenario import Expected, Scenario
from claude_iterate.selftest.scene import Scene
from claude_iterate.selftest.steps import GO, HANG, INIT, READY, RESULT, UNFINISHED, done, more, said, usage_limit

LEFT = {"grandchild": {"seconds": 300, "own_session": True, "hold_stdout": True, "pidfile": "left"}}
_NO_MESSAGE = "A receiver of messages would hold up or fail the run."
_LEFTOVERS = "Claude and its tools would work on, unseen, after the run was ended."


def _read_only(scene: Scene) -> None:
    scene.workspace.chmod(0o555)
    scene.closing.callback(scene.workspace.chmod, 0o755)


SCENARIOS = (
    Scenario(
        "disk-full",
        "no file can grow beyond 16 KB",
        "A full disk would lose the work of the night.",
        (done({"flood": {"lines": 100, "bytes": 1000, "events": True}}),),
        Expected("completed", 0, ()),
        act=acts.with_small_files(32),
        flags=("--json",),
        checks=(checks.says("cannot be written"),),
    ),
    Scenario(
        "disk-full-for-a-while",
        "the disk is full, then there is room again",
        "The journal would have a hole where the disk was full.",
        (
            done(
                READY,
                {"wait_for": "talk"},
                *(said(f"word {number}") for number in range(50)),
                {"sleep": 0.3},
                {"touch": "talked"},
                GO,
            ),
        ),
        act=acts.full_for_a_while,
        checks=(checks.has("Said", 50),),
        impossible=acts.cannot_limit_others,
    ),
    Scenario(
        "read-only",
        "a workspace that cannot be written",
        "The runner would crash instead of saying what is wrong.",
        (done(),),
        Expected("", 1, ()),
        prepare=_read_only,
        checks=(checks.says("cannot be written"),),
        impossible=acts.may_write_anywhere,
    ),
    Scenario(
        "webhook-slow",
        "a receiver that never answers",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook.silent,
    ),
    Scenario(
        "webhook-dead",
        "a receiver that is not there",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook.dead,
        checks=(checks.says("Notifications to"),),
    ),
    Scenario(
        "webhook-500",
        "a receiver that fails",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook.answering(500),
        checks=(checks.says("Notifications to"),),
    ),
    Scenario(
        "two-runs",
        "a second run in the same workspace",
        "Two runs would overwrite each other's work.",
        (done(READY, GO),),
        act=acts.twice_at_once,
        checks=(checks.second_is_refused, checks.called(1)),
    ),
    Scenario(
        "sigint-once",
        "Ctrl-C, once",
        "The work of the iteration would be lost.",
        (more(READY, GO),),
        Expected("interrupted", 130, ("ok",)),
        act=acts.signalled(SIGINT, then_go=True),
    ),
    Scenario(
        "sigint-twice",
        "Ctrl-C, twice",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("interrupted", 130, ("interrupted",)),
        act=acts.signalled(SIGINT, SIGINT),
        checks=(checks.process_is_gone("left"), checks.logs("a last word", "Reason: ")),
    ),
    Scenario(
        "sigterm",
        "SIGTERM, as a shutdown sends it",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        act=acts.signalled(SIGTERM),
        checks=(checks.process_is_gone("left"), checks.logs("a last word", "Reason: ")),
    ),
    Scenario(
        "sighup",
        "SIGHUP, as a closed terminal sends it",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        act=acts.signalled(SIGHUP),
        checks=(checks.process_is_gone("left"), checks.logs("a last word", "Reason: ")),
    ),
    Scenario(
        "killed-in-iteration",
        "kill -9 of the runner in mid-iteration, then `run` again",
        "Iterations and money would be counted twice or not at all.",
        (more(), [INIT, LEFT, HANG], more(), done()),
        Expected(outcomes=("ok", "ok", "ok")),
        act=acts.killed("SessionOpened", 2),
        checks=(checks.numbers(1, 2, 3), checks.costs(0.03), checks.called(4), checks.process_is_gone("left")),
    ),
    Scenario(
        "killed-with-a-mess",
        "kill -9, half a line in the journal, a run folder without a journal",
        "What a crash leaves behind would keep the next run from starting.",
        (more(), [INIT, HANG], done()),
        Expected(outcomes=("ok", "ok")),
        act=acts.killed("SessionOpened", 2, mess=True),
        checks=(checks.numbers(1, 2), checks.costs(0.02)),
    ),
    Scenario(
        "killed-ignoring",
        "kill -9 of the runner while Claude ignores signals",
        _LEFTOVERS,
        ([{"ignore": ["SIGINT", "SIGTERM"]}, INIT, LEFT, HANG], done()),
        act=acts.killed("SessionOpened"),
        checks=(checks.process_is_gone("left"),),
    ),
    Scenario(
        "killed-while-waiting",
        "kill -9 while the run waits for a limit, then `run` again",
        "The run would call Claude at once, against the limit.",
        (more(), usage_limit("You've hit your session limit", 5), done()),
        Expected(outcomes=("ok", "usage_limit", "ok")),
        act=acts.killed("WaitStarted"),
        checks=(checks.numbers(1, 2, 2), checks.called(3), checks.waited_to_the_end),
    ),
    Scenario(
        "killed-while-proving",
        "kill -9 while a claim is checked, then `run` again",
        "Finished work would be done once more, or one claim be counted as two.",
        (done(),),
        settings={"verification.checks": ["test -e claude-iterate/workspaces/fault/go || sleep 60"]},
        act=acts.killed("VerificationStarted"),
        checks=(checks.numbers(1), checks.called(1), checks.has("VerificationStarted", 2, claim=1)),
    ),
    Scenario(
        "killed-after-a-failed-claim",
        "kill -9 in the iteration after a claim that did not hold, then `run` again",
        "A claim that was judged already would be judged again, and end the run.",
        (done(), [INIT, HANG], done({"touch": "mended"})),
        Expected(outcomes=("ok", "ok")),
        settings={"verification.checks": ["test -e claude-iterate/workspaces/fault/mended"]},
        act=acts.killed("SessionOpened", 2),
        checks=(checks.numbers(1, 2), checks.called(3), checks.has("VerificationStarted", 2)),
    ),
    Scenario(
        "paid-before-death",
        "kill -9 after a result, before the iteration is over",
        "Money that was spent would be forgotten.",
        ([INIT, UNFINISHED, RESULT, HANG], done()),
        settings={"timeouts.result_grace": "30s"},
        act=acts.killed("ResultReported"),
        checks=(checks.numbers(1), checks.costs(0.02)),
    ),
)
