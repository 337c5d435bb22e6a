"""Faults of the files that Claude and people write in a workspace: the status report, instructions, metadata."""

from __future__ import annotations

import json

from claude_iterate.selftest.harness import expectations
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Scene
from claude_iterate.selftest.harness.script_steps import COMPLETE, INIT, RESULT, UNFINISHED, Step, done, more, silent

TWICE = Expected(outcomes=("ok", "ok"))
USED_UP = Expected("max_iterations", 0, ("ok", "ok"))
_CLAIM = json.dumps({"complete": True, "summary": "of last week"})


def _writes(text: str, path: str = ".status.json", in_place: bool = True) -> Step:
    return {"write": {"path": path, "text": text, "in_place": in_place}}


def _stale(scene: Scene) -> None:
    scene.layout.status.write_text(_CLAIM)


def _linked(scene: Scene) -> None:
    (scene.root / "elsewhere.json").write_text(_CLAIM)
    scene.layout.status.symlink_to(scene.root / "elsewhere.json")


def _linked_to_nowhere(scene: Scene) -> None:
    scene.layout.status.symlink_to(scene.folder / "nowhere")


SCENARIOS = (
    Scenario(
        "status-missing",
        "no status file",
        "The run would crash, or take silence for success.",
        (silent(),),
        USED_UP,
        flags=("-m", "2"),
    ),
    Scenario(
        "status-torn",
        "half a status file, then a whole one",
        "A report that is read while it is written would end the run or be lost.",
        ([INIT, _writes('{"complete": tr'), RESULT], done()),
        TWICE,
    ),
    Scenario(
        "status-mended",
        "half a status file, completed a moment later",
        "A claim would be lost because it was read too early.",
        (
            [
                INIT,
                _writes('{"complete": tr'),
                {"sleep": 0.3},
                {"append": {"path": ".status.json", "text": "ue}"}},
                RESULT,
            ],
        ),
    ),
    Scenario(
        "status-huge",
        "a status file of 2 MB",
        "A slip of the model would fill the memory or end the run.",
        ([INIT, _writes('{"complete": true, "notes": "' + "x" * 2_000_000 + '"}'), RESULT], done()),
        TWICE,
    ),
    Scenario(
        "status-wrong-types",
        "wrong types in every optional field",
        "A finished task would go on for ever because of a slip in its report.",
        (
            [
                INIT,
                {"status": {"complete": True, "progress": "9 of 9", "worked": "yes", "summary": 5, "blockers": {}}},
                RESULT,
            ],
        ),
    ),
    Scenario(
        "status-untrue-types",
        "`complete` as a word",
        'The word "false" would end the task.',
        ([INIT, {"status": {"complete": "true"}}, RESULT], done()),
        TWICE,
    ),
    Scenario(
        "status-stale",
        "a claim of completion from last week",
        "A new run would end before it has begun.",
        (silent(),),
        USED_UP,
        flags=("-m", "2"),
        prepare=_stale,
    ),
    Scenario(
        "status-replaced",
        "a report that is replaced, removed and written again",
        "The last word of an iteration would be lost.",
        ([INIT, UNFINISHED, {"remove": ".status.json"}, UNFINISHED, _writes(_CLAIM), COMPLETE, RESULT],),
    ),
    Scenario(
        "status-removed",
        "a claim that is taken back by removing the file",
        "A claim that is no longer there would end the task.",
        ([INIT, COMPLETE, {"sleep": 0.2}, {"remove": ".status.json"}, RESULT], done()),
        TWICE,
    ),
    Scenario(
        "status-folder",
        "a folder where the status file should be",
        "A slip of the model would crash the runner.",
        ([INIT, _writes("x", ".status.json/x"), RESULT],),
        USED_UP,
        flags=("-m", "2"),
    ),
    Scenario(
        "status-link",
        "a link to an old claim elsewhere",
        "A stale claim would end the task through a back door.",
        (silent(),),
        USED_UP,
        flags=("-m", "2"),
        prepare=_linked,
    ),
    Scenario(
        "status-dead-link",
        "a link that leads nowhere",
        "A dead link would crash the runner.",
        (silent(), done()),
        TWICE,
        prepare=_linked_to_nowhere,
    ),
    Scenario(
        "instructions-edited",
        "the instructions are edited in mid-run",
        "What a person adds in the night would not reach Claude.",
        (more(_writes("- a new and better task\n", "INSTRUCTIONS.md", in_place=False)), done()),
        TWICE,
        checks=(expectations.prompt_holds(2, "a new and better task"),),
    ),
    Scenario(
        "instructions-gone",
        "the instructions are deleted in mid-run",
        "The runner would crash, or Claude work without a task.",
        (more({"remove": "INSTRUCTIONS.md"}), done()),
        Expected("agent_failed", 1, ("ok", "config")),
        checks=(expectations.says("Instructions not found"), expectations.called(1)),
    ),
    Scenario(
        "control-junk",
        "junk where requests to the runner are left",
        "A stray file would stop the run, or stop it from listening.",
        (
            done(
                _writes("{", "control/1.json"),
                _writes("[" * 100_000, "control/2"),
                _writes('{"run": "another", "verb": "stop", "now": true}', "control/3.json"),
                _writes("x", "control/folder/x"),
                {"sleep": 1.5},
            ),
        ),
        checks=(expectations.says("Ignored"), expectations.has("StopRequested", 0)),
    ),
    Scenario(
        "metadata-torn",
        "Claude damages .metadata.json",
        "A good run would be reported as a bad one.",
        (done(_writes("{", ".metadata.json")),),
        checks=(expectations.says("cannot be written"),),
    ),
)
