"""Faults of the files that Claude and the user write in a workspace: the status report, instructions, metadata."""

from __future__ import annotations

import json
from collections.abc import Callable

from claude_iterate.selftest.harness import interventions
from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import COMPLETE, GO, UNFINISHED, Step, done, more, silent

TWICE = Expected(outcomes=("ok", "ok"))
_CLAIM = json.dumps({"complete": True, "summary": "of last week"})


def _writes(text: str, path: str = ".status.json", in_place: bool = True) -> Step:
    return {"write": {"path": path, "text": text, "in_place": in_place}}


def _stale(project: FaultProject) -> None:
    project.layout.status.write_text(_CLAIM)


def _linked(project: FaultProject) -> None:
    (project.root / "elsewhere.json").write_text(_CLAIM)
    project.layout.status.symlink_to(project.root / "elsewhere.json")


def _linked_to_nowhere(project: FaultProject) -> None:
    project.layout.status.symlink_to(project.folder / "nowhere")


def _unclaimed(
    what: str, danger: str, *between: Step, prepare: Callable[[FaultProject], None] = lambda _project: None
) -> Fault:
    """Good calls in which Claude reports nothing and changes nothing: the second one ends the run."""
    idle, after_two = Expected("no_progress", 1, ("ok", "ok")), {"stop.no_progress": 2}
    says = ("Iteration 1: Claude wrote no report", "Nothing moves: 2 iterations in a row without progress")
    return Fault(what, danger, (silent(*between),), idle, settings=after_two, prepare=prepare, says=says)


FAULTS = {
    "status-missing": _unclaimed("no status file", "The run would crash, or treat a missing report as success."),
    "idle-agent": Fault(
        "an agent that neither works nor reports",
        "The run would pay for empty iterations all night.",
        (silent(),),
        Expected("no_progress", 1, ("ok", "ok", "ok")),
        settings={"stop.no_progress": 3},
        says=("Nothing moves: 3 iterations in a row without progress", "run my-task --reset"),
    ),
    "status-torn": Fault(
        "an incomplete status file, then a complete one",
        "A report that is read while Claude writes it would end the run or be lost.",
        (silent(_writes('{"complete": tr')), done()),
        TWICE,
    ),
    "status-completed-later": Fault(
        "an incomplete status file that is completed a moment later",
        "A claim would be lost because the run read it too early.",
        (silent(_writes('{"complete": tr'), {"sleep": 0.3}, {"append": {"path": ".status.json", "text": "ue}"}}),),
    ),
    "status-huge": Fault(
        "a status file of 2 MB",
        "A mistake of the model would fill the memory or end the run.",
        (silent(_writes('{"complete": true, "notes": "' + "x" * 2_000_000 + '"}')), done()),
        TWICE,
    ),
    "status-wrong-types": Fault(
        "wrong types in every optional field",
        "A finished task would never end because of a mistake in its report.",
        (silent({"status": {"complete": True, "progress": "9 of 9", "worked": "yes", "summary": 5, "blockers": {}}}),),
    ),
    "status-untrue-types": Fault(
        "`complete` as a text",
        'The text "false" would end the task.',
        (silent({"status": {"complete": "true"}}), done()),
        TWICE,
    ),
    "status-stale": _unclaimed("a claim of completion from last week", "A new run would end at once.", prepare=_stale),
    "status-replaced": Fault(
        "a report that is replaced, removed and written again",
        "The final report of an iteration would be lost.",
        (done(UNFINISHED, {"remove": ".status.json"}, UNFINISHED, _writes(_CLAIM)),),
    ),
    "status-removed": Fault(
        "a claim that Claude withdraws by removing the file",
        "A withdrawn claim would end the task.",
        (silent(COMPLETE, {"sleep": 0.2}, {"remove": ".status.json"}), done()),
        TWICE,
    ),
    "status-folder": _unclaimed(
        "a folder in place of the status file",
        "A mistake of the model would crash the runner.",
        _writes("x", ".status.json/x"),
    ),
    "status-link": _unclaimed(
        "a link to an old claim in another folder", "A stale claim would end the task.", prepare=_linked
    ),
    "status-dead-link": Fault(
        "a link to a missing file",
        "A dead link would crash the runner.",
        (silent(), done()),
        TWICE,
        prepare=_linked_to_nowhere,
    ),
    "instructions-edited": Fault(
        "the user edits the instructions during the run",
        "The change would not reach Claude.",
        (more(_writes("- a new and better task\n", "INSTRUCTIONS.md", in_place=False)), done()),
        TWICE,
        prompts={2: "a new and better task"},
    ),
    "instructions-gone": Fault(
        "Claude deletes the instructions",
        "The night would end, or Claude would work without a task.",
        (more({"remove": "INSTRUCTIONS.md"}), done()),
        TWICE,
        says=("Restored INSTRUCTIONS.md, which was deleted during iteration 1",),
    ),
    "workspace-gone": Fault(
        "Claude deletes the whole workspace",
        "The task would be lost, and with it the record of the run.",
        (silent({"shell": 'rm -rf "$WORKSPACE"'}), done()),
        TWICE,
        says=("Restored the workspace, which was deleted during iteration 1",),
        events={"IterationFinished": 2},
    ),
    "control-junk": Fault(
        "junk in the folder for requests to the runner",
        "A stray file would stop the run, or make it ignore requests.",
        (
            done(
                _writes('{"run": "another", "verb": "stop", "now": true}', "control/3.json"),
                _writes("{", "control/1.json"),
                _writes("[" * 100_000, "control/2"),
                _writes("x", "control/folder/x"),
                GO,
            ),
        ),
        intervention=interventions.awaited("Warned"),
        says=("Ignored",),
        events={"StopRequested": 0},
    ),
    "metadata-torn": Fault(
        "Claude damages .metadata.json",
        "A good run would be reported as failed.",
        (done(_writes("{", ".metadata.json")),),
        says=("cannot be written",),
    ),
}
