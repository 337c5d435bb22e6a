"""Faults of the record and of the terminal: Claude deletes or replaces files of its own run; nothing can be shown."""

from __future__ import annotations

from dataclasses import replace

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import GO, READY, done, more
from claude_iterate.system import programs

_LOST = "What the night did and cost would be lost, and be paid for again."
_GIT = "git -c user.name=a -c user.email=a@b"


def _no_git() -> str:
    return "" if programs.which("git", None) else "there is no git"


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
        checks=(
            expectations.numbers(*range(1, count + 1)),
            expectations.costs(0.01 * count),
            expectations.log_is_there,
            expectations.raw_is_there(count),
        ),
    )


FAULTS = {
    "record-deleted": _survived(
        "Claude deletes journal, log and lock", "rm -rf $WORKSPACE/runs $WORKSPACE/iterate-*.log $WORKSPACE/.lock"
    ),
    "folder-replaced": _survived(
        "Claude replaces the folder of the workspace by a copy",
        "cp -R $WORKSPACE aside && rm -rf $WORKSPACE && mv aside $WORKSPACE",
    ),
    "git-stash": replace(
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
        checks=(expectations.second_is_refused, expectations.called(1)),
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
