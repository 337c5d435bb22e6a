"""Requests of people in the middle of a run. Not faults of anybody, but a run that misses one is a fault."""

from __future__ import annotations

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.script_steps import GO, HANG, INIT, LEFT, READY, done, more, usage_limit

_DEAF = "Whoever wants to step in could only kill the run, and would lose work."
_LIMITED = usage_limit("You've hit your session limit", 3600)
_NOTE = "The tests need Node 22."

SCENARIOS = (
    Scenario(
        "pause-and-resume",
        "`pause` in mid-iteration, later `resume`",
        _DEAF,
        (more(READY, GO), done()),
        Expected(outcomes=("ok", "ok")),
        act=interventions.held,
        checks=(expectations.nothing_begins_while_paused,),
    ),
    Scenario(
        "skip-iteration",
        "`skip` while Claude hangs",
        _DEAF,
        ([INIT, READY, HANG], done()),
        Expected(outcomes=("skipped", "ok")),
        act=interventions.told("skip"),
        checks=(expectations.numbers(1, 2),),
    ),
    Scenario(
        "reboot-iteration",
        "`reboot` while Claude has lost its way",
        _DEAF,
        ([INIT, READY, HANG], done()),
        Expected(outcomes=("rebooted", "ok")),
        act=interventions.told("reboot"),
        checks=(expectations.numbers(1, 1),),
    ),
    Scenario(
        "retry-in-a-wait",
        "`retry` while the run waits for a limit",
        "A limit that was lifted would cost the night.",
        (_LIMITED, done()),
        Expected(outcomes=("usage_limit", "ok")),
        act=interventions.told("retry", once="WaitStarted"),
        checks=(expectations.numbers(1, 1), expectations.has("WaitEnded", 1, by="retry")),
    ),
    Scenario(
        "stop-in-a-wait",
        "`stop` while the run waits for a limit",
        _DEAF,
        (_LIMITED,),
        Expected("stopped", 0, ("usage_limit",)),
        act=interventions.told("stop", once="WaitStarted"),
        checks=(expectations.called(1),),
    ),
    Scenario(
        "stop-after-the-iteration",
        "`stop` in mid-iteration",
        "The work of the iteration would be lost.",
        (more(READY, GO),),
        Expected("stopped", 0, ("ok",)),
        act=interventions.told("stop"),
        checks=(expectations.called(1), expectations.has("CutStarted", 0)),
    ),
    Scenario(
        "stop-now",
        "`stop --now` in mid-iteration",
        "Claude and its tools would work on, unseen, after the run was ended.",
        ([INIT, LEFT, READY, HANG],),
        Expected("stopped", 0, ("interrupted",)),
        act=interventions.told("stop", "--now"),
        checks=(expectations.called(1), expectations.process_is_gone("left")),
    ),
    Scenario(
        "note-in-mid-run",
        "a `note` while Claude works",
        "A person's word would be lost, or told again and again.",
        (more(READY, GO), more(), done()),
        Expected(outcomes=("ok", "ok", "ok")),
        act=interventions.told("note", _NOTE),
        checks=(
            expectations.prompt_lacks(1, _NOTE),
            expectations.prompt_holds(2, _NOTE),
            expectations.prompt_lacks(3, _NOTE),
        ),
    ),
)
