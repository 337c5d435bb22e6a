"""Faults around the runner: disks, receivers of notifications, a second run, signals, the record, the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from signal import SIGHUP, SIGINT, SIGTERM, Signals

import msgspec

from claude_iterate.selftest.harness import interventions, webhook_receiver
from claude_iterate.selftest.harness.expectations import record_is_there, second_is_refused
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, done, more, said


def _read_only(project: FaultProject) -> None:
    project.workspace.chmod(0o555)
    project.closing.callback(project.workspace.chmod, 0o755)


def _notifying(what: str, prepare: Callable[[FaultProject], None], warns: bool = True) -> Fault:
    """A receiver of notifications that fails. The run does not notice, except that it may say so."""
    danger = "A receiver of notifications would delay the run or make it fail."
    quiet = Fault(what, danger, (more(), done()), Expected(outcomes=("ok", "ok")), prepare=prepare)
    if not warns:
        return quiet
    # The last call waits for the warning: a short run would be over before the last try.
    warned = interventions.awaited("Warned")
    return msgspec.structs.replace(quiet, calls=(more(), done(GO)), says=("Notifications to",), intervention=warned)


def _cut(what: str, reason: str, code: int, *signals: Signals) -> Fault:
    """Signals that end Claude at once, with what it started; its last word is logged."""
    return Fault(
        what,
        "Claude and its tools would keep working, unnoticed, after the run ended.",
        ([INIT, said("a last word"), LEFT, READY, HANG],),
        Expected(reason, code, ("interrupted",)),
        intervention=interventions.signalled(*signals),
        logs=("a last word", "Reason: "),
    )


_LOST = "What the night did and cost would be lost, and be paid for again."
_GIT = "git -c user.name=a -c user.email=a@b"


def _no_git() -> str:
    return "" if shutil.which("git") else "there is no git"


def _without_rules(project: FaultProject) -> None:
    """A workspace that git takes along whole."""
    (project.workspace / ".gitignore").touch()


def _survived(what: str, *commands: str) -> Fault:
    """Each command is run in an iteration of its own; then one more does the rest."""
    count = len(commands) + 1
    return Fault(
        what,
        _LOST,
        (*(more({"shell": command}) for command in commands), done()),
        Expected(outcomes=("ok",) * count),
        prepare=_without_rules,
        costs=0.01 * count,
        checks=(record_is_there,),
    )


FAULTS = {
    "disk-full": Fault(
        "no file can grow beyond 16 KB",
        "A full disk would lose the work of the whole run.",
        (done({"flood": {"lines": 100, "bytes": 1000, "events": True}}),),
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
        events={"Said": 50},
        impossible=interventions.cannot_limit_others,
    ),
    "read-only": Fault(
        "a workspace that is read-only",
        "The runner would crash instead of reporting what is wrong.",
        (done(),),
        Expected("", 1, ()),
        prepare=_read_only,
        says=("cannot be written",),
        impossible=interventions.may_write_anywhere,
    ),
    "webhook-slow": _notifying("a receiver that never answers", webhook_receiver.silent, warns=False),
    "webhook-dead": _notifying("an address where nothing listens", webhook_receiver.dead),
    "webhook-500": _notifying("a receiver that answers with errors", webhook_receiver.failing),
    "two-runs": Fault(
        "a second run in the same workspace",
        "Two runs would overwrite each other's work.",
        (done(READY, GO),),
        intervention=interventions.second_run,
        checks=(second_is_refused,),
    ),
    "suspended-runner": Fault(
        "the runner is suspended for a while, as by Ctrl-Z",
        "The run would end Claude for a silence that the runner caused.",
        (done(READY, {"wait_for": "talk"}, said("meanwhile"), {"touch": "talked"}, GO),),
        settings={"timeouts.idle": "6s"},
        intervention=interventions.suspended(7.0),
        events={"CutStarted": 0, "Said text=meanwhile": 1},
    ),
    "sigint-once": Fault(
        "Ctrl-C, once",
        "The work of the iteration would be lost.",
        (more(READY, GO),),
        Expected("interrupted", 130, ("ok",)),
        intervention=interventions.signalled(SIGINT),
        says=("✓ Iteration 1 complete",),
    ),
    "sigint-twice": _cut("Ctrl-C, twice", "interrupted", 130, SIGINT, SIGINT),
    "sigterm": _cut("SIGTERM, as at a shutdown", "terminated", 143, SIGTERM),
    "sighup": _cut("SIGHUP, as from a closed terminal", "terminated", 143, SIGHUP),
    "record-deleted": _survived(
        "Claude deletes journal, log and lock", "rm -rf $WORKSPACE/runs $WORKSPACE/iterate-*.log $WORKSPACE/.lock"
    ),
    "folder-replaced": _survived(
        "Claude replaces the folder of the workspace by a copy",
        "cp -R $WORKSPACE aside && rm -rf $WORKSPACE && mv aside $WORKSPACE",
    ),
    "git-stash": msgspec.structs.replace(
        _survived(
            "Claude stashes and restores files that git follows, the journal included",
            f"git init -q && git add -A && {_GIT} commit -qm all",
            f"{_GIT} stash -q && {_GIT} stash pop -q",
        ),
        impossible=_no_git,
    ),
    "lock-deleted": Fault(
        "a second run after Claude deleted the lock file",
        "Two runs would overwrite each other's work.",
        (done({"shell": "rm $WORKSPACE/.lock"}, READY, GO),),
        intervention=interventions.second_run,
        checks=(second_is_refused,),
    ),
    "terminal-stopped": Fault(
        "a terminal that takes nothing, as after Ctrl-S",
        "The run would stand still, and its time-outs with it.",
        (more({"flood": {"lines": 2000, "bytes": 100, "events": True}}), done()),
        Expected(outcomes=("ok", "ok")),
        flags=("--verbose",),
        intervention=interventions.on_a_stopped_terminal,
    ),
}
