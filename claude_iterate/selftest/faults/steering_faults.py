"""Requests of the user during a run. They are not faults, but a run that misses one is faulty."""

from __future__ import annotations

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import nothing_begins_while_paused, only_prompt
from claude_iterate.selftest.harness.fault import Expected, Fault
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, finish, proceed, usage_limit

_UNHEARD = "A user who wants to intervene could only kill the run, and would lose work."
_LIMITED = usage_limit("You've hit your session limit", 3600)
_NOTE = "The tests need Node 22."

FAULTS = {
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
        checks=(only_prompt(2, _NOTE),),
    ),
}
