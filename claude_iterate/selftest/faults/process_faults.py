"""Faults of processes: Claude that hangs, dies, does not let go, or leaves others behind."""

from __future__ import annotations

import sys

from claude_iterate.selftest.harness import expectations
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Scene
from claude_iterate.selftest.harness.script_steps import COMPLETE, HANG, INIT, RESULT, Step, done, more, said, tool_use

IDLE = {"timeouts.idle": "2s"}
AGAIN = Expected(outcomes=("idle", "ok"))
_VANISHING = """#!/bin/sh
[ "$1" = --version ] && { echo 1; exit; }
rm "$0"
echo '{"type":"result","subtype":"success","is_error":false}'
"""


def _vanishing_claude(scene: Scene) -> None:
    program = scene.folder / "claude"
    program.write_text(_VANISHING)
    program.chmod(0o755)
    scene.environ["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)


def _no_claude(scene: Scene) -> None:
    scene.environ["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(scene.folder / "claude")


def _left(**how: object) -> Step:
    return {"grandchild": {"seconds": 300, "pidfile": "left", **how}}


def _talk(count: int) -> list[Step]:
    return [step for _ in range(count) for step in (said("still here"), {"sleep": 0.2})]


SCENARIOS = (
    Scenario(
        "hang-after-result",
        "Claude gives its result and stays",
        "The run would stand still for hours after good work.",
        ([*done(), HANG],),
        settings={"timeouts.result_grace": "0.3s"},
        checks=(expectations.has("CutStarted", 1, cause="lingering"),),
    ),
    Scenario(
        "hang-silent",
        "Claude never says a word",
        "The run would stand still all night.",
        ([HANG], done()),
        AGAIN,
        settings=IDLE,
        checks=(expectations.has("CutStarted", 1, cause="idle"),),
    ),
    Scenario(
        "hang-in-tool",
        "a tool that never answers",
        "Nobody would know what the night was spent with.",
        ([INIT, tool_use("t", "sleep 9999"), HANG], done()),
        AGAIN,
        settings=IDLE,
        checks=(expectations.logs("Bash `sleep 9999` has been running"),),
    ),
    Scenario(
        "hang-after-report",
        "the report is written, then Claude hangs",
        "Finished work would be thrown away.",
        ([INIT, COMPLETE, HANG],),
        Expected(outcomes=("idle",)),
        settings=IDLE,
    ),
    Scenario(
        "endless-talk",
        "Claude talks on and on",
        "One iteration would eat the whole night.",
        ([INIT, *_talk(300)], done()),
        Expected(outcomes=("timeout", "ok")),
        settings={"timeouts.iteration": "3s"},
    ),
    Scenario(
        "ignores-signals",
        "Claude ignores SIGINT and SIGTERM",
        "A stubborn process would keep the run from going on.",
        ([{"ignore": ["SIGINT", "SIGTERM"]}, INIT, HANG], done()),
        AGAIN,
        settings=IDLE,
        checks=(expectations.has("AgentExited", 1, code=-9),),
    ),
    Scenario(
        "ignores-sigterm",
        "a tool's child that ignores SIGTERM",
        "It would live on after the run.",
        (done({"ignore": ["SIGINT", "SIGTERM"]}, _left(own_session=True)),),
        checks=(expectations.process_is_gone("left"),),
    ),
    Scenario(
        "held-stdout",
        "a grandchild keeps Claude's output open",
        "The run would wait for an end of the output that never comes.",
        (done(_left(hold_stdout=True)),),
        checks=(expectations.process_is_gone("left"),),
    ),
    Scenario(
        "own-session",
        "a tool's child in a session of its own",
        "Servers and watchers of last night would pile up.",
        (done(_left(own_session=True)),),
        checks=(expectations.process_is_gone("left"), expectations.has("LeftoversEnded", 1)),
    ),
    Scenario(
        "unmarked-orphan",
        "an orphan that cleared its environment",
        "A daemon that a tool started would live for ever.",
        (done(_left(orphan=True, clear_environment=True, own_session=True)),),
        checks=(expectations.process_is_gone("left"),),
        impossible=lambda: "" if sys.platform.startswith("linux") else "only Linux lets us adopt orphans",
    ),
    Scenario(
        "closed-stdout",
        "Claude closes its output and works on",
        "It would be taken for dead while it works.",
        ([INIT, RESULT, {"close_stdout": True}, {"sleep": 1}, COMPLETE],),
    ),
    Scenario(
        "crash-once",
        "Claude is killed by a segmentation fault, once",
        "One bad moment would end the night.",
        ([INIT, {"kill_self": "SIGSEGV"}], done()),
        Expected(outcomes=("crash", "ok")),
    ),
    Scenario(
        "crash-always",
        "Claude falls over every time",
        "The run would burn through all its iterations.",
        ([{"stderr": "Segmentation fault\n"}, {"exit": 139}],),
        Expected("agent_failed", 1, ("crash", "crash", "crash")),
        checks=(expectations.says("Segmentation fault"), expectations.has("AgentExited", 3, code=139)),
    ),
    Scenario(
        "exit-1-after-work",
        "exit code 1 after a good result and a report",
        "Finished work would count as a failure.",
        ([*done(), {"exit": 1}],),
    ),
    Scenario(
        "claude-gone",
        "the program is deleted in mid-run",
        "An update of Claude Code in the night would crash the runner.",
        (more(),),
        Expected("agent_failed", 1, ("ok", "config")),
        prepare=_vanishing_claude,
        checks=(expectations.says("Claude CLI not found"),),
    ),
    Scenario(
        "claude-missing",
        "there is no Claude at all",
        "Files would be left behind before anybody is told.",
        (more(),),
        Expected("", 1, ()),
        prepare=_no_claude,
        checks=(
            expectations.says("Claude CLI not found"),
            expectations.leaves("runs", lambda path: not path.exists(), "a trace"),
        ),
    ),
)
