"""What comes from outside: disks, receivers of notifications, a second run, signals, the record, the terminal; and
requests of the user, which are no faults, but a run that misses one is faulty."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from signal import SIGHUP, SIGINT, SIGTERM, Signals

import msgspec

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import (
    nothing_begins_while_paused,
    record_is_there,
    second_is_refused,
)
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import (
    GO,
    HANG,
    INIT,
    LEFT,
    READY,
    finish,
    message,
    proceed,
    usage_limit,
)


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
_LOST = "What the night did and cost would be lost, and be paid for again."
_GIT = "git -c user.name=a -c user.email=a@b"


def _no_git() -> str:
    return "" if shutil.which("git") else "there is no git"


def _remove_ignore_rules(project: FaultProject) -> None:
    """A workspace that git takes along whole."""
    (project.workspace / ".gitignore").touch()


def _command_fault(what: str, *commands: str) -> Fault:
    """Each command is run in an iteration of its own; then one more does the rest."""
    count = len(commands) + 1
    return Fault(
        what,
        _LOST,
        (*(proceed({"shell": command}) for command in commands), finish()),
        Expected(outcomes=("ok",) * count),
        prepare=_remove_ignore_rules,
        costs=0.01 * count,
        checks=(record_is_there,),
    )


_UNHEARD = "A user who wants to intervene could only kill the run, and would lose work."
_LIMITED = usage_limit("You've hit your session limit", 3600)
_NOTE = "The tests need Node 22."


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
        events={"AssistantText": 50},
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
        events={"CutStarted": 0, "AssistantText text=meanwhile": 1},
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
    "record-deleted": _command_fault(
        "Claude deletes journal, log and lock", "rm -rf $WORKSPACE/runs $WORKSPACE/iterate-*.log $WORKSPACE/.lock"
    ),
    "folder-replaced": _command_fault(
        "Claude replaces the folder of the workspace by a copy",
        "cp -R $WORKSPACE aside && rm -rf $WORKSPACE && mv aside $WORKSPACE",
    ),
    "git-stash": msgspec.structs.replace(
        _command_fault(
            "Claude stashes and restores files that git follows, the journal included",
            f"git init -q && git add -A && {_GIT} commit -qm all",
            f"{_GIT} stash -q && {_GIT} stash pop -q",
        ),
        impossible=_no_git,
    ),
    "lock-deleted": Fault(
        "a second run after Claude deleted the lock file",
        "Two runs would overwrite each other's work.",
        (finish({"shell": "rm $WORKSPACE/.lock"}, READY, GO),),
        intervention=interventions.second_run,
        checks=(second_is_refused,),
    ),
    "terminal-stopped": Fault(
        "a terminal that takes nothing, as after Ctrl-S",
        "The run would stand still, and its time-outs with it.",
        (proceed({"flood": {"lines": 2000, "bytes": 100, "events": True}}), finish()),
        Expected(outcomes=("ok", "ok")),
        flags=("--verbose",),
        intervention=interventions.on_a_stopped_terminal,
    ),
    "pause-and-resume": Fault(
        "`pause` during an iteration, later `resume`",
        _UNHEARD,
        (proceed(READY, GO), finish()),
        Expected(outcomes=("ok", "ok")),
        intervention=interventions.pause,
        checks=(nothing_begins_while_paused,),
    ),
    "skip-iteration": Fault(
        "`skip` while Claude hangs",
        _UNHEARD,
        ([INIT, READY, HANG], finish()),
        Expected(outcomes=("skipped", "ok")),
        intervention=interventions.request("skip"),
    ),
    "reboot-iteration": Fault(
        "`reboot` while Claude hangs",
        _UNHEARD,
        ([INIT, READY, HANG], finish()),
        Expected(outcomes=("rebooted", "ok")),
        intervention=interventions.request("reboot"),
    ),
    "retry-in-a-wait": Fault(
        "`retry` while the run waits for a limit",
        "The run would keep waiting for a limit that is over.",
        (_LIMITED, finish()),
        Expected(outcomes=("usage_limit", "ok")),
        intervention=interventions.request("retry", once="WaitStarted"),
        events={"WaitEnded by=retry": 1},
    ),
    "stop-in-a-wait": Fault(
        "`stop` while the run waits for a limit",
        _UNHEARD,
        (_LIMITED,),
        Expected("stopped", 0, ("usage_limit",)),
        intervention=interventions.request("stop", once="WaitStarted"),
    ),
    "stop-after-the-iteration": Fault(
        "`stop` during an iteration",
        "The work of the iteration would be lost.",
        (proceed(READY, GO),),
        Expected("stopped", 0, ("ok",)),
        intervention=interventions.request("stop"),
        events={"CutStarted": 0},
    ),
    "stop-now": Fault(
        "`stop --now` during an iteration",
        "Claude and its tools would keep working, unnoticed, after the run ended.",
        ([INIT, LEFT, READY, HANG],),
        Expected("stopped", 0, ("interrupted",)),
        intervention=interventions.request("stop", "--now"),
    ),
    "note-in-mid-run": Fault(
        "a `note` while Claude works",
        "The note would be lost, or delivered again and again.",
        (proceed(READY, GO), proceed(), finish()),
        Expected(outcomes=("ok", "ok", "ok")),
        intervention=interventions.request("note", _NOTE),
        prompts={2: _NOTE},
    ),
}
