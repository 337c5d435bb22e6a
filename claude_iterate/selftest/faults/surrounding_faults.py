"""Faults around the runner: disks, receivers of notifications, a second run, signals."""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM

from claude_iterate.selftest.harness import expectations, interventions, webhook_receiver
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, done, more, said

_NO_MESSAGE = "A receiver of notifications would delay the run or make it fail."
_LEFTOVERS = "Claude and its tools would keep working, unnoticed, after the run ended."


def _read_only(project: FaultProject) -> None:
    project.workspace.chmod(0o555)
    project.closing.callback(project.workspace.chmod, 0o755)


FAULTS = {
    "disk-full": Fault(
        "no file can grow beyond 16 KB",
        "A full disk would lose the work of the whole run.",
        (done({"flood": {"lines": 100, "bytes": 1000, "events": True}}),),
        Expected("completed", 0, ()),
        intervention=interventions.with_small_files,
        flags=("--json",),
        checks=(expectations.says("cannot be written"),),
    ),
    "disk-full-for-a-while": Fault(
        "the disk is full for a while",
        "The journal would have a gap.",
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
        intervention=interventions.full_for_a_while,
        checks=(expectations.has("Said", 50),),
        impossible=interventions.cannot_limit_others,
    ),
    "read-only": Fault(
        "a workspace that is read-only",
        "The runner would crash instead of reporting what is wrong.",
        (done(),),
        Expected("", 1, ()),
        prepare=_read_only,
        checks=(expectations.says("cannot be written"),),
        impossible=interventions.may_write_anywhere,
    ),
    "webhook-slow": Fault(
        "a receiver that never answers",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.silent,
    ),
    "webhook-dead": Fault(
        "an address where nothing listens",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.dead,
        checks=(expectations.says("Notifications to"),),
    ),
    "webhook-500": Fault(
        "a receiver that answers with errors",
        _NO_MESSAGE,
        (more(), done()),
        Expected(outcomes=("ok", "ok")),
        prepare=webhook_receiver.answering(500),
        checks=(expectations.says("Notifications to"),),
    ),
    "two-runs": Fault(
        "a second run in the same workspace",
        "Two runs would overwrite each other's work.",
        (done(READY, GO),),
        intervention=interventions.second_run,
        checks=(expectations.second_is_refused, expectations.called(1)),
    ),
    "suspended-runner": Fault(
        "the runner is suspended for a while, as by Ctrl-Z",
        "The run would end Claude for a silence that the runner caused.",
        (done(READY, GO),),
        settings={"timeouts.idle": "4s"},
        intervention=interventions.suspended(5.0),
        checks=(expectations.has("CutStarted", 0),),
    ),
    "sigint-once": Fault(
        "Ctrl-C, once",
        "The work of the iteration would be lost.",
        (more(READY, GO),),
        Expected("interrupted", 130, ("ok",)),
        intervention=interventions.signalled(SIGINT),
        checks=(expectations.says("✓ Iteration 1 complete"),),
    ),
    "sigint-twice": Fault(
        "Ctrl-C, twice",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("interrupted", 130, ("interrupted",)),
        intervention=interventions.signalled(SIGINT, SIGINT),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
    "sigterm": Fault(
        "SIGTERM, as at a shutdown",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        intervention=interventions.signalled(SIGTERM),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
    "sighup": Fault(
        "SIGHUP, as from a closed terminal",
        _LEFTOVERS,
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected("terminated", 143, ("interrupted",)),
        intervention=interventions.signalled(SIGHUP),
        checks=(expectations.process_is_gone("left"), expectations.logs("a last word", "Reason: ")),
    ),
}
