"""Faults around the runner: disks, receivers, a second run, signals."""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM

from claude_iterate.selftest.harness import expectations, interventions, webhook_receiver
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Scene
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, done, more, said

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
        act=interventions.with_small_files(32),
        flags=("--json",),
        checks=(expectations.says("cannot be written"),),
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
        act=interventions.full_for_a_while,
        checks=(expectations.has("Said", 50),),
        impossible=interventions.cannot_limit_others,
    ),
    Scenario(
        "read-only",
        "a workspace that cannot be written",
        "The runner would crash instead of saying what is wrong.",
        (done(),),
        Expected("", 1, ()),
        prepare=_read_only,
        checks=(expectations.says("cannot be written"),),
        impossible=interventions.may_write_anywhere,
    ),
    Scenario(
        "webhook-slow",
        "a receiver that never answers",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.silent,
    ),
    Scenario(
        "webhook-dead",
        "a receiver that is not there",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.dead,
        checks=(expectations.says("Notifications to"),),
    ),
    Scenario(
        "webhook-500",
        "a receiver that fails",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.answering(500),
        checks=(expectations.says("Notifications to"),),
    ),
    Scenario(
        "two-runs",
        "a second run in the same workspace",
        "Two runs would overwrite each other's work.",
        (done(READY, GO),),
        act=interventions.twice_at_once,
        checks=(expectations.second_is_refused, expectations.called(1)),
    ),
    Scenario(
        "suspended-runner",
        "the runner is stopped for a while, as Ctrl-Z does",
        "Claude would be cut off for a silence that was ours.",
        (done(READY, GO),),
        settings={"timeouts.idle": "4s"},
        act=interventions.suspended(5.0),
        checks=(expectations.has("CutStarted", 0),),
    ),
    Scenario(
        "sigint-once",
        "Ctrl-C, once",
        "The work of the iteration would be lost.",
        (more(READY, GO),),
        Expected("interrupted", 130, ("ok",)),
        act=interventions.signalled(SIGINT, then_go=True),
    ),
    Scenario(
        "sigint-twice",
        "Ctrl-C, twice",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("interrupted", 130, ("interrupted",)),
        act=interventions.signalled(SIGINT, SIGINT),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
    Scenario(
        "sigterm",
        "SIGTERM, as a shutdown sends it",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        act=interventions.signalled(SIGTERM),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
    Scenario(
        "sighup",
        "SIGHUP, as a closed terminal sends it",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        act=interventions.signalled(SIGHUP),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
)
