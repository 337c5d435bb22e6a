"""What comes from outside: disks, receivers of notifications, a second run, signals, the terminal."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGHUP, SIGINT, SIGTERM, Signals

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import second_is_refused
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, finish, message, proceed


def _make_read_only(project: FaultProject) -> None:
    project.workspace.chmod(0o555)
    project.closing.callback(project.workspace.chmod, 0o755)


def _signal_fault(what: str, reason: str, code: int, *signals: Signals) -> Fault:
    """Signals that end Claude at once, with what it started; its last word is logged."""
    return Fault(
        what,
        "Claude and its tools would keep working, unnoticed, after the run ended.",
        ([INIT, message("a last word"), LEFT, READY, HANG],),
        Expected(reason, code, ("interrupted",)),
        intervention=interventions.send_signals(*signals),
        logs=("a last word", "Reason: "),
    )


_DELAYED = "A receiver of notifications would delay the run or make it fail."


def _receiver_fault(what: str, prepare: Callable[[FaultProject], None]) -> Fault:
    return Fault(what, _DELAYED, (proceed(), finish()), Expected(outcomes=("ok", "ok")), prepare=prepare)


FAULTS = {
    "disk-full": Fault(
        "no file can grow beyond 16 KB",
        "A full disk would lose the work of the whole run.",
        (finish({"flood": {"lines": 100, "bytes": 1000, "events": True}}),),
        Expected("completed", 0, ()),
        called=1,
        intervention=interventions.with_small_files,
        flags=("--json",),
        says=("cannot be written",),
    ),
    "disk-full-for-a-while": Fault(
        "the disk is full for a while",
        "The journal would have a gap.",
        (
            finish(
                READY,
                {"wait_for": "talk"},
                *(message(f"word {number}") for number in range(50)),
                {"sleep": 0.3},
                {"touch": "talked"},
                GO,
            ),
        ),
        intervention=interventions.full_for_a_while,
        events={"Said": 50},
        impossible=interventions.not_on_linux,
    ),
    "read-only": Fault(
        "a workspace that is read-only",
        "The runner would crash instead of reporting what is wrong.",
        (finish(),),
        Expected("", 1, ()),
        prepare=_make_read_only,
        says=("cannot be written",),
        impossible=interventions.may_write_anywhere,
    ),
    "webhook-slow": _receiver_fault("a receiver that never answers", interventions.receiver()),
    "webhook-dead": Fault(
        "an address where nothing listens",
        _DELAYED,
        (proceed(), finish(GO)),  # it waits for the warning: a short run would be over before the last try
        Expected(outcomes=("ok", "ok")),
        prepare=interventions.receiver(listens=False),
        intervention=interventions.during(once="Warned"),
        says=("Notifications to",),
    ),
    "webhook-500": _receiver_fault("a receiver that answers with errors", interventions.receiver(answers=True)),
    "two-runs": Fault(
        "a second run in the same workspace",
        "Two runs would overwrite each other's work.",
        (finish(READY, GO),),
        intervention=interventions.second_run,
        checks=(second_is_refused,),
    ),
    "suspended-runner": Fault(
        "the runner is suspended for a while, as by Ctrl-Z",
        "The run would end Claude for a silence that the runner caused.",
        (finish(READY, {"wait_for": "talk"}, message("meanwhile"), {"touch": "talked"}, GO),),
        settings={"timeouts.idle": "6s"},
        intervention=interventions.suspend(7.0),
        events={"CutStarted": 0, "Said text=meanwhile": 1},
    ),
    "sigint-once": Fault(
        "Ctrl-C, once",
        "The work of the iteration would be lost.",
        (proceed(READY, GO),),
        Expected("interrupted", 130, ("ok",)),
        intervention=interventions.send_signals(SIGINT),
        says=("✓ Iteration 1 complete",),
    ),
    "sigint-twice": _signal_fault("Ctrl-C, twice", "interrupted", 130, SIGINT, SIGINT),
    "sigterm": _signal_fault("SIGTERM, as at a shutdown", "terminated", 143, SIGTERM),
    "sighup": _signal_fault("SIGHUP, as from a closed terminal", "terminated", 143, SIGHUP),
    "terminal-stopped": Fault(
        "a terminal that takes nothing, as after Ctrl-S",
        "The run would stand still, and its time-outs with it.",
        (proceed({"flood": {"lines": 2000, "bytes": 100, "events": True}}), finish()),
        Expected(outcomes=("ok", "ok")),
        flags=("--verbose",),
        intervention=interventions.on_a_stopped_terminal,
    ),
}
