"""Faults of processes: Claude hangs, crashes, does not exit, or leaves processes behind."""

from __future__ import annotations

import sys

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.expectations import no_run_is_left
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import (
    COMPLETE,
    HANG,
    INIT,
    RESULT,
    Step,
    finish,
    message,
    proceed,
    tool_use,
)

IDLE = {"timeouts.idle": "6s"}
"""A hundred times what a call needs that does not hang: a busy computer must not make it one that does."""
AGAIN = Expected(outcomes=("idle", "ok"))
_VANISHING = f"""#!/bin/sh
if [ "$1" != --version ] && [ ! -e "$0.seen" ]; then touch "$0.seen"; mv "$0" "$0.aside"; fi
exec "{sys.executable}" -P -m claude_iterate.fake_claude "$@"
"""


def _vanishing_claude(project: FaultProject) -> None:
    program = project.folder / "claude"
    program.write_text(_VANISHING)
    program.chmod(0o755)
    project.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)


def _claude_again(project: FaultProject) -> None:
    (project.folder / "claude.aside").rename(project.folder / "claude")


def _no_claude(project: FaultProject) -> None:
    project.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(project.folder / "claude")


def _leave_process(**how: object) -> Step:
    return {"grandchild": {"seconds": 300, "pidfile": "left", **how}}


def _talk(count: int) -> list[Step]:
    return [step for _ in range(count) for step in (message("still here"), {"sleep": 0.2})]


FAULTS = {
    "hang-after-result": Fault(
        "Claude reports its result and does not exit",
        "The run would stand still for hours after good work.",
        ([*finish(), HANG],),
        settings={"timeouts.result_grace": "0.3s"},
        events={"CutStarted cause=lingering": 1},
    ),
    "hang-silent": Fault(
        "Claude never prints anything",
        "The run would stand still all night.",
        ([HANG], finish()),
        AGAIN,
        settings=IDLE,
        events={"CutStarted cause=idle": 1},
    ),
    "hang-in-tool": Fault(
        "a tool that never returns",
        "The user would not learn what the night was spent on.",
        ([INIT, tool_use("t", "sleep 9999"), HANG], finish()),
        AGAIN,
        settings=IDLE,
        logs=("Bash `sleep 9999` has been running",),
        events={"CutStarted cause=idle": 1},
        reasons={1: "Bash `sleep 9999` has been running for"},
    ),
    "hang-after-report": Fault(
        "Claude writes its report, then hangs",
        "The run would hang, or believe a claim that was cut off.",
        ([INIT, COMPLETE, HANG], finish()),
        AGAIN,
        settings=IDLE,
        events={"ClaimDropped cut=True": 1},
    ),
    "endless-talk": Fault(
        "Claude never stops printing",
        "One iteration would take the whole night.",
        ([INIT, *_talk(300)], finish()),
        Expected(outcomes=("timeout", "ok")),
        settings={"timeouts.iteration": "6s"},
    ),
    "ignores-signals": Fault(
        "Claude ignores SIGINT and SIGTERM",
        "A process that ignores signals would block the run.",
        ([{"ignore": ["SIGINT", "SIGTERM"]}, INIT, HANG], finish()),
        AGAIN,
        settings=IDLE,
        events={"AgentExited code=-9": 1},
    ),
    "ignores-sigterm": Fault(
        "a tool's child that ignores SIGTERM",
        "It would outlive the run.",
        (finish({"ignore": ["SIGINT", "SIGTERM"]}, _leave_process(own_session=True)),),
    ),
    "held-stdout": Fault(
        "a child of a tool keeps Claude's output open",
        "The run would wait for an end of output that never comes.",
        (finish(_leave_process(hold_stdout=True)),),
    ),
    "own-session": Fault(
        "a tool's child in a session of its own",
        "Servers and watchers that tools started would pile up.",
        (finish(_leave_process(own_session=True, hold_stdout=True)),),
        events={"LeftoversEnded": 1},
    ),
    "unmarked-orphan": Fault(
        "an orphan that cleared its environment",
        "A daemon that a tool started would never end.",
        (finish(_leave_process(orphan=True, clear_environment=True, own_session=True)),),
        impossible=interventions.not_on_linux,
    ),
    "closed-stdout": Fault(
        "Claude closes its output and keeps working",
        "The run would treat a working Claude as dead.",
        ([INIT, RESULT, {"close_stdout": True}, {"sleep": 1}, COMPLETE],),
        settings={"timeouts.result_grace": "60s"},
    ),
    "crash-once": Fault(
        "Claude is killed by a segmentation fault, once",
        "One crash would end the whole run.",
        ([INIT, {"kill_self": "SIGSEGV"}], finish()),
        Expected(outcomes=("crash", "ok")),
    ),
    "crash-always": Fault(
        "Claude crashes every time",
        "The run would use up all its iterations.",
        ([{"stderr": "Segmentation fault\n"}, {"exit": 139}],),
        Expected("agent_failed", 6, ("crash", "crash", "crash")),
        flags=("--detailed-exit-code",),
        says=("Segmentation fault",),
        events={"AgentExited code=139": 3},
    ),
    "exit-1-after-work": Fault(
        "exit code 1 after a good result and a report",
        "Finished work would count as a failure.",
        ([*finish(), {"exit": 1}],),
    ),
    "claude-gone": Fault(
        "the program is gone for some seconds during the run",
        "An update of Claude Code would end the work of a night.",
        (proceed(), finish()),
        Expected(outcomes=("ok", "away", "ok")),
        prepare=_vanishing_claude,
        called=2,
        intervention=interventions.during(lambda project, _process: _claude_again(project), "WaitStarted"),
        says=("Claude CLI not found",),
    ),
    "claude-missing": Fault(
        "Claude is not installed",
        "Files would be left behind by a run that never started.",
        (proceed(),),
        Expected("", 1, ()),
        prepare=_no_claude,
        says=("Claude CLI not found",),
        checks=(no_run_is_left,),
    ),
}
